package storagetest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that a caller who goes away leaves either the whole of a change or nothing.

var cancellationPromises = []promise{
	aCallThatComesTooLateChangesNothing,
	aCancelledReserveHappenedOrNot,
	aCancelledCompleteHappenedOrNot,
	aCancelledResolveHappenedWithItsActOrNot,
	aCancelledReadIsAnOutage,
	aCancelledLookAtManyIsAnOutage,
	othersAreServedAfterACancellation,
}

func aCallThatComesTooLateChangesNothing(_ *testing.T, f *fixture) {
	n, free := f.name(), f.name()
	holder := f.live(n)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, done := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer done()
	calls := []storage.Call{reserve(free), complete(n, holder.Token), storage.Release{Name: n, Token: holder.Token},
		storage.Heartbeat{Name: n, Token: holder.Token, Lease: 9 * long}, storage.Lookup{Name: n}}
	f.changesNothing(n, func() {
		for _, ctx := range []context.Context{cancelled, late} {
			for i, a := range f.store.Apply(ctx, calls) {
				if !errors.Is(a.Err, storage.ErrUnavailable) || a.Outcome != 0 {
					f.t.Errorf("%T: got %v, %v; want ErrUnavailable", calls[i], a.Outcome, a.Err)
				}
			}
		}
	})
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: free})
}

// tripwire is a context that is cancelled when it is looked at for the last time that it allows: this reaches moments
// that a timer would have to hit by luck.
type tripwire struct {
	context.Context
	cancel context.CancelFunc
	looks  atomic.Int64
}

func newTripwire(looks int) *tripwire {
	ctx, cancel := context.WithCancel(context.Background())
	w := &tripwire{Context: ctx, cancel: cancel}
	w.looks.Store(int64(looks))
	return w
}

func (w *tripwire) look() {
	if w.looks.Add(-1) <= 0 {
		w.cancel()
	}
}

func (w *tripwire) Err() error            { w.look(); return w.Context.Err() }
func (w *tripwire) Done() <-chan struct{} { w.look(); return w.Context.Done() }

// moments runs a test with contexts that are cancelled in mid-flight: after each number of looks at it, and at
// different times.
func (f *fixture) moments(test func(context.Context)) {
	const looks, timers = 25, 40
	for i := range looks {
		w := newTripwire(i + 1)
		test(w)
		w.cancel()
	}
	for i := range timers {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*50*micro)
		test(ctx)
		cancel()
	}
}

// judge says whether a call may have changed anything: certainly, certainly not, or perhaps.
func (f *fixture) judge(a storage.Answer, want storage.Outcome) (did, mayHave bool) {
	f.t.Helper()
	switch {
	case a.Err == nil && a.Outcome == want:
		return true, true
	case errors.Is(a.Err, storage.ErrUnavailable):
		return false, false
	case errors.Is(a.Err, storage.ErrOutcomeUnknown):
		return false, true
	}
	f.t.Fatalf("a cancelled call got %v, %v", a.Outcome, a.Err)
	return false, false
}

// After a lost answer the same call, repeated, tells.
func aCancelledReserveHappenedOrNot(_ *testing.T, f *fixture) {
	f.moments(func(ctx context.Context) {
		n := f.name()
		c := reserve(n)
		did, mayHave := f.judge(f.store.Apply(ctx, []storage.Call{c})[0], storage.OutcomeAcquired)
		r := f.record(n)
		if r == nil && did || r != nil && !mayHave {
			f.t.Fatalf("acquired (%v, perhaps %v), and the record is %+v", did, mayHave, r)
		}
		repeat := c
		repeat.Token = storage.NewToken()
		token := f.want(storage.OutcomeAcquired, repeat).Record.Token
		if r != nil && token != c.Token || r == nil && token != repeat.Token {
			f.t.Fatal("the repeat got a lease that is neither its own nor the first one's")
		}
	})
}

func aCancelledCompleteHappenedOrNot(_ *testing.T, f *fixture) {
	f.moments(func(ctx context.Context) {
		n := f.name()
		c := f.live(n)
		before := f.record(n)
		did, mayHave := f.judge(f.store.Apply(ctx, []storage.Call{complete(n, c.Token)})[0], storage.OutcomeSettled)
		r := f.record(n)
		switch {
		case r.State == storage.Completed && mayHave:
			f.same("the response", r.Response, response())
		case r.State == storage.InProgress && !did:
			f.same("the record", r, before)
		default:
			f.t.Fatalf("settled (%v, perhaps %v), and the record is %+v", did, mayHave, r)
		}
		f.want(storage.OutcomeSettled, complete(n, c.Token))
	})
}

func aCancelledResolveHappenedWithItsActOrNot(_ *testing.T, f *fixture) {
	f.moments(func(ctx context.Context) {
		n := f.name()
		f.lapsed(n, storage.Hold)
		before, c := f.record(n), f.resolving(n, storage.Completed)
		a := f.store.Apply(ctx, []storage.Call{c})[0]
		did, mayHave := f.judge(a, storage.OutcomeResolved)
		r := f.record(n)
		switch {
		case did:
			f.wroteActs(n, actOf(c, before, a))
		case r.State == storage.Completed && mayHave:
			f.wroteActs(n, actOf(c, before, storage.Answer{Record: r, Now: r.UpdatedAt}))
		case r.State == storage.InProgress:
			f.same("the record", r, before)
			f.wroteActs(n)
		default:
			f.t.Fatalf("resolved (perhaps %v), and the record is %+v", mayHave, r)
		}
	})
}

func aCancelledReadIsAnOutage(_ *testing.T, f *fixture) {
	n := f.name()
	f.live(n)
	f.changesNothing(n, func() {
		f.moments(func(ctx context.Context) {
			a := f.store.Apply(ctx, []storage.Call{storage.Lookup{Name: n}})[0]
			if a.Err != nil && !errors.Is(a.Err, storage.ErrUnavailable) || a.Err == nil && a.Outcome != storage.OutcomeFound {
				f.t.Fatalf("got %v, %v", a.Outcome, a.Err)
			}
		})
	})
}

func aCancelledLookAtManyIsAnOutage(_ *testing.T, f *fixture) {
	n := f.name()
	f.live(n)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	f.changesNothing(n, func() {
		for what, ask := range beside(f.store, n) {
			if err := ask(cancelled); err != nil && !errors.Is(err, storage.ErrUnavailable) || err == nil && what != "TrackOpen" { // which may have nothing to do
				f.t.Errorf("%s after a cancellation: got %v, want ErrUnavailable", what, err)
			}
			f.moments(func(ctx context.Context) {
				if err := ask(ctx); err != nil && !errors.Is(err, storage.ErrUnavailable) {
					f.t.Errorf("%s: got %v, want ErrUnavailable", what, err)
				}
			})
			if err := ask(f.ctx()); err != nil {
				f.t.Errorf("%s after cancellations: %v", what, err)
			}
		}
	})
}

// A caller who went away takes no connection, lock or transaction along.
func othersAreServedAfterACancellation(_ *testing.T, f *fixture) {
	f.moments(func(ctx context.Context) {
		n := f.name()
		f.store.Apply(ctx, []storage.Call{reserve(n), reserve(f.name())})
		c := reserve(n)
		if a := f.one(c); a.Outcome != storage.OutcomeAcquired && a.Outcome != storage.OutcomeInProgress {
			f.t.Fatalf("the next caller got %v", a.Outcome)
		}
	})
	if err := f.store.Ready(f.ctx()); err != nil {
		f.t.Errorf("no longer ready: %v", err)
	}
}
