package storagetest

import (
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that what is counted is there.

var statsPromises = []promise{
	aTenantWithoutRecordsHasNoCounts,
	statsCountEveryState,
	statsCountOneOperation,
	statsOmitWhatHasEnded,
	statsOmitOtherTenants,
	theOldestIsFirstByCreation,
}

// stats asks for the counts of a tenant who has few records, which are exact then.
func (f *fixture) stats(tenant, operation string) map[storage.State]storage.Count {
	f.t.Helper()
	s, err := f.store.Stats(f.ctx(), tenant, operation)
	if err != nil {
		f.t.Fatalf("counting: %v", err)
	}
	if s.Now.IsZero() || s.Now.Location() != time.UTC || s.Now.Nanosecond()%int(micro) != 0 {
		f.t.Fatalf("the store's clock says %v: not UTC in whole microseconds", s.Now)
	}
	for state, c := range s.States {
		if c.AtLeast || c.N == 0 || !state.IsOpen() && c.Oldest != nil {
			f.t.Errorf("%v: %+v", state, c)
		}
	}
	return s.States
}

// counted gives what stats must say of some records.
func counted(records []*storage.Record, now time.Time, operation string) map[storage.State]storage.Count {
	counts := map[storage.State]storage.Count{}
	for _, r := range records {
		if operation != "" && r.Operation != operation {
			continue
		}
		state := r.StateAt(now)
		c := counts[state]
		c.N++
		if state.IsOpen() && (c.Oldest == nil || r.CreatedAt.Before(c.Oldest.CreatedAt)) {
			c.Oldest = &storage.Record{Name: r.Name, CreatedAt: r.CreatedAt, LeaseExpiresAt: r.LeaseExpiresAt}
		}
		counts[state] = c
	}
	return counts
}

func aTenantWithoutRecordsHasNoCounts(_ *testing.T, f *fixture) {
	f.same("the number of states", len(f.stats(f.name().Tenant, "")), 0)
}

func statsCountEveryState(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	var all []*storage.Record
	for i, when := range []condition{whenAbandoned, whenLive, whenCompleted, whenUncertain, whenFailed, whenReleased} {
		for _, n := range f.namesOf(tenant, i+1) {
			when.make(f, n)
			all = append(all, f.record(n))
		}
	}
	now := f.list(storage.ListQuery{Tenant: tenant, Limit: 1}).Now
	f.same("the counts", f.stats(tenant, ""), counted(all, now, ""))
}

func statsCountOneOperation(_ *testing.T, f *fixture) {
	all := f.population()
	now := f.list(storage.ListQuery{Tenant: all[0].Tenant, Limit: 1}).Now
	for _, operation := range []string{"", "a/b", "a%2Fb", "a%", "A/b"} {
		f.same("the counts of "+operation, f.stats(all[0].Tenant, operation), counted(all, now, operation))
	}
}

func statsOmitWhatHasEnded(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	names := f.namesOf(tenant, 4)
	abandoned := reserve(names[0])
	abandoned.Lease, abandoned.Retention = brief, brief
	f.passes(f.want(storage.OutcomeAcquired, abandoned).Record.ExpiresAt)
	f.expired(names[1])
	f.settled(names[2], storage.Completed)
	f.want(storage.OutcomeExpired, f.expiring(names[2]))
	f.released(names[3])
	f.want(storage.OutcomeExpired, f.expiring(names[3]))
	f.same("the number of states", len(f.stats(tenant, "")), 0)
}

func statsOmitOtherTenants(_ *testing.T, f *fixture) {
	one := f.name()
	other := one
	other.Tenant = one.Tenant + " "
	f.live(one)
	f.settled(other, storage.Failed)
	f.same("the count of the one's", f.stats(one.Tenant, "")[storage.InProgress].N, 1)
	f.same("the number of the one's states", len(f.stats(one.Tenant, one.Operation)), 1)
	f.same("the count of the other's", f.stats(other.Tenant, one.Operation)[storage.Failed].N, 1)
}

// Not by its latest acquisition, and not by its name.
func theOldestIsFirstByCreation(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	first, second := f.namesOf(tenant, 1)[0], f.namesOf(tenant, 1)[0]
	first.Key, second.Key = "z", "a"
	c := f.live(first)
	f.live(second)
	f.want(storage.OutcomeReleased, storage.Release{Name: first, Token: c.Token})
	f.same("the oldest while the first is released", f.stats(tenant, "")[storage.InProgress].Oldest.Name, second)
	f.live(first)
	r := f.record(first)
	f.same("the oldest", f.stats(tenant, "")[storage.InProgress].Oldest,
		&storage.Record{Name: first, CreatedAt: r.CreatedAt, LeaseExpiresAt: r.LeaseExpiresAt})
}
