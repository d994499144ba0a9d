package faultstore_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/sqlite"
	"github.com/reprise-idempotency/reprise/storage/storagetest"
	"github.com/reprise-idempotency/reprise/storage/storagetest/faultstore"
)

// hang ends a test that would wait for ever.
const hang = 30 * time.Second

func open(t *testing.T) *faultstore.Store {
	t.Helper()
	within, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "reprise.db"))
	if err != nil {
		t.Fatal(err)
	}
	s := faultstore.New(within)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s
}

func named(key string) storage.Name {
	return storage.Name{Tenant: "t", Operation: "o", Key: key}
}

func reserve(key string) storage.Reserve {
	return storage.Reserve{Name: named(key), Fingerprint: "f", AttemptID: "attempt-" + key, Token: storage.NewToken(), Lease: time.Hour, Retention: time.Hour}
}

func complete(c storage.Reserve) storage.Complete {
	return storage.Complete{Name: c.Name, Token: c.Token, Result: storage.Completed, ResultHash: []byte("h")}
}

// expect compares what a group is answered: outcomes, and errors by errors.Is.
func expect(t *testing.T, answers []storage.Answer, want ...any) {
	t.Helper()
	if len(answers) != len(want) {
		t.Fatalf("got %d answers, want %d", len(answers), len(want))
	}
	for i, a := range answers {
		switch w := want[i].(type) {
		case storage.Outcome:
			if a.Err != nil || a.Outcome != w {
				t.Errorf("answer %d: got %v, %v; want %v", i, a.Outcome, a.Err, w)
			}
		case error:
			if !errors.Is(a.Err, w) || a.Outcome != 0 || a.Record != nil {
				t.Errorf("answer %d: got %v, %v; want the error %v alone", i, a.Outcome, a.Err, w)
			}
		}
	}
}

func apply(s storage.Store, calls ...storage.Call) []storage.Answer {
	return s.Apply(context.Background(), calls)
}

// later runs a call whose answers come later.
func later(s storage.Store, calls ...storage.Call) <-chan []storage.Answer {
	answers := make(chan []storage.Answer, 1)
	go func() { answers <- apply(s, calls...) }()
	return answers
}

// wait waits for a signal or an answer.
func wait[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(hang):
		t.Fatal("it never came")
	}
	return v
}

func happened(a *faultstore.Armed) bool {
	select {
	case <-a.Fired():
		return true
	default:
		return false
	}
}

// Ensure that a store without faults answers calls on keys as the store within.
func TestCallsWithoutFaults(t *testing.T) {
	storagetest.StateMachine(t, func(t *testing.T) storage.Store { return open(t) })
}

// Ensure that a store without faults gives what the store within has to say of many records.
func TestBesideWithoutFaults(t *testing.T) {
	s := open(t)
	expect(t, apply(s, reserve("k"), reserve("l")), storage.OutcomeAcquired, storage.OutcomeAcquired)
	for kind, ask := range beside(s) {
		if _, err := ask(t.Context()); err != nil {
			t.Errorf("%d: %v", kind, err)
		}
	}
	held, _ := s.Held(t.Context(), []storage.Name{named("j"), named("k")})
	page, _ := s.List(t.Context(), storage.ListQuery{Tenant: "t", KeyPrefix: "l", Limit: 10})
	stats, _ := s.Stats(t.Context(), "t", "o")
	if !slices.Equal(held, []bool{false, true}) || len(page.Records) != 1 || page.Records[0].Key != "l" || stats.States[storage.InProgress].N != 2 {
		t.Errorf("got held %v, list %v, stats %v", held, page.Records, stats.States)
	}
}

// Ensure that a refused call changes nothing, and that its neighbours in the group are answered.
func TestRefuse(t *testing.T) {
	s := open(t)
	armed := s.Arm(faultstore.Fault{Kind: faultstore.Reserve, Name: named("b"), Effect: faultstore.Refuse})
	expect(t, apply(s, reserve("a"), storage.Lookup{Name: named("b")}, reserve("b"), reserve("c")),
		storage.OutcomeAcquired, storage.OutcomeNotFound, storage.ErrUnavailable, storage.OutcomeAcquired)
	if !happened(armed) {
		t.Error("the fault did not tell that it happened")
	}
	expect(t, apply(s, storage.Lookup{Name: named("b")}), storage.OutcomeNotFound)
	expect(t, apply(s, reserve("b")), storage.OutcomeAcquired)
}

