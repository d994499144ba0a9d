package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that an operator can end what is settled or released before its time, and nothing else.

var expirePromises = []promise{
	anAbsentRecordCannotBeExpired,
	aRecordIsExpiredInTheVersionThatWasLookedAt,
	whatIsInProgressCannotBeExpired,
	whatIsOverIsAbsentOnceExpired,
	anExpiredNameBelongsToNobody,
	anExpiredNameIsAcquiredAnew,
	anOperatorsEndDoesNotHastenTheSweep,
	aVersionNeverComesBackAfterAnOperatorsEnd,
	oneOfManyExpirationsWins,
	aGroupEndsARecordAndBeginsAnother,
}

func anAbsentRecordCannotBeExpired(_ *testing.T, f *fixture) {
	never, ended := f.name(), f.name()
	_, old := f.expired(ended)
	for _, n := range []storage.Name{never, ended} {
		f.want(storage.OutcomeNotFound, storage.Expire{Name: n, Version: old.VersionText(), By: operator()})
		f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
	}
}

func aRecordIsExpiredInTheVersionThatWasLookedAt(_ *testing.T, f *fixture) {
	f.inEach(whenever, func(f *fixture, n storage.Name, _ storage.Reserve) {
		stored := f.record(n)
		before := *stored
		before.Version--
		f.changesNothing(n, func() {
			for _, version := range []string{"", "1.1", before.VersionText(), stored.VersionText() + "0"} {
				c := storage.Expire{Name: n, Version: version, By: operator()}
				f.same("the record", f.want(storage.OutcomeVersionConflict, c).Record, stored)
			}
		})
	})
}

// It is to be resolved first: what may have happened is not to be forgotten unseen.
func whatIsInProgressCannotBeExpired(_ *testing.T, f *fixture) {
	f.inEach(whenInProgress, func(f *fixture, n storage.Name, _ storage.Reserve) {
		stored := f.record(n)
		f.changesNothing(n, func() { f.same("the record", f.want(storage.OutcomeInProgress, f.expiring(n)).Record, stored) })
	})
}

func whatIsOverIsAbsentOnceExpired(_ *testing.T, f *fixture) {
	f.inEach(whenOver, func(f *fixture, n storage.Name, _ storage.Reserve) {
		before, c := f.record(n), f.expiring(n)
		a := f.want(storage.OutcomeExpired, c)
		want := *before
		want.UpdatedAt, want.ExpiresAt = a.Now, a.Now
		want.Revision, want.Version = a.Record.Revision, a.Record.Version
		f.same("the record that was ended", a.Record, &want)
		if a.Record.VersionText() == before.VersionText() {
			f.t.Errorf("the version is still %s", before.VersionText())
		}
		f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
		f.want(storage.OutcomeNotFound, c)
		f.want(storage.OutcomeNotFound, storage.Resolve{Name: n, To: storage.Completed, Version: a.Record.VersionText(), Force: true, By: operator()})
	})
}

func anExpiredNameBelongsToNobody(_ *testing.T, f *fixture) {
	f.inEach(whenOver, func(f *fixture, n storage.Name, holder storage.Reserve) {
		f.want(storage.OutcomeExpired, f.expiring(n))
		f.want(storage.OutcomeLeaseLost, complete(n, holder.Token))
		f.want(storage.OutcomeLeaseLost, storage.Release{Name: n, Token: holder.Token})
		f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: n, Token: holder.Token})
		f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
	})
}

