package waiting_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/reprise-idempotency/reprise/service/waiting"
	"github.com/reprise-idempotency/reprise/storage"
)

// Ensure that who waits for longer than they wanted to is sent away without an answer, and that the name stays as it was.
func TestTimeIsOver(t *testing.T) {
	eachPair(t, func(t *testing.T, here, there *process) {
		n := name("key")
		there.hold(n)
		before := there.want(storage.OutcomeFound, storage.Lookup{Name: n})
		here.start(context.Background(), reserve(n), brief).wantNone()
		if after := there.want(storage.OutcomeFound, storage.Lookup{Name: n}); after.Record.Revision != before.Record.Revision {
			t.Errorf("the record was changed: %+v", after.Record)
		}
		if here.told.count(waiting.TimedOut) != 1 || here.room.Waiters() != 0 {
			t.Errorf("told are %v, and %d wait", here.told.ends, here.room.Waiters())
		}
	})
}

// leaving is the context of a caller who has gone, which the goroutine that waits for them does not know yet.
type leaving struct {
	context.Context
	gone atomic.Bool
}

func (c *leaving) Err() error {
	if c.gone.Load() {
		return context.Canceled
	}
	return c.Context.Err()
}

// Ensure that a caller who had gone before the name became free is granted nothing, even while their place is still taken;
// the next one is.
func TestGoneCallerIsNotGranted(t *testing.T) {
	p := serve(t, openSQLite(t)(), roomy)
	n := name("key")
	holder := p.hold(n)
	ctx, cancel := context.WithCancel(context.Background())
	caller := &leaving{Context: ctx}
	gone := p.waits(caller, reserve(n), long)
	caller.gone.Store(true)
	p.release(n, holder)
	before, _ := p.told.polled()
	p.until("it was looked for again", func() bool { n, _ := p.told.polled(); return n > before+2 })
	p.want(storage.OutcomeFound, storage.Lookup{Name: n})
	if a := p.want(storage.OutcomeFound, storage.Lookup{Name: n}); a.Record.State != storage.Released {
		t.Errorf("the name is %s, want it to be released", a.Record.State)
	}
	next := p.start(context.Background(), reserve(n), long)
	next.want(storage.OutcomeAcquired)
	cancel()
	gone.wantNone()
	if p.told.count(waiting.Gone) != 1 || p.room.Waiters() != 0 {
		t.Errorf("told are %v, and %d wait", p.told.ends, p.room.Waiters())
	}
}

// Ensure that a closed room has sent everybody away, without an answer, and lets nobody in any more.
func TestClose(t *testing.T) {
	p := serve(t, openSQLite(t)(), roomy)
	all := []*waiter{}
	for i := range 4 {
		p.hold(name(key(i)))
		all = append(all, p.crowd(5, name(key(i)))...)
	}
	p.room.Close()
	for _, w := range all {
		w.wantNone()
	}
	for range 2 {
		p.start(context.Background(), reserve(name(key(0))), long).wantNone()
		p.room.Close() // once more does no harm
	}
	if p.told.count(waiting.ShutDown) != 20 || p.told.count(waiting.Refused) != 2 || p.room.Waiters() != 0 {
		t.Errorf("told are %v, and %d wait", p.told.ends, p.room.Waiters())
	}
}

// heldUp is a store whose answers to waiters come when the test says so, or when it is over.
type heldUp struct {
	spied
	asked  chan struct{}
	answer chan struct{}
	over   chan struct{}
}

func holdUp(s storage.Store) *heldUp {
	h := &heldUp{asked: make(chan struct{}), answer: make(chan struct{}), over: make(chan struct{})}
	h.spied = spied{Store: s, apply: func(ctx context.Context, group []storage.Call) []storage.Answer {
		h.pass(h.asked)
		h.pass(h.answer)
		return s.Apply(ctx, group)
	}}
	return h
}

func (h *heldUp) pass(gate chan struct{}) {
	select {
	case gate <- struct{}{}:
	case <-h.over:
	}
}

// leavings are the ways to leave while an answer is on its way: how to wait, and what makes the waiter leave.
var leavings = map[waiting.End]func(p *process, n storage.Name) (*waiter, func()){
	waiting.TimedOut: func(p *process, n storage.Name) (*waiter, func()) {
		return p.start(context.Background(), reserve(n), brief), func() {}
	},
	waiting.Gone: func(p *process, n storage.Name) (*waiter, func()) {
		ctx, cancel := context.WithCancel(context.Background())
		return p.start(ctx, reserve(n), long), cancel
	},
	waiting.ShutDown: func(p *process, n storage.Name) (*waiter, func()) {
		return p.start(context.Background(), reserve(n), long), func() { go p.room.Close() }
	},
}

// eachLeaving runs a test for each of them: a waiter for a name that is free is being asked for, and leaves after meanwhile
// was called. The answer comes only when the place has been given up.
func eachLeaving(t *testing.T, meanwhile func(p *process, n storage.Name), then func(p *process, end waiting.End, w *waiter)) {
	for end, waits := range leavings {
		t.Run(string(end), func(t *testing.T) {
			store := openSQLite(t)()
			slow := holdUp(store)
			p := serve(t, slow, roomy)
			t.Cleanup(func() { close(slow.over) })
			p.store = store // past the room
			w, leaves := caught(p, slow.asked, waits)
			meanwhile(p, w.call.Name)
			leaves()
			p.until("the place is given up", func() bool { return p.room.Waiters() == 0 })
			if w.isOver() {
				t.Fatal("the waiter has gone without the answer that is on its way")
			}
			<-slow.answer
			then(p, end, w.over())
			if n := p.room.Waiters(); n != 0 {
				t.Errorf("%d wait, want none: a place was given back twice", n)
			}
		})
	}
}

// caught starts waiters until one is asked for before its time is over.
func caught(p *process, asked <-chan struct{}, waits func(p *process, n storage.Name) (*waiter, func())) (*waiter, func()) {
	p.t.Helper()
	for i := range 100 {
		w, leaves := waits(p, name(key(i)))
		select {
		case <-asked:
			p.told.forget()
			return w, leaves
		case <-w.done:
		}
	}
	p.t.Fatal("nobody was asked for")
	return nil, nil
}

// Ensure that a lease which is granted in the very moment in which the waiter leaves is given to them: whatever they leave
// for, it must not be held by nobody.
func TestLeaseThatMeetsAnEndIsDelivered(t *testing.T) {
	eachLeaving(t, func(*process, storage.Name) {}, func(p *process, _ waiting.End, w *waiter) {
		a := w.want(storage.OutcomeAcquired)
		if got := p.want(storage.OutcomeFound, storage.Lookup{Name: w.call.Name}); got.Record.Token != a.Record.Token {
			p.t.Error("the lease is another one's")
		}
		if p.told.count(waiting.Answered) != 1 {
			p.t.Errorf("told are %v, want that it was answered", p.told.ends)
		}
	})
}

// Ensure that a waiter who leaves while they are being asked for, and who would have had to wait on, has left: without an
// answer, and noted as what they left for.
func TestInProgressThatMeetsAnEndIsNoAnswer(t *testing.T) {
	somebodyComesFirst := func(p *process, n storage.Name) { p.hold(n) }
	eachLeaving(t, somebodyComesFirst, func(p *process, end waiting.End, w *waiter) {
		w.wantNone()
		if p.told.count(end) != 1 {
			p.t.Errorf("told are %v, want %s", p.told.ends, end)
		}
	})
}
