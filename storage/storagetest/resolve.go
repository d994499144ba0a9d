package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures which records an operator can resolve, and what becomes of them.

var resolvePromises = []promise{
	anAbsentRecordCannotBeResolved,
	aRecordIsResolvedInTheVersionThatWasLookedAt,
	whatIsOverCannotBeResolved,
	aLiveLeaseIsResolvedByForceAlone,
	aLapsedRecordIsResolved,
	aResolutionWithoutAResponseHasNone,
	aResolutionKeepsWhatTheHolderNoted,
	aHeartbeatThatOnlyExtendsDoesNotStopAnOperator,
	aRepeatedResolutionIsAConflict,
	oneOfManyResolutionsWins,
	aResolutionAndACompletionNeverBothSucceed,
	aResolutionAndATakeoverNeverBothSucceed,
}

func anAbsentRecordCannotBeResolved(_ *testing.T, f *fixture) {
	never, ended := f.name(), f.name()
	_, old := f.expired(ended)
	for _, n := range []storage.Name{never, ended} {
		for _, to := range resolutions {
			f.want(storage.OutcomeNotFound, storage.Resolve{Name: n, To: to, Version: old.VersionText(), Force: true, By: operator()})
		}
		f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
	}
}

// Whatever the state, and with force too: the version says that the operator saw what is there.
func aRecordIsResolvedInTheVersionThatWasLookedAt(_ *testing.T, f *fixture) {
	f.inEach(whenever, func(f *fixture, n storage.Name, _ storage.Reserve) {
		stored := f.record(n)
		before := *stored
		before.Version--
		f.changesNothing(n, func() {
			for _, version := range []string{"", "1.1", before.VersionText(), stored.VersionText() + "0"} {
				for _, force := range []bool{false, true} {
					c := f.resolving(n, storage.Completed)
					c.Version, c.Force = version, force
					f.same("the record", f.want(storage.OutcomeVersionConflict, c).Record, stored)
				}
			}
		})
	})
}

func whatIsOverCannotBeResolved(_ *testing.T, f *fixture) {
	f.inEach(whenOver, func(f *fixture, n storage.Name, _ storage.Reserve) {
		stored := f.record(n)
		f.changesNothing(n, func() {
			for _, to := range resolutions {
				for _, force := range []bool{false, true} {
					c := f.resolving(n, to)
					c.Force = force
					f.same("the record", f.want(storage.OutcomeAlreadyCompleted, c).Record, stored)
				}
			}
		})
	})
}

func aLiveLeaseIsResolvedByForceAlone(_ *testing.T, f *fixture) {
	for _, policy := range []storage.OnLapse{storage.Retry, storage.Hold} {
		for _, to := range resolutions {
			n := f.name()
			holder := reserve(n)
			holder.OnLapse = policy
			f.want(storage.OutcomeAcquired, holder)
			c := f.resolving(n, to)
			stored := f.record(n)
			f.changesNothing(n, func() { f.same("the record", f.want(storage.OutcomeInProgress, c).Record, stored) })
			c.Force = true
			f.resolves(c)
		}
	}
}

func aLapsedRecordIsResolved(_ *testing.T, f *fixture) {
	for _, to := range resolutions {
		for _, force := range []bool{false, true} {
			f.inEach(whenLapsed, func(f *fixture, n storage.Name, _ storage.Reserve) {
				c := f.resolving(n, to)
				c.Force = force
				f.resolves(c)
			})
		}
	}
}

// resolves makes a resolution that has to succeed, and looks at the record that it leaves, to the last field.
func (f *fixture) resolves(c storage.Resolve) {
	f.t.Helper()
	before := f.record(c.Name)
	a := f.want(storage.OutcomeResolved, c)

	want := *before
	want.State, want.UpdatedAt = c.To, a.Now
	if c.To == storage.Released {
		want.LastError, want.Token = c.By.Reason, c.Token
	} else {
		want.SettledAt, want.Response, want.ResourceID, want.ResultHash = a.Now, c.Response, c.ResourceID, nil
	}
	want.ExpiresAt = a.Now.Add(before.Retention)
	want.SweepHour = storage.SweepHourOf(want.ExpiresAt)
	want.Revision, want.Version = a.Record.Revision, a.Record.Version
	f.same("the answer's record", a.Record, &want)
	f.same("the stored record", f.record(c.Name), &want)
	if a.Record.VersionText() == before.VersionText() {
		f.t.Errorf("the version is still %s", before.VersionText())
	}
}

