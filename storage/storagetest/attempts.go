package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that a reserve can be repeated blindly: a repeat gets its own lease again, and a stray duplicate of
// an attempt that is over gets none.

var attemptPromises = []promise{
	aRepeatGetsItsOwnLease,
	aRepeatChangesNoTerms,
	aRepeatKeepsTheTakeoverFlag,
	noAttemptIDRepeatsNothing,
	aStrayDuplicateIsRefused,
	aStrayDuplicateOfTheReleasedAttemptIsRefused,
	fourEarlierAttemptIDsAreKept,
	anAttemptWithoutIDPushesNoneOut,
	aStrayDuplicateElsewhereIsAnOrdinaryCall,
}

// Live or lapsed, under either policy.
func aRepeatGetsItsOwnLease(_ *testing.T, f *fixture) {
	f.inEach(whenInProgress, func(f *fixture, n storage.Name, holder storage.Reserve) {
		before := f.record(n)
		repeat := holder
		repeat.Token = storage.NewToken()
		for range 3 {
			r := f.want(storage.OutcomeAcquired, repeat).Record
			if r.Token != holder.Token || r.Fence != before.Fence || r.Attempt != 1 || r.Takeover {
				f.t.Fatalf("the repeat got another lease: %+v", r)
			}
			if r.LeaseExpiresAt.Before(before.LeaseExpiresAt) {
				f.t.Errorf("the repeat shortened the lease from %v to %v", before.LeaseExpiresAt, r.LeaseExpiresAt)
			}
		}
		f.want(storage.OutcomeSettled, complete(n, holder.Token))
	})
}

func aRepeatChangesNoTerms(_ *testing.T, f *fixture) {
	f.inEach(whenInProgress, func(f *fixture, n storage.Name, holder storage.Reserve) {
		before := f.record(n)
		repeat := holder
		repeat.Lease, repeat.Retention, repeat.OnLapse = brief, brief, 1-holder.OnLapse
		r := f.want(storage.OutcomeAcquired, repeat).Record
		if r.Lease != before.Lease || r.Retention != before.Retention || r.OnLapse != before.OnLapse {
			f.t.Errorf("the repeat changed the terms to %v, %v, %v", r.Lease, r.Retention, r.OnLapse)
		}
	})
}

func aRepeatKeepsTheTakeoverFlag(_ *testing.T, f *fixture) {
	n := f.name()
	f.lapsed(n, storage.Retry)
	successor := f.live(n)
	if r := f.want(storage.OutcomeAcquired, successor).Record; !r.Takeover {
		f.t.Error("the repeat of a takeover does not say that it took over")
	}
	f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: successor.Token})
	if r := f.want(storage.OutcomeAcquired, reserve(n)).Record; r.Takeover {
		f.t.Error("an acquisition after a release says that it took over")
	}
}

// Two callers that gave no attempt id are two callers.
func noAttemptIDRepeatsNothing(_ *testing.T, f *fixture) {
	n := f.name()
	c := reserve(n)
	c.AttemptID = ""
	f.want(storage.OutcomeAcquired, c)
	f.want(storage.OutcomeInProgress, c)
	f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: c.Token})
	c.Token = storage.NewToken()
	f.want(storage.OutcomeAcquired, c)
}

func aStrayDuplicateIsRefused(_ *testing.T, f *fixture) {
	for _, end := range []string{"abandoned", "released"} {
		n := f.name()
		first := f.released(n)
		second := reserve(n)
		if end == "abandoned" {
			second.Lease = brief
		}
		a := f.want(storage.OutcomeAcquired, second)
		if end == "abandoned" {
			f.passes(a.Record.LeaseExpiresAt)
		} else {
			f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: second.Token})
		}
		f.changesNothing(n, func() {
			stray := first
			stray.Token = storage.NewToken()
			f.want(storage.OutcomeLeaseLost, stray)
		})
	}
}

func aStrayDuplicateOfTheReleasedAttemptIsRefused(_ *testing.T, f *fixture) {
	n := f.name()
	c := f.released(n)
	f.changesNothing(n, func() {
		c.Token = storage.NewToken()
		f.want(storage.OutcomeLeaseLost, c)
	})
}

func fourEarlierAttemptIDsAreKept(_ *testing.T, f *fixture) {
	n := f.name()
	var made []storage.Reserve // the oldest first
	for range 2 + storage.KeptAttemptIDs {
		made = append(made, f.released(n))
	}
	f.changesNothing(n, func() {
		for _, stray := range made[1:] {
			f.want(storage.OutcomeLeaseLost, stray)
		}
	})
	r := f.record(n)
	f.same("the number of earlier ids", len(r.EarlierAttemptIDs), storage.KeptAttemptIDs)
	for i, id := range r.EarlierAttemptIDs {
		f.same("an earlier id", id, made[storage.KeptAttemptIDs-i].AttemptID)
	}
	forgotten := made[0]
	forgotten.Token = storage.NewToken()
	f.want(storage.OutcomeAcquired, forgotten)
}

func anAttemptWithoutIDPushesNoneOut(_ *testing.T, f *fixture) {
	n := f.name()
	first := f.released(n)
	for range 2 * storage.KeptAttemptIDs {
		c := reserve(n)
		c.AttemptID = ""
		f.want(storage.OutcomeAcquired, c)
		f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: c.Token})
	}
	f.same("the earlier ids", f.record(n).EarlierAttemptIDs, []string{first.AttemptID})
	f.want(storage.OutcomeLeaseLost, first)
}

// While somebody holds the lease, when the record is uncertain, or settled, an earlier attempt id changes no answer.
func aStrayDuplicateElsewhereIsAnOrdinaryCall(_ *testing.T, f *fixture) {
	n := f.name()
	stray := f.released(n)
	second := f.live(n)
	f.want(storage.OutcomeInProgress, stray)
	f.want(storage.OutcomeSettled, complete(n, second.Token))
	f.want(storage.OutcomeReplay, stray)

	n = f.name()
	stray = f.released(n)
	f.lapsed(n, storage.Hold)
	f.want(storage.OutcomeUncertain, stray)
}
