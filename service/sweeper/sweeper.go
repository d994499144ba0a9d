// Package sweeper deletes what has expired, and keeps the list of keys that stay open. [Sweeper.Run] is the loop of a
// service, [Sweeper.RunOnce] one step of it. It may run in every replica at once: nothing is deleted that is not due at the
// moment of its deletion, and two that meet share the work.
package sweeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
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

// RunOnce deletes everything that is due, group by group, and brings the list of open keys up to date. An outage of the
// store ends it with an error; a row that cannot be deleted does not.
func (s *Sweeper) RunOnce(ctx context.Context) (Report, error) {
	p := pass{Sweeper: s}
	began := time.Now()
	err := p.run(ctx)
	p.Took = time.Since(began)
	if s.Observer != nil {
		s.Observer.Swept(p.Report, err)
	}
	return p.Report, err
}

// pass is one sweep.
type pass struct {
	*Sweeper
	Report
	failing time.Duration // that deletes took which failed
}

// run does both parts, whatever becomes of the first. No request stands behind it: a panic must not end the process.
func (p *pass) run(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if err = p.deleteDue(ctx); ctx.Err() != nil {
		return err
	}
	if tracking := p.Store.TrackOpen(ctx, group); tracking != nil {
		return errors.Join(err, tracking)
	}
	open, counting := p.Store.OpenKeys(ctx)
	p.Open = open
	return errors.Join(err, counting)
}

// deleteDue goes through all rows whose hour has come, past those that must stay.
func (p *pass) deleteDue(ctx context.Context) error {
	var last *storage.Sweepable
	for {
		rows, now, err := p.Store.Expired(ctx, last, group)
		if err != nil {
			return err
		}
		var due []storage.Sweepable
		for _, row := range rows {
			if row.Due {
				due = append(due, row)
				p.Lag = max(p.Lag, now.Sub(row.DueSince))
			}
		}
		p.Due += len(due)
		p.Kept += len(rows) - len(due)
		if err := p.delete(ctx, due); err != nil {
			return err
		}
		if len(rows) < group {
			return nil
		}
		last = &rows[len(rows)-1]
	}
}

// longestFailing bounds how long a pass looks for the rows that are to blame: with a lock on each, that is seconds a row.
// After that a group with such a row is passed over as a whole, so that the groups after it have their turn.
const longestFailing = 30 * time.Second

// delete deletes rows. When one of them is to blame for a failure, they are halved until it stands alone.
func (p *pass) delete(ctx context.Context, rows []storage.Sweepable) error {
	if len(rows) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	began := time.Now()
	deleted, err := p.Store.Delete(ctx, rows)
	p.Deleted += deleted
	if err == nil {
		return nil
	}
	if errors.Is(err, storage.ErrUnavailable) {
		return err
	}
	p.failing += time.Since(began)
	if len(rows) > 1 && p.failing < longestFailing {
		half := len(rows) / 2
		if err := p.delete(ctx, rows[:half]); err != nil {
			return err
		}
		return p.delete(ctx, rows[half:])
	}
	p.Failed += len(rows)
	p.Log.Error("expired rows cannot be deleted now; they are passed over", "err", err, "rows", len(rows),
		"tenant", rows[0].Tenant, "operation", rows[0].Operation, "fence", rows[0].Fence)
	return nil
}
