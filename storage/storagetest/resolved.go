package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures what a resolution means to everybody else: the holder, its stray duplicates, and those who come after.

var resolvedPromises = []promise{
	theHolderLearnsOfTheOperatorsSettlement,
	theHolderLearnsOfTheOperatorsRelease,
	whoWasTakenOverBeforeAResolutionHasLost,
	aReplayGivesTheOperatorsResponse,
	anOperatorsResponseCanBeUnavailable,
	whatAnOperatorReleasedIsAcquiredAgain,
	aStrayDuplicateOfWhatAnOperatorReleasedIsRefused,
	aResolvedRecordEndsAsAnyOther,
}

var settlements = []storage.State{storage.Completed, storage.Failed}

// Also with the very result that the operator gave: the holder did not settle, and is to know it.
func theHolderLearnsOfTheOperatorsSettlement(_ *testing.T, f *fixture) {
	f.inEachResolution(settlements, func(f *fixture, n storage.Name, holder storage.Reserve, by storage.Resolve) {
		stored := f.record(n)
		equal := storage.Complete{Name: n, Token: holder.Token, Result: by.To, Response: by.Response, ResourceID: by.ResourceID, ResultHash: []byte("hash-1")}
		without := equal
		without.ResultHash = nil
		f.changesNothing(n, func() {
			for _, c := range []storage.Call{equal, equal, without, complete(n, holder.Token), storage.Release{Name: n, Token: holder.Token},
				storage.Release{Name: n, Token: holder.Token, Forget: true}} {
				f.same("the record", f.want(storage.OutcomeAlreadyCompleted, c).Record, stored)
			}
			f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: n, Token: holder.Token, Hold: true, Checkpoint: progress(99, "late")})
		})
	})
}

// Not as if it had released by itself, which could be answered alike for ever.
func theHolderLearnsOfTheOperatorsRelease(_ *testing.T, f *fixture) {
	f.inEachResolution([]storage.State{storage.Released}, func(f *fixture, n storage.Name, holder storage.Reserve, _ storage.Resolve) {
		loses := func() {
			f.want(storage.OutcomeLeaseLost, storage.Release{Name: n, Token: holder.Token})
			f.want(storage.OutcomeLeaseLost, complete(n, holder.Token))
			f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: n, Token: holder.Token, Hold: true})
		}
		f.changesNothing(n, loses)
		f.live(n)
		f.changesNothing(n, loses)
	})
}

func whoWasTakenOverBeforeAResolutionHasLost(_ *testing.T, f *fixture) {
	for _, to := range resolutions {
		n := f.name()
		first := f.lapsed(n, storage.Retry)
		f.lapsed(n, storage.Hold)
		f.want(storage.OutcomeResolved, f.resolving(n, to))
		f.changesNothing(n, func() {
			f.want(storage.OutcomeLeaseLost, complete(n, first.Token))
			f.want(storage.OutcomeLeaseLost, storage.Release{Name: n, Token: first.Token})
			f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: n, Token: first.Token})
		})
	}
}

func aReplayGivesTheOperatorsResponse(_ *testing.T, f *fixture) {
	f.inEachResolution(settlements, func(f *fixture, n storage.Name, holder storage.Reserve, by storage.Resolve) {
		mismatch := reserve(n)
		mismatch.Fingerprint = "fp-2"
		f.changesNothing(n, func() {
			for _, c := range []storage.Reserve{reserve(n), holder} { // also to the one whose attempt it was
				r := f.want(storage.OutcomeReplay, c).Record
				f.same("state, response and resource", []any{r.State, r.Response, r.ResourceID}, []any{by.To, by.Response, by.ResourceID})
			}
			f.want(storage.OutcomeFingerprintMismatch, mismatch)
		})
	})
}

func anOperatorsResponseCanBeUnavailable(_ *testing.T, f *fixture) {
	n := f.name()
	f.lapsed(n, storage.Hold)
	c := f.resolving(n, storage.Completed)
	c.Response.Body, c.Response.BodyDropped = nil, true
	f.want(storage.OutcomeResolved, c)
	r := f.want(storage.OutcomeResponseUnavailable, reserve(n)).Record
	f.same("the response", r.Response, c.Response)
}

func whatAnOperatorReleasedIsAcquiredAgain(_ *testing.T, f *fixture) {
	f.inEach(whenInProgress, func(f *fixture, n storage.Name, holder storage.Reserve) {
		f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Lease: brief, Checkpoint: progress(3, "three")})
		before := f.record(n)
		c := f.resolving(n, storage.Released)
		c.Force = true
		f.want(storage.OutcomeResolved, c)
		next := reserve(n)
		r := f.want(storage.OutcomeAcquired, next).Record
		f.same("attempt, takeover, token, checkpoint, reason and policy",
			[]any{r.Attempt, r.Takeover, r.Token, r.Checkpoint, r.LastError, r.OnLapse},
			[]any{2, false, next.Token, progress(3, "three"), c.By.Reason, storage.Retry})
		if r.Fence <= before.Fence {
			f.t.Errorf("the fence went from %d to %d", before.Fence, r.Fence)
		}
		f.want(storage.OutcomeSettled, complete(n, next.Token))
	})
}

// The holder's own reserve, repeated late, is over: it must not run what the operator gave to others.
func aStrayDuplicateOfWhatAnOperatorReleasedIsRefused(_ *testing.T, f *fixture) {
	f.inEachResolution([]storage.State{storage.Released}, func(f *fixture, n storage.Name, holder storage.Reserve, _ storage.Resolve) {
		stray := holder
		stray.Token = storage.NewToken()
		f.changesNothing(n, func() {
			f.want(storage.OutcomeLeaseLost, holder)
			f.want(storage.OutcomeLeaseLost, stray)
		})
		next := reserve(n)
		next.Lease = brief
		a := f.want(storage.OutcomeAcquired, next)
		f.same("the earlier attempts", a.Record.EarlierAttemptIDs, []string{holder.AttemptID})
		f.passes(a.Record.LeaseExpiresAt)
		f.changesNothing(n, func() { f.want(storage.OutcomeLeaseLost, stray) })
	})
}

func aResolvedRecordEndsAsAnyOther(_ *testing.T, f *fixture) {
	for _, to := range resolutions {
		n := f.name()
		holder := reserve(n)
		holder.Lease, holder.Retention, holder.OnLapse = brief, brief, storage.Hold
		f.passes(f.want(storage.OutcomeAcquired, holder).Record.LeaseExpiresAt)
		r := f.want(storage.OutcomeResolved, f.resolving(n, to)).Record
		f.passes(r.ExpiresAt)
		f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
		f.same("the attempt", f.want(storage.OutcomeAcquired, reserve(n)).Record.Attempt, 1)
	}
}
