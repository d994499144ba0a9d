package storagetest

import (
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that nothing ends before the promised time, and that what has ended is absent for every call.

var expiryPromises = []promise{
	aRecordInProgressEndsWithItsLease,
	anUncertainRecordNeverEnds,
	turningToHoldLiftsTheEnd,
	aSettledRecordEndsAfterItsRetention,
	aReleasedRecordEndsAfterItsRetention,
	omittedRetentionIsThatOfTheAcquisition,
	readingAndReplayingExtendNothing,
	anExpiredRecordIsAbsentForEveryCall,
	theRecordIsThereUntilItsEndAndNotAfter,
	anExpiredRowIsReusedWithoutLeftovers,
	anExpiredRowAcceptsAnotherFingerprint,
	theOldHolderCannotTouchAReusedRow,
}

// While live its end lies ahead and moves with the lease; once abandoned it ends a retention after the lease.
func aRecordInProgressEndsWithItsLease(_ *testing.T, f *fixture) {
	n := f.name()
	c := reserve(n)
	c.Lease, c.Retention = brief, 20*brief
	r := f.want(storage.OutcomeAcquired, c).Record
	f.same("the end", r.ExpiresAt, r.LeaseExpiresAt.Add(c.Retention))
	f.passes(r.ExpiresAt)
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})

	n = f.name()
	c = reserve(n)
	c.Retention = brief // long over before the lease is
	f.want(storage.OutcomeAcquired, c)
	r = f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: c.Token, Lease: 5 * long}).Record
	f.same("the end after a heartbeat", r.ExpiresAt, r.LeaseExpiresAt.Add(brief))
	f.passes(r.UpdatedAt.Add(5 * brief))
	f.want(storage.OutcomeInProgress, reserve(n))
}

func anUncertainRecordNeverEnds(_ *testing.T, f *fixture) {
	n := f.name()
	c := reserve(n)
	c.Lease, c.Retention, c.OnLapse = brief, brief, storage.Hold
	r := f.want(storage.OutcomeAcquired, c).Record
	f.passes(r.LeaseExpiresAt.Add(c.Retention + 5*brief))
	f.want(storage.OutcomeFound, storage.Lookup{Name: n})
	f.want(storage.OutcomeUncertain, reserve(n))
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: c.Token, Lease: brief})
	f.want(storage.OutcomeSettled, complete(n, c.Token))
}

func turningToHoldLiftsTheEnd(_ *testing.T, f *fixture) {
	n := f.name()
	c := reserve(n)
	c.Retention = brief
	f.want(storage.OutcomeAcquired, c)
	a := f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: c.Token, Hold: true})
	if _, ends := a.Record.Expires(); ends {
		f.t.Error("a held record in progress has an end")
	}
	f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: c.Token})
	f.passes(f.one(storage.Lookup{Name: n}).Now.Add(2 * brief))
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
}

func aSettledRecordEndsAfterItsRetention(_ *testing.T, f *fixture) {
	for _, result := range []storage.State{storage.Completed, storage.Failed} {
		n := f.name()
		c := f.live(n)
		done := complete(n, c.Token)
		done.Result, done.Retention = result, 5*brief
		a := f.want(storage.OutcomeSettled, done)
		f.same("the end", a.Record.ExpiresAt, a.Record.SettledAt.Add(5*brief))
		f.passes(a.Record.ExpiresAt)
		f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
	}
}

func aReleasedRecordEndsAfterItsRetention(_ *testing.T, f *fixture) {
	n := f.name()
	c := reserve(n)
	c.Retention = brief
	f.want(storage.OutcomeAcquired, c)
	a := f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: c.Token})
	f.same("the end", a.Record.ExpiresAt, a.Now.Add(brief))
	f.passes(a.Record.ExpiresAt)
	f.want(storage.OutcomeLeaseLost, storage.Release{Name: n, Token: c.Token})
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
}

// Zero means that none was given; it is neither for ever nor over at once.
func omittedRetentionIsThatOfTheAcquisition(_ *testing.T, f *fixture) {
	n := f.name()
	c := reserve(n)
	c.Retention = 7 * long
	f.want(storage.OutcomeAcquired, c)
	a := f.want(storage.OutcomeSettled, complete(n, c.Token))
	f.same("the end", a.Record.ExpiresAt, a.Now.Add(7*long))
	f.same("the retention", a.Record.Retention, 7*long)
}