func aResolutionWithoutAResponseHasNone(_ *testing.T, f *fixture) {
	f.inEach(whenLapsed, func(f *fixture, n storage.Name, _ storage.Reserve) {
		c := f.resolving(n, storage.Failed)
		c.Response, c.ResourceID = nil, ""
		f.resolves(c)
		f.same("the response of a replay", f.want(storage.OutcomeReplay, reserve(n)).Record.Response, (*storage.Response)(nil))
	})
}

func aResolutionKeepsWhatTheHolderNoted(_ *testing.T, f *fixture) {
	for _, to := range resolutions {
		n := f.name()
		f.released(n) // leaves a reason
		holder := reserve(n)
		holder.Lease, holder.Retention = brief, 3*long
		f.want(storage.OutcomeAcquired, holder)
		a := f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Hold: true, Checkpoint: progress(4, "half")})
		f.passes(a.Record.LeaseExpiresAt)
		f.resolves(f.resolving(n, to))
		r := f.record(n)
		f.same("checkpoint, policy, attempt and retention", []any{r.Checkpoint, r.OnLapse, r.Attempt, r.Retention},
			[]any{progress(4, "half"), storage.Hold, 2, 3 * long})
	}
}

// An operator who looks at a record that is being kept alive can act on it.
func aHeartbeatThatOnlyExtendsDoesNotStopAnOperator(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.live(n)
	c := f.resolving(n, storage.Released)
	c.Force = true
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Lease: 2 * long})
	f.want(storage.OutcomeResolved, c)
}

// It is not the version that was looked at any more; the record tells what became of it.
func aRepeatedResolutionIsAConflict(_ *testing.T, f *fixture) {
	f.inEachResolution(resolutions, func(f *fixture, n storage.Name, _ storage.Reserve, by storage.Resolve) {
		stored := f.record(n)
		f.changesNothing(n, func() { f.same("the record", f.want(storage.OutcomeVersionConflict, by).Record, stored) })
	})
}

func oneOfManyResolutionsWins(_ *testing.T, f *fixture) {
	for range races {
		n := f.name()
		f.lapsed(n, storage.Hold)
		before := f.record(n)
		calls := make([]storage.Call, 8)
		for i := range calls {
			calls[i] = f.resolving(n, resolutions[i%len(resolutions)])
		}
		answers := f.atOnce(calls...)
		if a, b := count(answers, storage.OutcomeResolved), count(answers, storage.OutcomeVersionConflict); a != 1 || b != len(calls)-1 {
			f.t.Fatalf("%d resolved and %d were in conflict", a, b)
		}
		r := f.record(n)
		for i, a := range answers {
			f.same("the record that everybody saw", a.Record, r)
			if a.Outcome == storage.OutcomeResolved {
				f.same("the state", r.State, calls[i].(storage.Resolve).To)
				f.wroteActs(n, actOf(calls[i], before, a))
			}
		}
	}
}

func aResolutionAndACompletionNeverBothSucceed(_ *testing.T, f *fixture) {
	for _, when := range whenInProgress {
		for range races {
			n := f.name()
			holder := when.make(f, n)
			before, c := f.record(n), f.resolving(n, storage.Failed)
			c.Force = true
			answers := f.atOnce(complete(n, holder.Token), c)
			done, resolved := answers[0].Outcome, answers[1].Outcome
			switch {
			case done == storage.OutcomeSettled && resolved == storage.OutcomeVersionConflict:
				f.same("the state", f.record(n).State, storage.Completed)
				f.wroteActs(n)
			case done == storage.OutcomeAlreadyCompleted && resolved == storage.OutcomeResolved:
				f.same("the state", f.record(n).State, storage.Failed)
				f.wroteActs(n, actOf(c, before, answers[1]))
			default:
				f.t.Fatalf("complete: %v; resolve: %v", done, resolved)
			}
		}
	}
}

func aResolutionAndATakeoverNeverBothSucceed(_ *testing.T, f *fixture) {
	for range races {
		n := f.name()
		f.lapsed(n, storage.Retry)
		before, c := f.record(n), f.resolving(n, storage.Completed)
		answers := f.atOnce(reserve(n), c)
		switch taken, resolved := answers[0].Outcome, answers[1].Outcome; {
		case taken == storage.OutcomeAcquired && resolved == storage.OutcomeVersionConflict:
			f.wroteActs(n)
		case taken == storage.OutcomeReplay && resolved == storage.OutcomeResolved:
			f.wroteActs(n, actOf(c, before, answers[1]))
		default:
			f.t.Fatalf("reserve: %v; resolve: %v", taken, resolved)
		}
	}
}
