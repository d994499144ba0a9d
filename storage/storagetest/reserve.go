package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that Reserve grants the work to one caller alone, and tells every other what became of it.

var reservePromises = []promise{
	anAbsentNameIsAcquired,
	anotherFingerprintIsRefusedBeforeAnythingElse,
	aLiveLeaseKeepsOthersOut,
	anAbandonedRecordIsTakenOver,
	anUncertainRecordIsHeld,
	aReleasedRecordIsAcquiredAgain,
	eachAcquisitionSetsItsTermsAfresh,
	aSettledRecordIsReplayed,
	aSettlementWithoutResponseIsReplayedWithoutOne,
	aDroppedBodyIsNeverRunAgain,
	aReplayChangesNothing,
}

func anAbsentNameIsAcquired(_ *testing.T, f *fixture) {
	c := reserve(f.name())
	c.OnLapse = storage.Hold
	a := f.want(storage.OutcomeAcquired, c)
	r := *a.Record
	if r.Fence < a.Now.UnixMicro() || r.Fence > maxInt {
		f.t.Errorf("the first fence is %d; the clock is at %d µs", r.Fence, a.Now.UnixMicro())
	}
	end := a.Now.Add(c.Lease)
	want := storage.Record{Name: c.Name, State: storage.InProgress, OnLapse: storage.Hold, Attempt: 1, Fence: r.Fence,
		Token: c.Token, Holder: c.Holder, AttemptID: c.AttemptID, Fingerprint: c.Fingerprint, Lease: c.Lease,
		Retention: c.Retention, CreatedAt: a.Now, UpdatedAt: a.Now, LeaseExpiresAt: end, ExpiresAt: end.Add(c.Retention),
		SweepHour: storage.SweepHourOf(end.Add(c.Retention)), Revision: r.Revision, Version: r.Version}
	f.same("the answer's record", r, want)
	f.same("the stored record", f.record(c.Name), &want)
}

// Also for a repeat of the latest attempt id, and while in progress: retrying cannot help such a caller.
func anotherFingerprintIsRefusedBeforeAnythingElse(_ *testing.T, f *fixture) {
	f.inEach(whenever, func(f *fixture, n storage.Name, holder storage.Reserve) {
		rival := reserve(n)
		rival.Fingerprint = "fp-2"
		repeat := rival
		repeat.AttemptID = holder.AttemptID
		f.changesNothing(n, func() {
			f.want(storage.OutcomeFingerprintMismatch, rival)
			f.want(storage.OutcomeFingerprintMismatch, repeat)
		})
	})
}

func aLiveLeaseKeepsOthersOut(_ *testing.T, f *fixture) {
	for _, policy := range []storage.OnLapse{storage.Retry, storage.Hold} {
		n := f.name()
		holder := reserve(n)
		holder.OnLapse = policy
		f.want(storage.OutcomeAcquired, holder)
		f.changesNothing(n, func() {
			a := f.want(storage.OutcomeInProgress, reserve(n))
			f.same("the holder", a.Record.Token, holder.Token)
			if !a.Now.Before(a.Record.LeaseExpiresAt) {
				f.t.Errorf("busy at %v, after the lease's end %v", a.Now, a.Record.LeaseExpiresAt)
			}
		})
	}
}

func anAbandonedRecordIsTakenOver(_ *testing.T, f *fixture) {
	n := f.name()
	f.lapsed(n, storage.Retry)
	before := f.record(n)
	c := reserve(n)
	c.Holder = "successor"
	a := f.want(storage.OutcomeAcquired, c)
	r := a.Record
	if !r.Takeover || r.Attempt != 2 || r.Fence <= before.Fence || r.Token != c.Token {
		f.t.Errorf("taken over as %+v", r)
	}
	f.same("the creation", r.CreatedAt, before.CreatedAt)
	f.same("the holder", r.Holder, "successor")
	f.same("the end of the lease", r.LeaseExpiresAt, a.Now.Add(c.Lease))
	f.same("the stored record", f.record(n), r)
}

