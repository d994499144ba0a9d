package storagetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that those who wait are told when a name is free.

var heldPromises = []rowPromise{
	aLiveLeaseAloneHolds,
	aNameIsHeldUntilTheLeaseIsOver,
	whatIsHeldIsAlignedWithTheNames,
	noNamesAreHeldByNobody,
	partsOfANameTellHeldOnesApart,
	fiveThousandNamesAreAskedForAtOnce,
}

// held asks for names.
func (f *fixture) held(names ...storage.Name) []bool {
	f.t.Helper()
	held, err := f.store.Held(f.ctx(), names)
	if err != nil {
		f.t.Fatalf("asking for %d names: %v", len(names), err)
	}
	if len(held) != len(names) {
		f.t.Fatalf("%d names got %d answers", len(names), len(held))
	}
	return held
}

func aLiveLeaseAloneHolds(_ *testing.T, f *rowFixture) {
	for _, when := range whenever {
		n := f.name()
		when.make(f.fixture, n)
		f.same(when.name, f.held(n), []bool{when.name == whenLive.name})
	}
	absent, ended := f.name(), f.name()
	f.expired(ended)
	resolved, again := f.name(), f.name()
	f.live(resolved)
	c := f.resolving(resolved, storage.Released)
	c.Force = true
	f.want(storage.OutcomeResolved, c)
	f.settled(again, storage.Completed)
	f.want(storage.OutcomeExpired, f.expiring(again))
	f.same("absent, ended, resolved, expired", f.held(absent, ended, resolved, again), []bool{false, false, false, false})
	f.live(again)
	f.same("acquired again", f.held(again), []bool{true})
}

// Under either policy, by the store's clock, which the looks before and after bracket.
func aNameIsHeldUntilTheLeaseIsOver(_ *testing.T, f *rowFixture) {
	for _, policy := range []storage.OnLapse{storage.Retry, storage.Hold} {
		n := f.name()
		c := reserve(n)
		c.Lease, c.OnLapse = 10*brief, policy
		end := f.want(storage.OutcomeAcquired, c).Record.LeaseExpiresAt
		f.endsSoon(end)
		for over := false; !over; {
			before := f.now()
			held := f.held(n)[0]
			after := f.now()
			over = !before.Before(end)
			if over && held || after.Before(end) && !held {
				f.t.Fatalf("held %v between %v and %v; the lease ends at %v", held, before, after, end)
			}
		}
	}
}

func whatIsHeldIsAlignedWithTheNames(_ *testing.T, f *rowFixture) {
	names := make([]storage.Name, 40)
	want := make([]bool, len(names))
	for i := range names {
		names[i] = f.name()
		want[i] = (i*i)%3 == 1
		if want[i] {
			f.live(names[i])
		}
	}
	f.same("what is held", f.held(names...), want)
	slices.Reverse(names)
	slices.Reverse(want)
	f.same("what is held, asked for in another order", f.held(names...), want)
}

func noNamesAreHeldByNobody(_ *testing.T, f *rowFixture) {
	f.live(f.name())
	f.same("what is held of no names", len(f.held()), 0)
}

func partsOfANameTellHeldOnesApart(_ *testing.T, f *rowFixture) {
	texts := []string{"a/b", "a%2Fb", "A/b", `"`, `\"`, "'", "[0]", "$", "<b>&", "ы", "\U0001F511", "\u2028", "1", "null", " "}
	var names []storage.Name
	var want []bool
	for i, text := range texts {
		live := i%2 == 0
		for part := range 4 {
			n := storage.Name{Tenant: "t", Operation: "o", Subject: "s", Key: "k"}
			*[]*string{&n.Tenant, &n.Operation, &n.Subject, &n.Key}[part] = text
			if live {
				f.live(n)
			}
			names, want = append(names, n), append(want, live)
		}
	}
	empty := storage.Name{Tenant: "t", Operation: "o", Key: "k"}
	f.live(empty)
	f.same("what is held", f.held(append(names, empty)...), append(want, true))
}

func fiveThousandNamesAreAskedForAtOnce(_ *testing.T, f *rowFixture) {
	const asked = 5000
	now := f.now()
	var rows []*storage.Record
	names, want := make([]storage.Name, asked), make([]bool, asked)
	for i := range asked {
		names[i] = storage.Name{Tenant: "tenant", Operation: "operation", Subject: fmt.Sprint(i % 7), Key: fmt.Sprint((i * 7919) % asked)}
		switch i % 4 {
		case 0: // absent
		case 1:
			rows = append(rows, leasedUntil(acquiredAt(names[i], now), now.Add(time.Hour)))
			want[i] = true
		case 2:
			rows = append(rows, acquiredAt(names[i], now.Add(-time.Hour)))
		case 3:
			rows = append(rows, overAt(names[i], now, storage.Completed))
		}
	}
	f.insert(rows...)
	f.same("what is held", f.held(names...), want)
}
