package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that work which was not done can be given back, by its owner alone, for anybody to do it.

var releasePromises = []promise{
	theCurrentTokenReleases,
	theOwnerReleasesAlsoAfterTheLease,
	aReleaseCanForgetTheRequest,
	aForgottenRecordFitsAnyFingerprint,
	aRepeatedReleaseIsAnsweredAlike,
	aReleaseAfterAnotherAcquiredIsRefused,
	aSettledRecordCannotBeReleased,
	anAbsentRecordCannotBeReleased,
	eachReleaseLeavesItsOwnReason,
}

func theCurrentTokenReleases(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.live(n)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Checkpoint: progress(1, "begun")})
	before := f.record(n)
	a := f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: holder.Token, Reason: "no stock"})

	want := *before
	want.State, want.UpdatedAt, want.LastError = storage.Released, a.Now, "no stock"
	want.ExpiresAt = a.Now.Add(holder.Retention)
	want.SweepHour = storage.SweepHourOf(want.ExpiresAt)
	want.Revision, want.Version = a.Record.Revision, a.Record.Version
	f.same("the answer's record", a.Record, &want)
	f.same("the stored record", f.record(n), &want)
}

func theOwnerReleasesAlsoAfterTheLease(_ *testing.T, f *fixture) {
	f.inEach(whenLapsed, func(f *fixture, n storage.Name, holder storage.Reserve) {
		a := f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: holder.Token})
		f.same("the end of the record", a.Record.ExpiresAt, a.Now.Add(holder.Retention))
		f.want(storage.OutcomeAcquired, reserve(n))
	})
}

func aReleaseCanForgetTheRequest(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.live(n)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Checkpoint: progress(9, "begun")})
	f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: holder.Token, Forget: true})
	if r := f.record(n); r.Fingerprint != "" || r.Checkpoint != nil {
		f.t.Errorf("not forgotten: fingerprint %q, checkpoint %+v", r.Fingerprint, r.Checkpoint)
	}
}

// The next reserve binds its own; a checkpoint starts from nothing again.
func aForgottenRecordFitsAnyFingerprint(_ *testing.T, f *fixture) {
	n := f.name()
	first := f.live(n)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: first.Token, Checkpoint: progress(9, "begun")})
	f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: first.Token, Forget: true})
	f.want(storage.OutcomeFound, storage.Lookup{Name: n, Fingerprint: "whatever"})
	second := reserve(n)
	second.Fingerprint = "corrected"
	r := f.want(storage.OutcomeAcquired, second).Record
	if r.Fingerprint != "corrected" || r.Checkpoint != nil || r.Attempt != 2 {
		f.t.Errorf("acquired after a forget as %+v", r)
	}
	f.want(storage.OutcomeFingerprintMismatch, first)
	f.want(storage.OutcomeFingerprintMismatch, storage.Lookup{Name: n, Fingerprint: "whatever"})
	r = f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: second.Token, Checkpoint: progress(1, "anew")}).Record
	f.same("the checkpoint", r.Checkpoint, progress(1, "anew"))
}

func aRepeatedReleaseIsAnsweredAlike(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.released(n)
	stored := f.record(n)
	f.changesNothing(n, func() {
		for _, forget := range []bool{false, true} {
			again := storage.Release{Name: n, Token: holder.Token, Reason: "another", Forget: forget}
			f.same("the record of the repeat", f.want(storage.OutcomeReleased, again).Record, stored)
		}
	})
}

func aReleaseAfterAnotherAcquiredIsRefused(_ *testing.T, f *fixture) {
	n := f.name()
	old := f.released(n)
	f.live(n)
	f.changesNothing(n, func() { f.want(storage.OutcomeLeaseLost, storage.Release{Name: n, Token: old.Token}) })
}

func aSettledRecordCannotBeReleased(_ *testing.T, f *fixture) {
	f.inEach(whenSettled, func(f *fixture, n storage.Name, holder storage.Reserve) {
		stored := f.record(n)
		f.changesNothing(n, func() {
			c := storage.Release{Name: n, Token: holder.Token, Forget: true}
			f.same("the record", f.want(storage.OutcomeAlreadyCompleted, c).Record, stored)
		})
	})
}

func anAbsentRecordCannotBeReleased(_ *testing.T, f *fixture) {
	n := f.name()
	f.want(storage.OutcomeLeaseLost, storage.Release{Name: n, Token: storage.NewToken(), Forget: true})
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
}

func eachReleaseLeavesItsOwnReason(_ *testing.T, f *fixture) {
	n := f.name()
	f.released(n)
	second := f.live(n)
	r := f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: second.Token}).Record
	f.same("the reason of a release without one", r.LastError, "")
}
