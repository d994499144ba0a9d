package storagetest

import (
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that the store's clock alone decides, that times survive storage to the microsecond, and that a
// holder is never told that its lease lasts longer than it does.

var timePromises = []promise{
	timesComeBackAsTheyWereTold,
	oddDurationsAreNotCutShort,
	theLeaseIsOverAtItsEndAndNotBefore,
	goodUntilIsNeverLaterThanTheLease,
	aLateSettlementIsNotBornExpired,
}

// A time that is rounded on its way to the disk never matches again.
func timesComeBackAsTheyWereTold(_ *testing.T, f *fixture) {
	for range 50 {
		n := f.name()
		c := f.live(n)
		f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: c.Token, Lease: 2 * long})
		told := f.want(storage.OutcomeSettled, complete(n, c.Token)).Record
		r := f.record(n)
		f.same("the stored record", r, told)
		for _, at := range []time.Time{r.CreatedAt, r.UpdatedAt, r.LeaseExpiresAt, r.SettledAt, r.ExpiresAt} {
			if at.Location() != time.UTC || at.Nanosecond()%int(micro) != 0 {
				f.t.Fatalf("a stored time is %v: not UTC in whole microseconds", at)
			}
		}
	}
}

// Durations are kept in whole milliseconds; a finer one may become longer, never shorter, and what is told is what is
// kept.
func oddDurationsAreNotCutShort(_ *testing.T, f *fixture) {
	const odd = long + 1_234_567*time.Nanosecond
	n := f.name()
	c := reserve(n)
	c.Lease, c.Retention = odd, odd
	a := f.want(storage.OutcomeAcquired, c)
	f.same("the record after Reserve", f.record(n), a.Record)
	notShorter := func(what string, got time.Duration) {
		f.t.Helper()
		if got < odd || got > odd+time.Millisecond {
			f.t.Errorf("%s is %v; %v was asked for", what, got, odd)
		}
	}
	notShorter("the lease", a.Record.LeaseExpiresAt.Sub(a.Now))
	notShorter("the record's own lease", a.Record.Lease)
	a = f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: c.Token, Lease: 2*long + odd})
	f.same("the record after Heartbeat", f.record(n), a.Record)
	notShorter("the lease, less two hours", a.Record.LeaseExpiresAt.Sub(a.Now)-2*long)
	done := complete(n, c.Token)
	done.Retention = odd
	a = f.want(storage.OutcomeSettled, done)
	f.same("the record after Complete", f.record(n), a.Record)
	notShorter("the retention", a.Record.ExpiresAt.Sub(a.Now))
}

// A rival asks without pause from before the end until it is let in; every answer has to fit the clock that it shows.
func theLeaseIsOverAtItsEndAndNotBefore(_ *testing.T, f *fixture) {
	for range 10 {
		n := f.name()
		c := reserve(n)
		c.Lease = 10 * brief
		end := f.want(storage.OutcomeAcquired, c).Record.LeaseExpiresAt
		f.endsSoon(end)
		for {
			a := f.one(reserve(n))
			if over := !a.Now.Before(end); over != (a.Outcome == storage.OutcomeAcquired) {
				f.t.Fatalf("%v at %v; the lease ends at %v", a.Outcome, a.Now, end)
			}
			if a.Outcome == storage.OutcomeAcquired {
				break
			}
		}
	}
}

// The store's clock is read between two readings of ours, again and again; that brackets the instant at which the lease
// ends by our clock.
func goodUntilIsNeverLaterThanTheLease(_ *testing.T, f *fixture) {
	check := func(what string, c storage.Call) storage.Answer {
		f.t.Helper()
		asked := time.Now()
		a := f.one(c)
		for range 10 {
			seen := f.one(storage.Lookup{Name: c.On()}).Now
			if latest := time.Now().Add(a.Record.LeaseExpiresAt.Sub(seen)); a.GoodUntil.After(latest) {
				f.t.Fatalf("%s: GoodUntil is %v later than the end of the lease", what, a.GoodUntil.Sub(latest))
			}
		}
		if left := a.Record.LeaseExpiresAt.Sub(a.Now); a.GoodUntil.Before(asked.Add(left)) {
			f.t.Errorf("%s: GoodUntil is %v earlier than the call", what, asked.Add(left).Sub(a.GoodUntil))
		}
		return a
	}
	n := f.name()
	first := reserve(n)
	check("an acquisition", first)
	check("its repeat", first)
	check("an extension", storage.Heartbeat{Name: n, Token: first.Token, Lease: 2 * long})
	check("a heartbeat that extends nothing", storage.Heartbeat{Name: n, Token: first.Token, Lease: brief})
	f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: first.Token})
	check("a second acquisition", reserve(n))

	n = f.name()
	lapsed := f.lapsed(n, storage.Retry)
	if a := f.want(storage.OutcomeAcquired, lapsed); time.Now().Before(a.GoodUntil) {
		f.t.Errorf("the repeat of a lapsed lease is said to be good for another %v", time.Until(a.GoodUntil))
	}
	check("a takeover", reserve(n))
}

// The time counts from the settlement, however short the retention and however late the settlement.
func aLateSettlementIsNotBornExpired(_ *testing.T, f *fixture) {
	n := f.name()
	c := f.lapsed(n, storage.Hold)
	done := complete(n, c.Token)
	done.Retention = long
	a := f.want(storage.OutcomeSettled, done)
	f.same("the end of the record", a.Record.ExpiresAt, a.Now.Add(long))
	f.want(storage.OutcomeReplay, reserve(n))
}
