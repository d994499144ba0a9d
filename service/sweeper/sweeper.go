// Package sweeper deletes what has expired, and keeps the list of keys that stay open. [Sweeper.Run] is the loop of a
// service, [Sweeper.RunOnce] one step of it. It may run in every replica at once: nothing is deleted that is not due at the
// moment of its deletion, and two that meet share the work.
package sweeper

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// group is how many rows one statement deletes: some milliseconds of work, so that no call waits long for a row or, in
// SQLite, for the one writer.
const group = 1000

// Sweeper sweeps a store.
type Sweeper struct {
	Store    storage.Sweeper
	Log      *slog.Logger
	Observer Observer // nil: nobody
}

// Observer is told how a sweep went, for metrics. err is what ended it early, nil when nothing did.
type Observer interface {
	Swept(r Report, err error)
}

// Report is what one sweep did.
type Report struct {
	Due     int           // rows that were due when it came to them
	Deleted int           // of them, by this sweep; another one may have deleted more
	Failed  int           // of them, that the store refuses to delete: the log names them
	Kept    int           // rows whose hour has come and that must stay: uncertain keys
	Lag     time.Duration // for how long the oldest due row had been due
	Took    time.Duration
	Open    storage.OpenKeys // what stays open, as far as the sweep got to counting it
}

// Run sweeps until ctx ends: soon after it began, and then at intervals, which vary by a quarter, so that replicas that
// were started together do not sweep together.
func (s *Sweeper) Run(ctx context.Context, interval time.Duration) {
	for pause := rand.N(interval/10 + 1); ; pause = interval*3/4 + rand.N(interval/2+1) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		r, err := s.RunOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.Log.Warn("the sweep was broken off; the next one goes on", "err", err, "deleted", r.Deleted)
		case r.Due > 0:
			s.Log.Info("swept", "due", r.Due, "deleted", r.Deleted, "failed", r.Failed, "lag", r.Lag, "took", r.Took)
		}
	}
}

// RunOnce deletes everything that is due, group by group, and then brings the list of open keys up to date. An outage of
// the store ends it with an error; a row that cannot be deleted does not.
func (s *Sweeper) RunOnce(ctx context.Context) (r Report, err error) {
	began := time.Now()
	defer func() {
		r.Took = time.Since(began)
		if s.Observer != nil {
			s.Observer.Swept(r, err)
		}
	}()
	if err := s.deleteDue(ctx, &r); err != nil {
		return r, err
	}
	if err := s.Store.TrackOpen(ctx, group); err != nil {
		return r, err
	}
	r.Open, err = s.Store.OpenKeys(ctx)
	return r, err
}

// deleteDue goes through all rows whose hour has come, past those that must stay.
func (s *Sweeper) deleteDue(ctx context.Context, r *Report) error {
	var last *storage.Sweepable
	for {
		rows, now, err := s.Store.Expired(ctx, last, group)
		if err != nil {
			return err
		}
		var due []storage.Sweepable
		for _, row := range rows {
			if row.Due {
				due = append(due, row)
				r.Lag = max(r.Lag, now.Sub(row.DueSince))
			}
		}
		r.Due += len(due)
		r.Kept += len(rows) - len(due)
		if err := s.delete(ctx, due, r); err != nil {
			return err
		}
		if len(rows) < group {
			return nil
		}
		last = &rows[len(rows)-1]
	}
}

// delete deletes rows. When one of them is to blame for a failure, they are halved until it stands alone.
func (s *Sweeper) delete(ctx context.Context, rows []storage.Sweepable, r *Report) error {
	if len(rows) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	deleted, err := s.Store.Delete(ctx, rows)
	r.Deleted += deleted
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrUnavailable):
		return err
	case len(rows) > 1:
		half := len(rows) / 2
		if err := s.delete(ctx, rows[:half], r); err != nil {
			return err
		}
		return s.delete(ctx, rows[half:], r)
	}
	r.Failed++
	row := rows[0]
	s.Log.Error("an expired row cannot be deleted; it is passed over", "err", err, "tenant", row.Tenant, "operation", row.Operation, "fence", row.Fence)
	return nil
}
