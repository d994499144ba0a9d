package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that the outcome of the work is stored once, by its owner, and never changes afterwards.

var completePromises = []promise{
	theCurrentTokenSettles,
	theOwnerSettlesAlsoAfterTheLease,
	aSettlementKeepsWhatItDoesNotSet,
	aRepeatedCompleteIsAnsweredAlike,
	anotherSettlementIsRefusedWithTheRecord,
	anOldTokenSettlesNothing,
	aReleasedRecordCannotBeSettled,
	anAbsentRecordCannotBeSettled,
	aHashThatIsMissingMatchesNothing,
}

func theCurrentTokenSettles(_ *testing.T, f *fixture) {
	for _, result := range []storage.State{storage.Completed, storage.Failed} {
		n := f.name()
		holder := f.live(n)
		before := f.record(n)
		done := complete(n, holder.Token)
		done.Result = result
		a := f.want(storage.OutcomeSettled, done)

		want := *before
		want.State, want.SettledAt, want.UpdatedAt = result, a.Now, a.Now
		want.Response, want.ResourceID, want.ResultHash = response(), "order-1", []byte("hash-1")
		want.ExpiresAt = a.Now.Add(holder.Retention)
		want.SweepHour = storage.SweepHourOf(want.ExpiresAt)
		want.Revision, want.Version = a.Record.Revision, a.Record.Version
		f.same("the answer's record", a.Record, &want)
		f.same("the stored record", f.record(n), &want)
	}
}

// The end of the lease only allows others to take over.
func theOwnerSettlesAlsoAfterTheLease(_ *testing.T, f *fixture) {
	f.inEach(whenLapsed, func(f *fixture, n storage.Name, holder storage.Reserve) {
		f.want(storage.OutcomeSettled, complete(n, holder.Token))
		f.want(storage.OutcomeReplay, reserve(n))
	})
}

func aSettlementKeepsWhatItDoesNotSet(_ *testing.T, f *fixture) {
	n := f.name()
	f.released(n)
	holder := f.live(n)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Checkpoint: progress(3, "charged")})
	before := f.record(n)
	f.want(storage.OutcomeSettled, complete(n, holder.Token))
	r := f.record(n)
	f.same("the fingerprint", r.Fingerprint, before.Fingerprint)
	f.same("the checkpoint", r.Checkpoint, before.Checkpoint)
	f.same("the holder", r.Holder, before.Holder)
	f.same("the last error", r.LastError, before.LastError)
	f.same("the attempt ids", r.EarlierAttemptIDs, before.EarlierAttemptIDs)
	f.same("the fence", r.Fence, before.Fence)
	f.same("the token", r.Token, before.Token)
}

// What is the same is told by the stored hash alone.
func aRepeatedCompleteIsAnsweredAlike(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.live(n)
	done := complete(n, holder.Token)
	first := f.want(storage.OutcomeSettled, done).Record
	f.changesNothing(n, func() {
		done.Retention = 2 * long
		f.same("the record of the repeat", f.want(storage.OutcomeSettled, done).Record, first)
		done.Response = nil
		f.same("the record of a shortened repeat", f.want(storage.OutcomeSettled, done).Record, first)
	})
}

func anotherSettlementIsRefusedWithTheRecord(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.settled(n, storage.Completed)
	stored := f.record(n)
	f.changesNothing(n, func() {
		other := complete(n, holder.Token)
		other.ResultHash, other.Result, other.Response.Body = []byte("hash-2"), storage.Failed, []byte("other")
		f.same("the record", f.want(storage.OutcomeAlreadyCompleted, other).Record, stored)
	})
}

// Whatever the successor did: it holds the lease, gave it back, let it lapse, or settled.
func anOldTokenSettlesNothing(_ *testing.T, f *fixture) {
	for _, c := range whenever {
		n := f.name()
		old := f.lapsed(n, storage.Retry)
		c.make(f, n)
		f.changesNothing(n, func() {
			f.want(storage.OutcomeLeaseLost, complete(n, old.Token))
			f.want(storage.OutcomeLeaseLost, storage.Release{Name: n, Token: old.Token, Reason: "late", Forget: true})
			f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: n, Token: old.Token, Lease: 2 * long, Hold: true})
			f.want(storage.OutcomeLeaseLost, complete(n, storage.NewToken()))
			f.want(storage.OutcomeLeaseLost, complete(n, storage.Token{}))
		})
	}
}

func aReleasedRecordCannotBeSettled(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.released(n)
	f.changesNothing(n, func() { f.want(storage.OutcomeLeaseLost, complete(n, holder.Token)) })
}

func anAbsentRecordCannotBeSettled(_ *testing.T, f *fixture) {
	n := f.name()
	f.want(storage.OutcomeLeaseLost, complete(n, storage.NewToken()))
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
}

// A settlement that left no hash was not the holder's own words; no call can repeat it.
func aHashThatIsMissingMatchesNothing(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.live(n)
	done := complete(n, holder.Token)
	done.ResultHash = nil
	f.want(storage.OutcomeSettled, done)
	f.changesNothing(n, func() {
		f.want(storage.OutcomeAlreadyCompleted, done)
		f.want(storage.OutcomeAlreadyCompleted, complete(n, holder.Token))
	})
}
