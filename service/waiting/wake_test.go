package waiting_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// endings are the ways in which a lease is ended, and what a waiter then gets.
var endings = map[string]struct {
	end  func(n storage.Name, holder storage.Answer) storage.Call
	what storage.Outcome // of the call
	gets storage.Outcome
}{
	"completed": {complete(storage.Completed), storage.OutcomeSettled, storage.OutcomeReplay},
	"failed":    {complete(storage.Failed), storage.OutcomeSettled, storage.OutcomeReplay},
	"released": {func(n storage.Name, a storage.Answer) storage.Call {
		return storage.Release{Name: n, Token: a.Record.Token}
	},
		storage.OutcomeReleased, storage.OutcomeAcquired},
	"forgotten": {func(n storage.Name, a storage.Answer) storage.Call {
		return storage.Release{Name: n, Token: a.Record.Token, Forget: true}
	}, storage.OutcomeReleased, storage.OutcomeAcquired},
	"resolved to completed": {resolve(storage.Completed), storage.OutcomeResolved, storage.OutcomeReplay},
	"resolved to released":  {resolve(storage.Released), storage.OutcomeResolved, storage.OutcomeAcquired},
}

func complete(to storage.State) func(storage.Name, storage.Answer) storage.Call {
	return func(n storage.Name, a storage.Answer) storage.Call {
		return storage.Complete{Name: n, Token: a.Record.Token, Result: to, ResultHash: []byte("hash")}
	}
}

func resolve(to storage.State) func(storage.Name, storage.Answer) storage.Call {
	return func(n storage.Name, a storage.Answer) storage.Call {
		return storage.Resolve{Name: n, To: to, Version: a.Record.VersionText(), Force: true, Token: storage.NewToken(),
			By: storage.Operator{ActID: "01900000-0000-7000-8000-" + storage.NewToken().String()[:12], Actor: "maria", Reason: "a test"}}
	}
}

// Ensure that whoever ends a lease through this process wakes those who wait for it, whatever the ending: here no poll
// ever finds anything.
func TestEndingWakesAtOnce(t *testing.T) {
	p := serve(t, blind(openSQLite(t)()), roomy)
	for id, e := range endings {
		n := name(id)
		holder := p.want(storage.OutcomeAcquired, reserve(n))
		w := p.waits(context.Background(), reserve(n), long)
		p.want(e.what, e.end(n, holder))
		if a := w.want(e.gets); a.Record.Name != n || e.gets == storage.OutcomeAcquired && a.Record.Token != w.call.Token {
			t.Errorf("%s: the waiter got the record %+v", id, a.Record)
		}
	}
}

// Ensure that what another process ends is found, whatever the ending.
func TestEndingElsewhereIsFound(t *testing.T) {
	eachPair(t, func(t *testing.T, here, there *process) {
		for id, e := range endings {
			n := name(id)
			holder := there.want(storage.OutcomeAcquired, reserve(n))
			w := here.waits(context.Background(), reserve(n), long)
			there.want(e.what, e.end(n, holder))
			w.want(e.gets)
		}
	})
}

// Ensure that a lease that runs out is found, although nobody says so and nobody sweeps: the waiter takes over, or is told
// that nobody may.
func TestLapseIsFound(t *testing.T) {
	eachPair(t, func(t *testing.T, here, there *process) {
		there.want(storage.OutcomeAcquired, briefly(reserve(name("retry")), storage.Retry))
		there.want(storage.OutcomeAcquired, briefly(reserve(name("hold")), storage.Hold))
		retry, hold := here.waits(context.Background(), reserve(name("retry")), long), here.waits(context.Background(), reserve(name("hold")), long)
		if a := retry.want(storage.OutcomeAcquired); !a.Record.Takeover || a.Record.Attempt != 2 {
			t.Errorf("the record is %+v, want a takeover in attempt 2", a.Record)
		}
		hold.want(storage.OutcomeUncertain)
	})
}