// The next request inherits nothing but that its fence is higher; it may be another one.
func anExpiredNameIsAcquiredAnew(_ *testing.T, f *fixture) {
	f.inEach(whenOver, func(f *fixture, n storage.Name, _ storage.Reserve) {
		old := f.want(storage.OutcomeExpired, f.expiring(n)).Record
		c := reserve(n)
		c.Fingerprint = "fp-2"
		a := f.want(storage.OutcomeAcquired, c)
		want := storage.Record{Name: n, State: storage.InProgress, Attempt: 1, Fence: a.Record.Fence, Token: c.Token, Holder: c.Holder,
			AttemptID: c.AttemptID, Fingerprint: "fp-2", Lease: c.Lease, Retention: c.Retention, CreatedAt: a.Now, UpdatedAt: a.Now,
			LeaseExpiresAt: a.Now.Add(c.Lease), ExpiresAt: a.Now.Add(c.Lease + c.Retention), Revision: a.Record.Revision, Version: a.Record.Version}
		want.SweepHour = storage.SweepHourOf(want.ExpiresAt)
		f.same("the stored record", f.record(n), &want)
		if a.Record.Fence <= old.Fence {
			f.t.Errorf("the fence went from %d to %d", old.Fence, a.Record.Fence)
		}
	})
}

// The row keeps the fence until the time that the record itself was promised to last.
func anOperatorsEndDoesNotHastenTheSweep(_ *testing.T, f *fixture) {
	f.inEach(whenOver, func(f *fixture, n storage.Name, _ storage.Reserve) {
		before := f.record(n)
		r := f.want(storage.OutcomeExpired, f.expiring(n)).Record
		if at := storage.Deletable(r.ExpiresAt, r.SweepHour); at.Before(before.ExpiresAt) {
			f.t.Errorf("the row may be deleted at %v; the record was to last until %v", at, before.ExpiresAt)
		}
	})
}

func aVersionNeverComesBackAfterAnOperatorsEnd(_ *testing.T, f *fixture) {
	n := f.name()
	seen := map[string]bool{}
	note := func(a storage.Answer) {
		f.t.Helper()
		v := a.Record.VersionText()
		if seen[v] {
			f.t.Fatalf("version %s came back", v)
		}
		seen[v] = true
	}
	for range 10 {
		c := reserve(n)
		note(f.want(storage.OutcomeAcquired, c))
		resolve := f.resolving(n, storage.Released)
		resolve.Force = true
		note(f.want(storage.OutcomeResolved, resolve))
		note(f.want(storage.OutcomeExpired, f.expiring(n)))
	}
}

// The others find nothing; or the version after it, if they looked at the clock before it was done and at the record after.
func oneOfManyExpirationsWins(_ *testing.T, f *fixture) {
	for range races {
		n := f.name()
		f.settled(n, storage.Completed)
		before := f.record(n)
		calls := make([]storage.Call, 8)
		for i := range calls {
			calls[i] = f.expiring(n)
		}
		answers := f.atOnce(calls...)
		refused := count(answers, storage.OutcomeNotFound) + count(answers, storage.OutcomeVersionConflict)
		if done := count(answers, storage.OutcomeExpired); done != 1 || refused != len(calls)-1 {
			f.t.Fatalf("%d expired and %d were refused", done, refused)
		}
		for i, a := range answers {
			if a.Outcome == storage.OutcomeExpired {
				f.wroteActs(n, actOf(calls[i], before, a))
			}
		}
	}
}

func aGroupEndsARecordAndBeginsAnother(_ *testing.T, f *fixture) {
	n := f.name()
	f.settled(n, storage.Failed)
	old, next := f.record(n), reserve(n)
	for i, a := range f.apply(f.expiring(n), storage.Lookup{Name: n}, next, storage.Lookup{Name: n}) {
		want := []storage.Outcome{storage.OutcomeExpired, storage.OutcomeNotFound, storage.OutcomeAcquired, storage.OutcomeFound}[i]
		if a.Err != nil || a.Outcome != want {
			f.t.Errorf("call %d: got %v, %v; want %v", i, a.Outcome, a.Err, want)
		}
	}
	r := f.record(n)
	f.same("attempt and token", []any{r.Attempt, r.Token}, []any{1, next.Token})
	if r.Fence <= old.Fence {
		f.t.Errorf("the fence went from %d to %d", old.Fence, r.Fence)
	}
}