func readingAndReplayingExtendNothing(_ *testing.T, f *fixture) {
	n := f.name()
	c := f.live(n)
	done := complete(n, c.Token)
	done.Retention = 20 * brief
	end := f.want(storage.OutcomeSettled, done).Record.ExpiresAt
	f.endsSoon(end)
	for {
		again := reserve(n)
		a, read := f.one(again), f.one(storage.Lookup{Name: n})
		if a.Outcome != storage.OutcomeReplay || read.Outcome != storage.OutcomeFound {
			if read.Now.Before(end) {
				f.t.Fatalf("%v and %v at %v; the record ends at %v", a.Outcome, read.Outcome, read.Now, end)
			}
			return
		}
		f.same("the end", read.Record.ExpiresAt, end)
	}
}

func anExpiredRecordIsAbsentForEveryCall(_ *testing.T, f *fixture) {
	n := f.name()
	c, _ := f.expired(n)
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n, Fingerprint: "fp-2"})
	f.want(storage.OutcomeLeaseLost, complete(n, c.Token))
	f.want(storage.OutcomeLeaseLost, storage.Release{Name: n, Token: c.Token})
	f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: n, Token: c.Token, Lease: long})
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
	repeat := c
	repeat.Token = storage.NewToken()
	r := f.want(storage.OutcomeAcquired, repeat).Record
	f.same("the token of a repeat that came too late", r.Token, repeat.Token)
}

func theRecordIsThereUntilItsEndAndNotAfter(_ *testing.T, f *fixture) {
	for range 10 {
		n := f.name()
		c := f.live(n)
		done := complete(n, c.Token)
		done.Retention = 10 * brief
		end := f.want(storage.OutcomeSettled, done).Record.ExpiresAt
		f.endsSoon(end)
		for {
			a := f.one(storage.Lookup{Name: n})
			if over := !a.Now.Before(end); over != (a.Outcome == storage.OutcomeNotFound) {
				f.t.Fatalf("%v at %v; the record ends at %v", a.Outcome, a.Now, end)
			}
			if a.Outcome == storage.OutcomeNotFound {
				break
			}
		}
	}
}

// Only the fence goes on.
func anExpiredRowIsReusedWithoutLeftovers(_ *testing.T, f *fixture) {
	n := f.name()
	_, old := f.expired(n)
	c := reserve(n)
	c.Holder, c.AttemptID = "", ""
	a := f.want(storage.OutcomeAcquired, c)
	r := *a.Record
	if r.Fence <= old.Fence {
		f.t.Errorf("the fence went from %d to %d", old.Fence, r.Fence)
	}
	end := a.Now.Add(c.Lease)
	want := storage.Record{Name: n, State: storage.InProgress, Attempt: 1, Fence: r.Fence, Token: c.Token,
		Fingerprint: c.Fingerprint, Lease: c.Lease, Retention: c.Retention, CreatedAt: a.Now, UpdatedAt: a.Now,
		LeaseExpiresAt: end, ExpiresAt: end.Add(c.Retention), SweepHour: storage.SweepHourOf(end.Add(c.Retention)),
		Revision: r.Revision, Version: r.Version}
	f.same("the answer's record", r, want)
	f.same("the stored record", f.record(n), &want)

	f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: c.Token})
	r = *f.want(storage.OutcomeAcquired, reserve(n)).Record
	if r.Attempt != 2 || r.Response != nil || r.Checkpoint != nil || r.LastError != "" {
		f.t.Errorf("the old record shines through: %+v", r)
	}
}

// A fingerprint that was compared before the end was looked at would refuse the name for ever.
func anExpiredRowAcceptsAnotherFingerprint(_ *testing.T, f *fixture) {
	n := f.name()
	f.expired(n)
	c := reserve(n)
	c.Fingerprint = "fp-2"
	f.want(storage.OutcomeAcquired, c)
	done := complete(n, c.Token)
	done.Response.Body = []byte("the second")
	f.want(storage.OutcomeSettled, done)
	c.AttemptID = fresh()
	f.same("the replayed body", f.want(storage.OutcomeReplay, c).Record.Response.Body, []byte("the second"))
}

func theOldHolderCannotTouchAReusedRow(_ *testing.T, f *fixture) {
	n := f.name()
	old, _ := f.expired(n)
	f.live(n)
	f.changesNothing(n, func() {
		f.want(storage.OutcomeLeaseLost, complete(n, old.Token))
		f.want(storage.OutcomeLeaseLost, storage.Release{Name: n, Token: old.Token})
		f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: n, Token: old.Token, Lease: time.Minute, Hold: true})
		f.want(storage.OutcomeInProgress, old) // the attempt ids of the old record are gone
	})
}