// Ensure that of twenty who wait in two processes exactly one acquires a released name, and that the others wait on, until
// that one settles it.
func TestOneOfAllAcquires(t *testing.T) {
	eachPair(t, func(t *testing.T, here, there *process) {
		n := name("key")
		holder := here.hold(n)
		all := append(here.crowd(10, n), there.crowd(10, n)...)
		for range 3 {
			here.release(n, holder)
			here.until("one acquires", func() bool { return len(over(all)) > 0 })
			a := over(all)[0].want(storage.OutcomeAcquired)
			holder = a.Record.Token
			rest := all[:0:0]
			for _, w := range all {
				if w.call.Token != holder {
					rest = append(rest, w)
				}
			}
			all = rest
		}
		if done := over(all); len(done) > 0 || here.room.Waiters()+there.room.Waiters() != 17 {
			t.Fatalf("%d are answered while another one holds the name, %d wait", len(done), here.room.Waiters()+there.room.Waiters())
		}
		there.complete(n, holder)
		for _, w := range all {
			w.want(storage.OutcomeReplay)
		}
	})
}

// Ensure that twenty who wait for a name that is settled all get its response, and are asked for together.
func TestAllReplay(t *testing.T) {
	var groups, calls atomic.Int32
	store := openSQLite(t)()
	s := blind(store).(spied)
	s.apply = func(ctx context.Context, all []storage.Call) []storage.Answer {
		groups.Add(1)
		calls.Add(int32(len(all)))
		return store.Apply(ctx, all)
	}
	p := serve(t, s, roomy)
	n := name("key")
	holder := p.hold(n)
	all := p.crowd(20, n)
	groups.Store(0)
	calls.Store(0)
	p.complete(n, holder)
	for _, w := range all {
		w.want(storage.OutcomeReplay)
	}
	if g, c := groups.Load(), calls.Load(); g != 2 || c != 21 {
		t.Errorf("%d groups with %d calls went to the store, want the settlement and one of twenty", g, c)
	}
}

// Ensure that the end of one name asks for nobody who waits for another.
func TestOtherNamesAreLeftAlone(t *testing.T) {
	var asked atomic.Int32
	store := openSQLite(t)()
	s := blind(store).(spied)
	s.apply = func(ctx context.Context, calls []storage.Call) []storage.Answer {
		for _, c := range calls {
			if _, reserves := c.(storage.Reserve); reserves && c.On() == name("other") {
				asked.Add(1)
			}
		}
		return store.Apply(ctx, calls)
	}
	p := serve(t, s, roomy)
	p.hold(name("other"))
	held := p.hold(name("key"))
	for _, part := range []storage.Name{{Tenant: "globex", Operation: "POST /v1/orders", Subject: "customer", Key: "key"},
		{Tenant: "acme", Operation: "POST /v1/orders", Key: "key"}} {
		p.hold(part)
		p.waits(context.Background(), reserve(part), long)
	}
	p.waits(context.Background(), reserve(name("other")), long)
	w := p.waits(context.Background(), reserve(name("key")), long)
	asked.Store(0)
	p.release(name("key"), held)
	w.want(storage.OutcomeAcquired)
	if n := asked.Load(); n != 0 || p.room.Waiters() != 3 {
		t.Errorf("the other name was asked for %d times, and %d wait; want none and 3", n, p.room.Waiters())
	}
}

// Ensure that a waiter who finds that somebody else came first waits on.
func TestWhoComesTooLateWaitsOn(t *testing.T) {
	eachPair(t, func(t *testing.T, here, there *process) {
		n := name("key")
		holder := there.hold(n)
		w := here.waits(context.Background(), reserve(n), long)
		for range 5 {
			// In one group, so that nobody gets between.
			next := reserve(n)
			answers := there.store.Apply(context.Background(), []storage.Call{storage.Release{Name: n, Token: holder}, next})
			if answers[1].Outcome != storage.OutcomeAcquired {
				t.Fatalf("got %v %v", answers[1].Outcome, answers[1].Err)
			}
			holder = next.Token
			before, _ := here.told.polled()
			here.until("it is looked for again", func() bool { n, _ := here.told.polled(); return n > before+1 })
		}
		if w.isOver() {
			t.Fatalf("the waiter got %v, want it to wait", w.answer.Outcome)
		}
		here.complete(n, holder)
		w.want(storage.OutcomeReplay)
	})
}

// Ensure that a request of another content is told so as soon as the name is free to be asked for.
func TestMismatchIsToldToTheWaiter(t *testing.T) {
	p := serve(t, openSQLite(t)(), roomy)
	n := name("key")
	holder := p.hold(n)
	theirs := reserve(n)
	theirs.Fingerprint = "another"
	w := p.waits(context.Background(), theirs, long)
	p.release(n, holder)
	w.want(storage.OutcomeFingerprintMismatch)
}
