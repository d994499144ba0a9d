package storagetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that a store says when it serves, and ends without losing a call.

var closingPromises = []promise{
	anOpenStoreIsReady,
	readyKeepsToItsContext,
	aClosedStoreIsUnavailable,
	aClosedStoreShowsAndSweepsNothing,
	closingTwiceIsHarmless,
	closeWaitsForTheCallsUnderWay,
}

func anOpenStoreIsReady(_ *testing.T, f *fixture) {
	if err := f.store.Ready(f.ctx()); err != nil {
		f.t.Errorf("not ready: %v", err)
	}
}

func readyKeepsToItsContext(_ *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.store.Ready(ctx); err == nil {
		f.t.Error("ready, though nobody may have been asked")
	}
}

func aClosedStoreIsUnavailable(t *testing.T, f *fixture) {
	f.store = f.open(t)
	n := f.name()
	c := f.live(n)
	if err := f.store.Close(); err != nil {
		t.Fatalf("closing: %v", err)
	}
	for _, call := range []storage.Call{reserve(f.name()), c, complete(n, c.Token), storage.Release{Name: n, Token: c.Token},
		storage.Heartbeat{Name: n, Token: c.Token}, storage.Lookup{Name: n}, storage.Resolve{Name: n, To: storage.Failed, By: operator()},
		storage.Expire{Name: n, By: operator()}} {
		if a := f.store.Apply(f.ctx(), []storage.Call{call})[0]; !errors.Is(a.Err, storage.ErrUnavailable) || a.Outcome != 0 {
			t.Errorf("%T: got %v, %v; want ErrUnavailable", call, a.Outcome, a.Err)
		}
	}
	if err := f.store.Ready(f.ctx()); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Ready: got %v, want ErrUnavailable", err)
	}
}

// beside are what a store does beside calls on keys.
func beside(s storage.Store, n storage.Name) map[string]func(ctx context.Context) error {
	return map[string]func(context.Context) error{
		"Held": func(ctx context.Context) error { _, err := s.Held(ctx, []storage.Name{n}); return err },
		"List": func(ctx context.Context) error {
			_, err := s.List(ctx, storage.ListQuery{Tenant: n.Tenant, Limit: 10})
			return err
		},
		"Stats": func(ctx context.Context) error { _, err := s.Stats(ctx, n.Tenant, ""); return err },
		"Acts": func(ctx context.Context) error {
			_, err := s.Acts(ctx, storage.ActQuery{Tenant: n.Tenant, Limit: 10})
			return err
		},
		"Expired": func(ctx context.Context) error {
			_, _, err := s.Expired(ctx, nil, 10)
			return err
		},
		"Delete":    func(ctx context.Context) error { _, err := s.Delete(ctx, []storage.Sweepable{{Name: n}}); return err },
		"TrackOpen": func(ctx context.Context) error { return s.TrackOpen(ctx, 10) },
		"OpenKeys":  func(ctx context.Context) error { _, err := s.OpenKeys(ctx); return err },
	}
}

func aClosedStoreShowsAndSweepsNothing(t *testing.T, f *fixture) {
	f.store = f.open(t)
	n := f.name()
	f.live(n)
	if err := f.store.Close(); err != nil {
		t.Fatalf("closing: %v", err)
	}
	for what, ask := range beside(f.store, n) {
		if err := ask(f.ctx()); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("%s: got %v, want ErrUnavailable", what, err)
		}
	}
}

func closingTwiceIsHarmless(t *testing.T, f *fixture) {
	store := f.open(t)
	for range 2 {
		if err := store.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
}

// A call that began before is answered by what it came to, not cut off between its reading and its writing.
func closeWaitsForTheCallsUnderWay(t *testing.T, f *fixture) {
	for range 5 {
		store := f.open(t)
		under := &signal{Context: f.ctx(), looked: make(chan struct{})}
		calls := make([]storage.Call, 64)
		for i := range calls {
			calls[i] = reserve(f.name())
		}
		answered := make(chan []storage.Answer, 1)
		go func() { answered <- store.Apply(under, calls) }()
		<-under.looked
		if err := store.Close(); err != nil {
			t.Fatalf("closing: %v", err)
		}
		for _, a := range <-answered {
			if a.Err != nil || a.Outcome != storage.OutcomeAcquired {
				t.Fatalf("a call under way got %v, %v", a.Outcome, a.Err)
			}
		}
	}
}

// signal is a context that tells when a call has begun to look at it.
type signal struct {
	context.Context
	looked chan struct{}
	once   sync.Once
}

func (s *signal) Err() error            { s.tell(); return s.Context.Err() }
func (s *signal) Done() <-chan struct{} { s.tell(); return s.Context.Done() }
func (s *signal) tell()                 { s.once.Do(func() { close(s.looked) }) }