// Ensure that a call whose answer is lost is done, and that its repeat tells.
func TestLoseAnswer(t *testing.T) {
	s := open(t)
	r := reserve("k")
	armed := s.Arm(faultstore.Fault{Kind: faultstore.Complete, Effect: faultstore.LoseAnswer})
	expect(t, apply(s, r, complete(r), storage.Lookup{Name: r.Name}), storage.OutcomeAcquired, storage.ErrOutcomeUnknown, storage.OutcomeFound)
	if !happened(armed) {
		t.Error("the fault did not tell that it happened")
	}
	a := apply(s, complete(r))
	expect(t, a, storage.OutcomeSettled)
	if got := a[0].Record.State; got != storage.Completed {
		t.Errorf("got %v, want completed", got)
	}
}

// Ensure that a call that is held is done when it is let go, and no sooner.
func TestHold(t *testing.T) {
	s := open(t)
	armed := s.Arm(faultstore.Fault{Kind: faultstore.Reserve, Effect: faultstore.Hold})
	answers := later(s, reserve("k"))
	wait(t, armed.Fired())
	expect(t, apply(s, storage.Lookup{Name: named("k")}), storage.OutcomeNotFound)
	armed.Release()
	expect(t, wait(t, answers), storage.OutcomeAcquired)
	expect(t, apply(s, storage.Lookup{Name: named("k")}), storage.OutcomeFound)
}

// Ensure that a caller who gives up while the call is held has changed nothing.
func TestGivingUpAHeldCall(t *testing.T) {
	s := open(t)
	armed := s.Arm(faultstore.Fault{Effect: faultstore.Hold})
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan []storage.Answer, 1)
	go func() { answers <- s.Apply(ctx, []storage.Call{reserve("k"), reserve("l")}) }()
	wait(t, armed.Fired())
	cancel()
	expect(t, wait(t, answers), storage.ErrUnavailable, storage.ErrUnavailable)
	expect(t, apply(s, storage.Lookup{Name: named("k")}, storage.Lookup{Name: named("l")}), storage.OutcomeNotFound, storage.OutcomeNotFound)
}

// Ensure that a call whose answer is held is done already, and answered when it is let go.
func TestHoldAnswer(t *testing.T) {
	s := open(t)
	armed := s.Arm(faultstore.Fault{Kind: faultstore.Reserve, Effect: faultstore.HoldAnswer})
	answers := later(s, reserve("k"))
	wait(t, armed.Fired())
	expect(t, apply(s, storage.Lookup{Name: named("k")}), storage.OutcomeFound)
	select {
	case a := <-answers:
		t.Errorf("answered before it was let go: %v", a)
	default:
	}
	armed.Release()
	expect(t, wait(t, answers), storage.OutcomeAcquired)
}

// Ensure that a fault counts the calls of its kind and name from the time that it was armed, and happens once or always.
func TestWhichCallMeetsTheFault(t *testing.T) {
	s := open(t)
	lookup := func(key string) []storage.Answer { return apply(s, storage.Lookup{Name: named(key)}) }
	lookup("k") // does not count
	third := s.Arm(faultstore.Fault{Kind: faultstore.Lookup, Name: named("k"), Nth: 3})
	for i, want := range []any{storage.OutcomeNotFound, storage.OutcomeNotFound, storage.ErrUnavailable, storage.OutcomeNotFound} {
		expect(t, lookup("l"), storage.OutcomeNotFound)
		apply(s, storage.Release{Name: named("k")})
		if happened(third) != (i > 2) {
			t.Errorf("before call %d: happened %v", i+1, happened(third))
		}
		expect(t, lookup("k"), want)
	}
	always := s.Arm(faultstore.Fault{Kind: faultstore.Lookup, Nth: 2, Always: true})
	for _, want := range []any{storage.OutcomeNotFound, storage.ErrUnavailable, storage.ErrUnavailable} {
		expect(t, lookup("k"), want)
	}
	always.Disarm()
	expect(t, lookup("k"), storage.OutcomeNotFound)
}

// Ensure that the calls of one group are counted one after the other.
func TestCallsOfAGroupAreCounted(t *testing.T) {
	s := open(t)
	s.Arm(faultstore.Fault{Kind: faultstore.Reserve, Nth: 2})
	expect(t, apply(s, reserve("a"), reserve("b"), reserve("c")), storage.OutcomeAcquired, storage.ErrUnavailable, storage.OutcomeAcquired)
}

