package waiting_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reprise-idempotency/reprise/service/waiting"
	"github.com/reprise-idempotency/reprise/storage"
)

// Ensure that an outage of the store leaves waiters waiting, for as long as they want to, and that they are answered when
// it is over. A look that panics is such an outage.
func TestOutageLeavesWaitersWaiting(t *testing.T) {
	faults := map[string]func() ([]bool, error){
		"unavailable": func() ([]bool, error) { return nil, fmt.Errorf("no connection: %w", storage.ErrUnavailable) },
		"panic":       func() ([]bool, error) { panic("a fault") },
	}
	for id, fault := range faults {
		t.Run(id, func(t *testing.T) {
			var down atomic.Bool
			store := openSQLite(t)()
			p := serve(t, spied{Store: store, held: func(ctx context.Context, names []storage.Name) ([]bool, error) {
				if down.Load() {
					return fault()
				}
				return store.Held(ctx, names)
			}}, roomy)
			elsewhere := process{t: t, store: store} // who ends it does not tell this room
			holders := map[storage.Name]storage.Token{}
			var all []*waiter
			for i := range 3 {
				n := name(key(i))
				holders[n] = elsewhere.hold(n)
				all = append(all, p.waits(context.Background(), reserve(n), long))
			}
			down.Store(true)
			for n, holder := range holders {
				elsewhere.release(n, holder)
			}
			_, before := p.told.polled()
			p.until("looks have failed", func() bool { _, failed := p.told.polled(); return failed >= before+5 })
			if p.room.Waiters() != 3 || len(over(all)) > 0 {
				t.Fatalf("%d wait, and %d have left; want 3 and none", p.room.Waiters(), len(over(all)))
			}
			down.Store(false)
			for _, w := range all {
				w.want(storage.OutcomeAcquired)
			}
		})
	}
}

// Ensure that a waiter who is being answered when the store fails is told so, and not left waiting: what they asked for may
// have been done.
func TestFailedAnswerIsTold(t *testing.T) {
	faults := map[string]struct {
		fail func(calls []storage.Call) []storage.Answer
		told func(err error) bool
	}{
		"unavailable":     {allFail(storage.ErrUnavailable), func(err error) bool { return errors.Is(err, storage.ErrUnavailable) }},
		"outcome unknown": {allFail(storage.ErrOutcomeUnknown), func(err error) bool { return errors.Is(err, storage.ErrOutcomeUnknown) }},
		"panic": {func([]storage.Call) []storage.Answer { panic("a fault") }, func(err error) bool {
			return errors.Is(err, storage.ErrOutcomeUnknown) && strings.Contains(err.Error(), "panic: a fault")
		}},
	}
	for id, f := range faults {
		t.Run(id, func(t *testing.T) {
			var fails atomic.Bool
			store := openSQLite(t)()
			p := serve(t, spied{Store: store, apply: func(ctx context.Context, calls []storage.Call) []storage.Answer {
				if fails.Load() {
					return f.fail(calls)
				}
				return store.Apply(ctx, calls)
			}}, roomy)
			p.store = p.room.Watch(store)
			n := name("key")
			holder := p.hold(n)
			all := p.crowd(3, n)
			fails.Store(true)
			p.release(n, holder)
			for _, w := range all {
				if w.over(); !w.ok || w.answer.Err == nil || w.answer.Outcome != 0 || !f.told(w.answer.Err) {
					t.Errorf("the waiter got %t %v %v, want what failed", w.ok, w.answer.Outcome, w.answer.Err)
				}
			}
			if n := p.told.count(waiting.Failed); n != 3 {
				t.Errorf("%d are told to have failed, want 3", n)
			}
			fails.Store(false)
			holder = p.hold(n)
			w := p.waits(context.Background(), reserve(n), long)
			p.complete(n, holder)
			w.want(storage.OutcomeReplay)
		})
	}
}

func allFail(err error) func(calls []storage.Call) []storage.Answer {
	return func(calls []storage.Call) []storage.Answer {
		answers := make([]storage.Answer, len(calls))
		for i := range answers {
			answers[i].Err = fmt.Errorf("on purpose: %w", err)
		}
		return answers
	}
}

// Ensure that a group of which one call fails answers the others.
func TestOneFailedCallFailsNoOther(t *testing.T) {
	store := openSQLite(t)()
	p := serve(t, spied{Store: store, apply: func(ctx context.Context, calls []storage.Call) []storage.Answer {
		answers := store.Apply(ctx, calls)
		for i, c := range calls {
			if c.On() == name(key(1)) {
				answers[i] = storage.Answer{Err: errors.New("this very call")}
			}
		}
		return answers
	}}, roomy)
	p.store = p.room.Watch(store)
	var all []*waiter
	var ends []storage.Call
	for i := range 3 {
		n := name(key(i))
		ends = append(ends, storage.Release{Name: n, Token: p.hold(n)})
		all = append(all, p.waits(context.Background(), reserve(n), long))
	}
	p.store.Apply(context.Background(), ends)
	all[0].want(storage.OutcomeAcquired)
	all[2].want(storage.OutcomeAcquired)
	if all[1].over(); !all[1].ok || all[1].answer.Err == nil {
		t.Errorf("the waiter got %t %v %v, want the fault", all[1].ok, all[1].answer.Outcome, all[1].answer.Err)
	}
}
