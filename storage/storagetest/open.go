package storagetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that keys which stay open are known: how many, and since when.

var openPromises = []rowPromise{
	noKeysAreOpenInAnEmptyTable,
	keysInProgressForAMinuteAreOpen,
	keysOfAllTenantsAreOpen,
	theAcquisitionCountsAndNotTheCreation,
	whatIsOverIsNotOpen,
	theOldestInProgressIsFirstByCreation,
}

// track brings the list of open keys up to date.
func (f *rowFixture) track(limit int) {
	f.t.Helper()
	if err := f.store.TrackOpen(f.ctx(), limit); err != nil {
		f.t.Fatalf("tracking open keys: %v", err)
	}
}

// openAre asserts how many keys are open in each state.
func (f *rowFixture) openAre(want map[storage.State]int) storage.OpenKeys {
	f.t.Helper()
	open, err := f.store.OpenKeys(f.ctx())
	if err != nil {
		f.t.Fatalf("counting open keys: %v", err)
	}
	if open.Now.IsZero() || open.Now.Location() != time.UTC || open.Now.Nanosecond()%int(micro) != 0 {
		f.t.Fatalf("the store's clock says %v: not UTC in whole microseconds", open.Now)
	}
	got := map[storage.State]int{}
	for state, c := range open.Counts {
		if c.AtLeast || c.Oldest != nil || c.N == 0 {
			f.t.Errorf("%v: %+v", state, c)
		}
		got[state] = c.N
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Fatalf("the open keys are not what they must be (-want +got):\n%s", diff)
	}
	if open.Oldest.IsZero() != (got[storage.InProgress] == 0) {
		f.t.Errorf("%d keys are in progress, the oldest since %v", got[storage.InProgress], open.Oldest)
	}
	return open
}

// ago is an instant before another one.
func ago(now time.Time, d time.Duration) time.Time { return now.Add(-d) }

// liveSince is a row that was acquired at an instant, and whose holder has kept it alive.
func liveSince(n storage.Name, at, now time.Time) *storage.Record {
	return leasedUntil(acquiredAt(n, at), now.Add(time.Hour))
}

func noKeysAreOpenInAnEmptyTable(_ *testing.T, f *rowFixture) {
	f.openAre(map[storage.State]int{})
	f.track(10)
	f.openAre(map[storage.State]int{})
}

func keysInProgressForAMinuteAreOpen(_ *testing.T, f *rowFixture) {
	now := f.now()
	hour := time.Hour
	f.insert(
		liveSince(f.name(), ago(now, 5*time.Minute), now), liveSince(f.name(), ago(now, 61*time.Second), now), liveSince(f.name(), ago(now, 30*hour), now),
		acquiredAt(f.name(), ago(now, 61*time.Second)), acquiredAt(f.name(), ago(now, 20*hour)),
		heldAt(f.name(), ago(now, 1000*hour)),
		acquiredAt(f.name(), ago(now, 30*hour)), // abandoned, and over
		liveSince(f.name(), now, now),           // not for long enough
		liveSince(f.name(), ago(now, hour/3600), now),
		overAt(f.name(), ago(now, 10*time.Minute), storage.Completed), overAt(f.name(), ago(now, 10*time.Minute), storage.Failed),
		overAt(f.name(), ago(now, 10*time.Minute), storage.Released),
	)
	f.track(1000)
	open := f.openAre(map[storage.State]int{storage.InProgress: 3, storage.Abandoned: 2, storage.Uncertain: 1})
	f.same("the oldest in progress", open.Oldest, ago(now, 30*hour))
}

func keysOfAllTenantsAreOpen(_ *testing.T, f *rowFixture) {
	now := f.now()
	one := f.name()
	other := one
	other.Tenant = "another"
	f.insert(acquiredAt(one, ago(now, time.Hour)), acquiredAt(other, ago(now, time.Hour)))
	f.track(1000)
	f.openAre(map[storage.State]int{storage.Abandoned: 2})
	for _, n := range []storage.Name{one, other} {
		f.same("the list of one tenant", namesIn(f.list(storage.ListQuery{Tenant: n.Tenant, State: storage.Abandoned, Limit: 10}).Records), []storage.Name{n})
	}
}

// A key that was made long ago, given back, and acquired again.
func theAcquisitionCountsAndNotTheCreation(_ *testing.T, f *rowFixture) {
	now := f.now()
	again, lately := liveSince(f.name(), ago(now, 2*time.Minute), now), liveSince(f.name(), ago(now, time.Second), now)
	for _, r := range []*storage.Record{again, lately} {
		r.CreatedAt, r.Attempt, r.Revision, r.Version = ago(now, 50*time.Hour), 2, 3, 3
	}
	f.insert(again, lately)
	f.track(1000)
	open := f.openAre(map[storage.State]int{storage.InProgress: 1})
	f.same("the oldest in progress", open.Oldest, again.CreatedAt)
}

// As soon as it is over, and also once it was noted.
func whatIsOverIsNotOpen(_ *testing.T, f *rowFixture) {
	now := f.now()
	settled, released, resolved, deleted := heldAt(f.name(), ago(now, time.Hour)), heldAt(f.name(), ago(now, time.Hour)),
		heldAt(f.name(), ago(now, time.Hour)), acquiredAt(f.name(), ago(now, 40*time.Hour))
	f.insert(settled, released, resolved, deleted)
	f.track(1000)
	f.openAre(map[storage.State]int{storage.Uncertain: 3})
	f.want(storage.OutcomeSettled, complete(settled.Name, settled.Token))
	f.openAre(map[storage.State]int{storage.Uncertain: 2})
	f.want(storage.OutcomeReleased, storage.Release{Name: released.Name, Token: released.Token})
	f.want(storage.OutcomeResolved, f.resolving(resolved.Name, storage.Failed))
	f.same("deletions", f.deletes(candidate(deleted, now)), 1)
	for range 2 {
		f.openAre(map[storage.State]int{})
		f.track(1000)
	}
}

func theOldestInProgressIsFirstByCreation(_ *testing.T, f *rowFixture) {
	now := f.now()
	f.insert(liveSince(f.name(), ago(now, 3*time.Hour), now), liveSince(f.name(), ago(now, 5*time.Hour), now), liveSince(f.name(), ago(now, 4*time.Hour), now),
		acquiredAt(f.name(), ago(now, 9*time.Hour)), heldAt(f.name(), ago(now, 99*time.Hour))) // those are not in progress any more
	f.track(1000)
	open := f.openAre(map[storage.State]int{storage.InProgress: 3, storage.Abandoned: 1, storage.Uncertain: 1})
	f.same("the oldest in progress", open.Oldest, ago(now, 5*time.Hour))
}
