package waiting_test

import (
	"context"
	"testing"

	"github.com/reprise-idempotency/reprise/service/waiting"
	"github.com/reprise-idempotency/reprise/storage"
)

// of gives a name of a tenant.
func of(tenant, key string) storage.Name {
	return storage.Name{Tenant: tenant, Operation: "POST /v1/orders", Key: key}
}

// Ensure that a tenant has no more waiters than it may have, over all its names, and that all tenants together have no
// more than there may be; who finds no place is told at once.
func TestCaps(t *testing.T) {
	p := serve(t, openSQLite(t)(), waiting.Limits{Total: 5, PerTenant: 3})
	enters := func(n storage.Name, want bool) {
		t.Helper()
		if want {
			p.waits(context.Background(), reserve(n), long)
		} else {
			p.start(context.Background(), reserve(n), long).wantNone()
		}
	}
	for _, tenant := range []string{"acme", "globex", "initech"} {
		p.hold(of(tenant, "a"))
		p.hold(of(tenant, "b"))
	}
	enters(of("acme", "a"), true)
	enters(of("acme", "a"), true)
	enters(of("acme", "b"), true)
	enters(of("acme", "b"), false)
	enters(of("globex", "a"), true)
	enters(of("globex", "a"), true)
	enters(of("globex", "a"), false) // within its own cap, and beyond that of all
	enters(of("initech", "a"), false)
	if n := p.told.count(waiting.Refused); n != 3 || p.room.Waiters() != 5 {
		t.Errorf("%d were refused, and %d wait; want 3 and 5", n, p.room.Waiters())
	}
	for _, after := range p.told.after {
		if after != 0 {
			t.Errorf("a refused one waited %s", after)
		}
	}
}

// Ensure that a room without places refuses everybody.
func TestNoPlaces(t *testing.T) {
	for _, l := range []waiting.Limits{{}, {Total: 10}, {PerTenant: 10}} {
		p := serve(t, openSQLite(t)(), l)
		p.hold(name("key"))
		p.start(context.Background(), reserve(name("key")), long).wantNone()
	}
}

// Ensure that a place is free again after every way in which a wait can end, for the tenant and for all.
func TestPlacesAreFreedAgain(t *testing.T) {
	p := serve(t, openSQLite(t)(), waiting.Limits{Total: 1, PerTenant: 1})
	n := name("key")
	holder := p.hold(n)
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		w := p.waits(ctx, reserve(n), long)
		p.start(context.Background(), reserve(n), long).wantNone()
		cancel()
		w.wantNone()

		p.start(context.Background(), reserve(n), brief).wantNone()

		w = p.waits(context.Background(), reserve(n), long)
		p.start(context.Background(), reserve(n), long).wantNone()
		p.release(n, holder)
		holder = w.want(storage.OutcomeAcquired).Record.Token
	}
	for end, want := range map[waiting.End]int{waiting.Refused: 6, waiting.Gone: 3, waiting.TimedOut: 3, waiting.Answered: 3} {
		if got := p.told.count(end); got != want {
			t.Errorf("%d ended as %s, want %d", got, end, want)
		}
	}
	p.waits(context.Background(), reserve(n), long)
}

// Ensure that a place is free again when the store fails the one who had it.
func TestPlaceIsFreedByAFault(t *testing.T) {
	store := openSQLite(t)()
	broken := spied{Store: store, apply: func(context.Context, []storage.Call) []storage.Answer { panic("a fault") }}
	p := serve(t, broken, waiting.Limits{Total: 1, PerTenant: 1})
	p.store = p.room.Watch(store)
	n := name("key")
	holder := p.hold(n)
	for range 3 {
		w := p.waits(context.Background(), reserve(n), long)
		p.release(n, holder)
		if w.over(); !w.ok || w.answer.Err == nil {
			t.Fatalf("the waiter got %t %v %v, want an error", w.ok, w.answer.Outcome, w.answer.Err)
		}
		holder = p.hold(n)
	}
}