func anUncertainRecordIsHeld(_ *testing.T, f *fixture) {
	n := f.name()
	f.lapsed(n, storage.Hold)
	f.changesNothing(n, func() {
		a := f.want(storage.OutcomeUncertain, reserve(n))
		f.same("the derived state", a.Record.StateAt(a.Now), storage.Uncertain)
		withoutID := reserve(n)
		withoutID.AttemptID = ""
		f.want(storage.OutcomeUncertain, withoutID)
	})
}

func aReleasedRecordIsAcquiredAgain(_ *testing.T, f *fixture) {
	n := f.name()
	f.released(n)
	before := f.record(n)
	c := reserve(n)
	r := f.want(storage.OutcomeAcquired, c).Record
	if r.Takeover || r.Attempt != 2 || r.Fence <= before.Fence || r.Token != c.Token {
		f.t.Errorf("acquired again as %+v", r)
	}
	f.same("the creation", r.CreatedAt, before.CreatedAt)
	f.same("the reason of the last release", r.LastError, "try later")
	f.same("the stored record", f.record(n), r)
}

// Nothing that the predecessor asked for is inherited: not the lease, not the retention, not the policy.
func eachAcquisitionSetsItsTermsAfresh(_ *testing.T, f *fixture) {
	n := f.name()
	first := reserve(n)
	first.OnLapse = storage.Hold
	f.want(storage.OutcomeAcquired, first)
	f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: first.Token})
	second := reserve(n)
	second.Lease, second.Retention, second.Holder = 2*long, 3*long, ""
	a := f.want(storage.OutcomeAcquired, second)
	r := a.Record
	if r.Lease != 2*long || r.Retention != 3*long || r.OnLapse != storage.Retry || r.Holder != "" {
		f.t.Errorf("the second acquisition has the terms %v, %v, %v, %q", r.Lease, r.Retention, r.OnLapse, r.Holder)
	}
	f.same("the end of the lease", r.LeaseExpiresAt, a.Now.Add(2*long))
	f.same("the end of the record", r.ExpiresAt, a.Now.Add(5*long))
}

func aSettledRecordIsReplayed(_ *testing.T, f *fixture) {
	f.inEach([]condition{whenCompleted, whenFailed}, func(f *fixture, n storage.Name, holder storage.Reserve) {
		stored := f.record(n)
		again := reserve(n)
		again.AttemptID = holder.AttemptID
		for _, c := range []storage.Reserve{reserve(n), again} {
			r := f.want(storage.OutcomeReplay, c).Record
			f.same("the replayed record", r, stored)
			f.same("the response", r.Response, response())
			f.same("the resource", r.ResourceID, "order-1")
		}
	})
}

func aSettlementWithoutResponseIsReplayedWithoutOne(_ *testing.T, f *fixture) {
	n := f.name()
	c := f.live(n)
	done := complete(n, c.Token)
	done.Response = nil
	f.want(storage.OutcomeSettled, done)
	if r := f.want(storage.OutcomeReplay, reserve(n)).Record; r.Response != nil {
		f.t.Errorf("a response out of nothing: %+v", r.Response)
	}
}

func aDroppedBodyIsNeverRunAgain(_ *testing.T, f *fixture) {
	n := f.name()
	f.dropped(n)
	f.changesNothing(n, func() {
		r := f.want(storage.OutcomeResponseUnavailable, reserve(n)).Record
		want := response()
		want.Body, want.BodyDropped = nil, true
		f.same("the response", r.Response, want)
		f.same("the resource", r.ResourceID, "order-1")
	})
}

func aReplayChangesNothing(_ *testing.T, f *fixture) {
	f.inEach(whenSettled, func(f *fixture, n storage.Name, _ storage.Reserve) {
		f.changesNothing(n, func() {
			c := reserve(n)
			c.Retention, c.Lease, c.OnLapse = 90*24*long, 2*long, storage.Hold
			f.one(c)
		})
	})
}
