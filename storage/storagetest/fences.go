package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that the fence of a name only rises, and that every acquisition has a proof of its own.

var fencePromises = []promise{
	theFenceRisesWithEveryAcquisition,
	nothingButAnAcquisitionMovesTheFence,
	aFenceIsNoLowerThanTheClock,
	aTokenIsGoodForOneAcquisition,
}

// Whatever lies between two of them: a release, a takeover, the end of the record.
func theFenceRisesWithEveryAcquisition(_ *testing.T, f *fixture) {
	n := f.name()
	var last int64
	acquired := func(how string, lease bool) storage.Reserve {
		f.t.Helper()
		c := reserve(n)
		if lease {
			c.Lease, c.Retention = brief, long
		}
		r := f.want(storage.OutcomeAcquired, c).Record
		if r.Fence <= last || r.Fence > maxInt {
			f.t.Errorf("%s: the fence went from %d to %d", how, last, r.Fence)
		}
		last = r.Fence
		f.same("the stored fence", f.record(n).Fence, last)
		if lease {
			f.passes(r.LeaseExpiresAt)
		}
		return c
	}
	for range 3 {
		c := acquired("the first, or after the end", false)
		f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: c.Token})
		acquired("after a release", true)
		c = acquired("after a takeover", true)
		f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: c.Token, Forget: true})
		c = acquired("after a forget", false)
		done := complete(n, c.Token)
		done.Retention = brief
		f.passes(f.want(storage.OutcomeSettled, done).Record.ExpiresAt)
	}
}

func nothingButAnAcquisitionMovesTheFence(_ *testing.T, f *fixture) {
	n := f.name()
	c := reserve(n)
	fence := f.want(storage.OutcomeAcquired, c).Record.Fence
	for _, call := range []storage.Call{c, reserve(n), storage.Heartbeat{Name: n, Token: c.Token, Lease: 2 * long},
		storage.Heartbeat{Name: n, Token: c.Token, Hold: true}, complete(n, c.Token), reserve(n)} {
		f.same("the fence in the answer", f.one(call).Record.Fence, fence)
		f.same("the stored fence", f.record(n).Fence, fence)
	}
}

// A fence that a swept record had must never be given again, though nothing is left of it but the time.
func aFenceIsNoLowerThanTheClock(_ *testing.T, f *fixture) {
	for range 20 {
		a := f.want(storage.OutcomeAcquired, reserve(f.name()))
		if a.Record.Fence < a.Now.UnixMicro() {
			f.t.Fatalf("fence %d at %d µs", a.Record.Fence, a.Now.UnixMicro())
		}
	}
}

// Not on another name, not when the same caller comes back.
func aTokenIsGoodForOneAcquisition(_ *testing.T, f *fixture) {
	n, other := f.name(), f.name()
	first, rival := f.released(n), f.live(other)
	second := f.live(n)
	if first.Token == second.Token {
		f.t.Fatal("two acquisitions have one token")
	}
	f.changesNothing(n, func() {
		for _, stale := range []storage.Token{first.Token, rival.Token, {}} {
			f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: n, Token: stale})
			f.want(storage.OutcomeLeaseLost, storage.Release{Name: n, Token: stale})
			f.want(storage.OutcomeLeaseLost, complete(n, stale))
		}
	})
}
