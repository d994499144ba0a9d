package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that a list gives what was asked for: all of it, and nothing else.

var filterPromises = []promise{
	aListFitsEveryFilter,
	anEmptySubjectIsNotAnySubject,
	aKeyPrefixIsTakenByItsLetters,
	aRangeOfCreationHasItsFirstInstantAndNotItsLast,
	aDerivedStateIsThatOfThePagesClock,
}

// fits says what a query means.
func fits(q storage.ListQuery, r *storage.Record, now time.Time) bool {
	return r.Tenant == q.Tenant && (q.Operation == "" || r.Operation == q.Operation) && (q.Subject == nil || r.Subject == *q.Subject) &&
		(q.Key == "" || r.Key == q.Key) && strings.HasPrefix(r.Key, q.KeyPrefix) && (q.State == 0 || r.StateAt(now) == q.State) &&
		(q.CreatedFrom.IsZero() || !r.CreatedAt.Before(q.CreatedFrom)) && (q.CreatedBefore.IsZero() || r.CreatedAt.Before(q.CreatedBefore))
}

// finds asserts that a list is all that fits of some records, and that none else does.
func (f *fixture) finds(q storage.ListQuery, among []*storage.Record) {
	f.t.Helper()
	var got []*storage.Record
	var now time.Time
	for _, p := range f.pages(q, func() {}) {
		got, now = append(got, p.Records...), p.Now
	}
	want := inOrder(slices.DeleteFunc(slices.Clone(among), func(r *storage.Record) bool { return !fits(q, r, now) }))
	f.same(fmt.Sprintf("the list of %+v", q), namesIn(got), want)
}

// population makes records of one tenant in every state, with names that are easily taken for one another.
func (f *fixture) population() (records []*storage.Record) {
	f.t.Helper()
	tenant := f.name().Tenant
	for i, when := range []condition{whenUncertain, whenLive, whenCompleted, whenAbandoned, whenFailed, whenReleased} {
		for _, operation := range []string{"a/b", "a%2Fb"} {
			for _, subject := range []string{"", "s"} {
				for _, key := range []string{"k", "k%", "K"} {
					n := storage.Name{Tenant: tenant, Operation: operation, Subject: subject, Key: fmt.Sprint(key, (i+len(operation))%6)}
					when.make(f, n)
					records = append(records, f.record(n))
				}
			}
		}
	}
	return records
}

// In every combination with the others.
func aListFitsEveryFilter(_ *testing.T, f *fixture) {
	all := f.population()
	none, some := "", "s"
	middle, end := all[len(all)/2].CreatedAt, all[len(all)-3].CreatedAt
	for state := range storage.Uncertain + 1 {
		for _, operation := range []string{"", "a/b"} {
			for _, subject := range []*string{nil, &none, &some} {
				for _, key := range [][2]string{{}, {"k3", ""}, {"", "k%"}} {
					q := storage.ListQuery{Tenant: all[0].Tenant, State: state, Operation: operation, Subject: subject, Key: key[0], KeyPrefix: key[1], Limit: 9}
					f.finds(q, all)
					q.CreatedFrom, q.CreatedBefore = middle, end
					f.finds(q, all)
				}
			}
		}
	}
}

func anEmptySubjectIsNotAnySubject(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	var all []*storage.Record
	for _, subject := range []string{"", " ", "s", "S", "ы", "s%"} {
		all = append(all, f.born(storage.Name{Tenant: tenant, Operation: "o", Subject: subject, Key: "k"})...)
	}
	f.finds(storage.ListQuery{Tenant: tenant, Limit: 10}, all)
	for _, subject := range []string{"", " ", "s", "S", "ы", "%", "_", "s%", "nobody"} {
		f.finds(storage.ListQuery{Tenant: tenant, Subject: &subject, Limit: 10}, all)
	}
}

// Nothing in it is a pattern, and nothing is folded or normalised.
func aKeyPrefixIsTakenByItsLetters(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	var names []storage.Name
	keys := []string{"100", "100%", "100%off", "1000", "1_0", "1x0", "_", "%", "%%", `\`, `\%`, `a\`, "ы", "ыы", "ыa", "ъ", "é", "e\u0301", "\U0001F511", "\U0001F512x",
		"K", "k", "'", "''; --", "*", "[a]", "?", "k\u00a0"}
	for _, key := range keys {
		names = append(names, storage.Name{Tenant: tenant, Operation: "o", Key: key})
	}
	all := f.born(names...)
	for _, key := range append(keys, "1", "10", "e", "a", "[", "\U0001F511\U0001F511", "ыыы", strings.Repeat("1", 255)) {
		f.finds(storage.ListQuery{Tenant: tenant, KeyPrefix: key, Limit: 10}, all)
		f.finds(storage.ListQuery{Tenant: tenant, Key: key, Limit: 10}, all)
	}
}

func aRangeOfCreationHasItsFirstInstantAndNotItsLast(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	var all []*storage.Record
	bounds := []time.Time{{}}
	for range 3 {
		group := f.born(f.namesOf(tenant, 2)...)
		at := group[0].CreatedAt
		all, bounds = append(all, group...), append(bounds, at.Add(-micro), at, at.Add(micro))
	}
	for _, from := range bounds {
		for _, before := range bounds {
			f.finds(storage.ListQuery{Tenant: tenant, CreatedFrom: from, CreatedBefore: before, Limit: 3}, all)
		}
	}
}

// Whatever the clock says while the lease runs out: a page is in itself true.
func aDerivedStateIsThatOfThePagesClock(_ *testing.T, f *fixture) {
	for _, policy := range []storage.OnLapse{storage.Retry, storage.Hold} {
		n := f.name()
		c := reserve(n)
		c.Lease, c.OnLapse = 10*brief, policy
		end := f.want(storage.OutcomeAcquired, c).Record.LeaseExpiresAt
		f.endsSoon(end)
		for over := false; !over; {
			for _, state := range []storage.State{0, storage.InProgress, storage.Abandoned, storage.Uncertain} {
				p := f.list(storage.ListQuery{Tenant: n.Tenant, State: state, Limit: 1})
				over = !p.Now.Before(end)
				if r := f.record(n); len(p.Records) == 1 != fits(storage.ListQuery{Tenant: n.Tenant, State: state}, r, p.Now) {
					f.t.Fatalf("%d records at %v for %v; the lease ends at %v", len(p.Records), p.Now, state, end)
				}
			}
		}
	}
}
