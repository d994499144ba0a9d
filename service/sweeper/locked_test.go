package sweeper_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-idempotency/reprise/service/sweeper"
	"github.com/reprise-idempotency/reprise/storage"
)

// Ensure that an expired row which a stranger holds locked is passed over: the others go, open keys are counted all the same,
// and the next pass takes it when it is free.
func TestALockedRowIsPassedOver(t *testing.T) {
	f := onPostgres(t)
	f.completeAll("settled", 4)
	f.age("settled", 5)
	tx, err := f.db.BeginTx(f.ctx(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(f.ctx(), `SELECT FROM reprise_keys WHERE key = $1 FOR UPDATE`, nameOf("settled", 2).Key); err != nil {
		t.Fatal(err)
	}
	f.reserveAll("open", 1, storage.Retry)
	if got, want := countedIn(f.sweep()), (counted{Due: 4, Deleted: 3, Failed: 1}); got != want {
		t.Errorf("with a lock: got %+v, want %+v", got, want)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got, want := countedIn(f.sweep()), (counted{Due: 1, Deleted: 1}); got != want {
		t.Errorf("without it: got %+v, want %+v", got, want)
	}
}

// slow is a store with rows that are due, each of which is locked for two seconds if its key begins with "locked".
type slow struct {
	storage.Sweeper
	rows    []storage.Sweepable
	deleted int
}

func (s *slow) Expired(_ context.Context, after *storage.Sweepable, limit int) ([]storage.Sweepable, time.Time, error) {
	from := 0
	if after != nil {
		from = int(after.Fence)
	}
	return s.rows[from:min(len(s.rows), from+limit)], time.Now(), nil
}

func (s *slow) Delete(_ context.Context, rows []storage.Sweepable) (int, error) {
	for _, r := range rows {
		if strings.HasPrefix(r.Key, "locked") {
			time.Sleep(2 * time.Second) // by the clock of the bubble: nobody sleeps
			return 0, errors.New("locked")
		}
	}
	s.deleted += len(rows)
	return len(rows), nil
}

func (s *slow) TrackOpen(context.Context, int) error { return nil }

func (s *slow) OpenKeys(context.Context) (storage.OpenKeys, error) { return storage.OpenKeys{}, nil }

// Ensure that a group in which every row is locked does not keep a pass from the groups after it for longer than a minute.
func TestAGroupOfLockedRowsIsGivenUp(t *testing.T) { synctest.Test(t, lockedGroup) }

func lockedGroup(t *testing.T) {
	s := &slow{}
	for i := range 3000 {
		kind := "free"
		if i < 1000 {
			kind = "locked"
		}
		s.rows = append(s.rows, storage.Sweepable{Name: nameOf(kind, i), Fence: int64(i + 1), Due: true})
		s.rows[i].Key = kind + s.rows[i].Key
	}
	began := time.Now()
	r, err := (&sweeper.Sweeper{Store: s, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}).RunOnce(t.Context())
	if got, want := countedIn(r), (counted{Due: 3000, Deleted: 2000, Failed: 1000}); err != nil || got != want || s.deleted != 2000 {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the pass took %v", took)
	}
}

// Ensure that a panic in a sweep is its error, and not the end of the process.
func TestAPanicIsTheErrorOfItsPass(t *testing.T) {
	s := sweeper.Sweeper{Store: hooked{expired: func([]storage.Sweepable) {}}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if _, err := s.RunOnce(t.Context()); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("got %v, want an error that tells of the panic", err)
	}
}

// refusing is a store that deletes nothing.
type refusing struct{ storage.Sweeper }

func (refusing) Delete(context.Context, []storage.Sweepable) (int, error) {
	return 0, storage.ErrUnavailable
}

// Ensure that open keys are counted also when the deleting was broken off.
func TestOpenKeysAreCountedAfterAFailure(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		f.completeAll("settled", 3)
		f.age("settled", 5)
		f.sweeper.Store = refusing{f.store}
		r, err := f.sweeper.RunOnce(f.ctx())
		if !errors.Is(err, storage.ErrUnavailable) || r.Open.Now.IsZero() {
			t.Errorf("got %v, and open keys as of %v; want the failure, and a count", err, r.Open.Now)
		}
	})
}