// beside are the methods that are no calls on keys, with whether what they gave is nothing.
func beside(s storage.Store) map[faultstore.Kind]func(context.Context) (nothing bool, err error) {
	return map[faultstore.Kind]func(context.Context) (bool, error){
		faultstore.Held: func(ctx context.Context) (bool, error) {
			held, err := s.Held(ctx, []storage.Name{named("k")})
			return held == nil, err
		},
		faultstore.List: func(ctx context.Context) (bool, error) {
			p, err := s.List(ctx, storage.ListQuery{Tenant: "t", Limit: 1})
			return p.Records == nil && p.Now.IsZero(), err
		},
		faultstore.Stats: func(ctx context.Context) (bool, error) {
			stats, err := s.Stats(ctx, "t", "")
			return stats.States == nil && stats.Now.IsZero(), err
		},
		faultstore.Acts: func(ctx context.Context) (bool, error) {
			acts, err := s.Acts(ctx, storage.ActQuery{Tenant: "t", Limit: 1})
			return acts == nil, err
		},
		faultstore.Expired: func(ctx context.Context) (bool, error) {
			rows, now, err := s.Expired(ctx, nil, 1)
			return rows == nil && now.IsZero(), err
		},
		faultstore.Delete: func(ctx context.Context) (bool, error) {
			n, err := s.Delete(ctx, []storage.Sweepable{{Name: named("k")}})
			return n == 0, err
		},
		faultstore.TrackOpen: func(ctx context.Context) (bool, error) { return true, s.TrackOpen(ctx, 1) },
		faultstore.OpenKeys: func(ctx context.Context) (bool, error) {
			open, err := s.OpenKeys(ctx)
			return open.Counts == nil && open.Now.IsZero(), err
		},
		faultstore.Ready: func(ctx context.Context) (bool, error) { return true, s.Ready(ctx) },
	}
}

// Ensure that every method beside Apply is refused, held and lost too, each by its own faults.
func TestFaultsBesideApply(t *testing.T) {
	s := open(t)
	expect(t, apply(s, reserve("k")), storage.OutcomeAcquired)
	for kind, ask := range beside(s) {
		for other, askOther := range beside(s) {
			armed := s.Arm(faultstore.Fault{Kind: kind})
			if _, err := askOther(t.Context()); (other == kind) != errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("refusing %d: %d gave %v", kind, other, err)
			}
			if happened(armed) != (other == kind) {
				t.Errorf("refusing %d: at %d, happened: %v", kind, other, happened(armed))
			}
			armed.Disarm()
		}
		s.Arm(faultstore.Fault{Kind: kind, Effect: faultstore.LoseAnswer})
		if nothing, err := ask(t.Context()); !errors.Is(err, storage.ErrUnavailable) || !nothing {
			t.Errorf("losing the answer to %d: got %v, and nothing else: %v", kind, err, nothing)
		}
		for _, effect := range []faultstore.Effect{faultstore.Hold, faultstore.HoldAnswer} {
			armed := s.Arm(faultstore.Fault{Kind: kind, Effect: effect})
			done := make(chan error, 1)
			go func() { _, err := ask(context.Background()); done <- err }()
			wait(t, armed.Fired())
			armed.Release()
			if err := wait(t, done); err != nil {
				t.Errorf("%d, once it was let go: %v", kind, err)
			}
		}
	}
}

// Ensure that a fault on a name is met by those who ask for it among others.
func TestFaultsOnANameAmongOthers(t *testing.T) {
	s := open(t)
	names := []storage.Name{named("a"), named("b")}
	for _, name := range append(slices.Clone(names), named("c")) {
		armed := s.Arm(faultstore.Fault{Name: name})
		_, err := s.Held(t.Context(), names)
		if want := name != named("c"); errors.Is(err, storage.ErrUnavailable) != want || happened(armed) != want {
			t.Errorf("a fault on %v: %v", name, err)
		}
		armed.Disarm()
		armed = s.Arm(faultstore.Fault{Name: name})
		_, err = s.Delete(t.Context(), []storage.Sweepable{{Name: names[0]}, {Name: names[1]}})
		if want := name != named("c"); errors.Is(err, storage.ErrUnavailable) != want {
			t.Errorf("a fault on %v: %v", name, err)
		}
		armed.Disarm()
	}
}

// Ensure that closing lets go of what is held, and that nothing is done after it.
func TestCloseLetsGo(t *testing.T) {
	s := open(t)
	before := s.Arm(faultstore.Fault{Kind: faultstore.Reserve, Effect: faultstore.Hold})
	after := s.Arm(faultstore.Fault{Kind: faultstore.Lookup, Effect: faultstore.HoldAnswer})
	held, answered := later(s, reserve("k")), later(s, storage.Lookup{Name: named("k")})
	wait(t, before.Fired())
	wait(t, after.Fired())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, wait(t, held), storage.ErrUnavailable)
	expect(t, wait(t, answered), storage.OutcomeNotFound)
}
