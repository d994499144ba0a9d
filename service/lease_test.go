package service_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/sqlite"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// late is a store that confirms reservations too late: when the answer comes, the lease may be over.
type late struct {
	storage.Store
	confirmations int                      // how many more answers come too late
	instead       func(storage.Call)       // what happens before each extension
	extensions    int                      // how many were asked for
	fail          func(storage.Call) error // answers a call with an error
}

func (l *late) Apply(ctx context.Context, calls []storage.Call) []storage.Answer {
	if beat, ok := calls[0].(storage.Heartbeat); ok {
		l.extensions++
		if l.instead != nil {
			l.instead(beat)
		}
	}
	if l.fail != nil {
		if err := l.fail(calls[0]); err != nil {
			return []storage.Answer{{Err: err}}
		}
	}
	answers := l.Store.Apply(ctx, calls)
	if o := answers[0].Outcome; l.confirmations > 0 && (o == storage.Acquired || o == storage.Renewed) {
		l.confirmations--
		answers[0].GoodUntil = time.Now()
	}
	return answers
}

func openSQLite(t *testing.T) storage.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "reprise.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func principal(t *testing.T) auth.Principal {
	t.Helper()
	p, err := auth.NewPrincipal("acme", auth.KeysWrite)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(attemptID string, lease time.Duration) service.ReserveRequest {
	fingerprint := "f"
	return service.ReserveRequest{Name: service.Name{Operation: "o", Key: "k"}, Fingerprint: &fingerprint, AttemptID: &attemptID, Lease: &lease}
}

// code gives the code of a refusal, or nothing.
func code(err error) service.Code {
	var e *service.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Ensure that a lease of which too little is left is extended before it is answered as acquired, and keeps its token.
func TestALateConfirmationIsExtended(t *testing.T) {
	for _, confirmations := range []int{1, 2, 3} {
		store := &late{Store: openSQLite(t), confirmations: confirmations}
		got, err := service.New(store, service.DefaultLimits()).Reserve(t.Context(), principal(t), request("attempt-1", time.Hour))
		if err != nil || !got.Acquired || got.Attempt != 1 || time.Until(got.GoodUntil) < time.Hour/2 {
			t.Errorf("%d late: got %+v %v, want attempt 1 with half of its lease left", confirmations, got, err)
		}
		if store.extensions != confirmations {
			t.Errorf("%d late: got %d extensions", confirmations, store.extensions)
		}
	}
}

// Ensure that a lease which cannot be confirmed in time is not answered as acquired: the caller repeats its attempt.
func TestALeaseThatCannotBeConfirmedInTime(t *testing.T) {
	store := &late{Store: openSQLite(t), confirmations: 1000}
	s := service.New(store, service.DefaultLimits())
	_, err := s.Reserve(t.Context(), principal(t), request("attempt-1", time.Hour))
	if code(err) != service.CodeOutcomeUnknown {
		t.Errorf("got %v, want %s", err, service.CodeOutcomeUnknown)
	}
	store.confirmations = 0
	got, err := s.Reserve(t.Context(), principal(t), request("attempt-1", time.Hour))
	if err != nil || !got.Acquired || got.Attempt != 1 {
		t.Errorf("the repeated attempt: got %+v %v, want its own lease", got, err)
	}
}

// Ensure that an attempt which was overtaken while its lease was extended is told so.
func TestOvertakenWhileExtending(t *testing.T) {
	store := &late{Store: openSQLite(t), confirmations: 1}
	store.instead = func(c storage.Call) {
		store.Store.Apply(t.Context(), []storage.Call{
			storage.Release{Name: c.On(), Token: c.(storage.Heartbeat).Token},
			storage.Reserve{Name: c.On(), Fingerprint: "f", Token: storage.NewToken(), AttemptID: "rival", Lease: time.Hour, Retention: time.Hour},
		})
	}
	_, err := service.New(store, service.DefaultLimits()).Reserve(t.Context(), principal(t), request("attempt-1", time.Hour))
	if code(err) != service.CodeInProgress {
		t.Errorf("got %v, want %s", err, service.CodeInProgress)
	}
}

// Ensure that a failure to extend a lease grants nothing, and is not told as if nothing had been stored.
func TestOutageWhileExtending(t *testing.T) {
	for _, kind := range []error{storage.ErrUnavailable, storage.ErrOutcomeUnknown, errors.New("poisoned")} {
		store := &late{Store: openSQLite(t), confirmations: 1, fail: func(c storage.Call) error {
			if _, ok := c.(storage.Heartbeat); ok {
				return kind
			}
			return nil
		}}
		_, err := service.New(store, service.DefaultLimits()).Reserve(t.Context(), principal(t), request("attempt-1", time.Hour))
		if code(err) != service.CodeOutcomeUnknown || !errors.Is(err, kind) {
			t.Errorf("%v: got %v, want %s", kind, err, service.CodeOutcomeUnknown)
		}
	}
}

// Ensure that a takeover which had to wait for a lock is not answered with a lease that is nearly over, and never with
// one that is (B05).
func TestALeaseIsNotShortenedByALock(t *testing.T) {
	url := pgtest.URL(t)
	m, err := postgres.Migrator(url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = m.Close()
	store, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s := service.New(store, service.DefaultLimits())
	first, err := s.Reserve(t.Context(), principal(t), request("attempt-1", 100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	for { // until the lease is over by the store's clock
		a := store.Apply(t.Context(), []storage.Call{storage.Lookup{Name: first.Name}})[0]
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		if a.Record.StateAt(a.Now) == storage.Abandoned {
			break
		}
	}
	const lease = 400 * time.Millisecond
	stranger, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stranger.Close(context.Background()) })
	if _, err := stranger.Exec(t.Context(), `BEGIN`); err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Exec(t.Context(), `SELECT 1 FROM reprise_keys FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	var second service.Reservation
	go func() {
		var err error
		second, err = s.Reserve(context.Background(), principal(t), request("attempt-2", lease))
		done <- err
	}()
	// The stranger keeps the lock until the takeover waits for it, and then for more than half of the lease.
	const held = `DO $$ BEGIN
		WHILE NOT EXISTS (SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE NOT l.granted AND a.query LIKE 'UPDATE reprise_keys%' AND pg_backend_pid() = ANY (pg_blocking_pids(a.pid))) LOOP
			PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
		END LOOP;
		PERFORM pg_sleep(0.3);
	END $$`
	if _, err := stranger.Exec(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatalf("the takeover: %v", err)
	}
	a := store.Apply(t.Context(), []storage.Call{storage.Lookup{Name: first.Name}})[0]
	if !second.Acquired || second.Attempt != 2 || second.Version == 0 || second.LeaseExpiresAt.Sub(second.Now) < lease/2 {
		t.Errorf("got %+v, want attempt 2 with half of its lease left", second)
	}
	if a.Record.Revision < 3 {
		t.Errorf("got revision %d: the lease was not extended after the wait", a.Record.Revision)
	}
}
