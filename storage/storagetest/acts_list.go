package storagetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures how the audit log is read.

// acted lets an operator act once on each of some names of one tenant, in groups, and gives the acts: the newest first.
func (f *fixture) acted(groups ...[]storage.Name) []storage.Act {
	f.t.Helper()
	var acts []storage.Act
	for _, names := range groups {
		var calls []storage.Call
		before := make([]*storage.Record, len(names))
		for i, n := range names {
			f.live(n)
			c := f.resolving(n, storage.Released)
			c.Force = true
			before[i], calls = f.record(n), append(calls, c)
		}
		answers := f.apply(calls...)
		f.same("the acts done", count(answers, storage.OutcomeResolved), len(names))
		for i, a := range answers {
			acts = append(acts, actOf(calls[i], before[i], a))
		}
		f.passes(answers[0].Now.Add(micro))
	}
	slices.SortFunc(acts, newestAct)
	return acts
}

func newestAct(a, b storage.Act) int {
	if c := b.At.Compare(a.At); c != 0 {
		return c
	}
	return strings.Compare(b.ActID, a.ActID)
}

// namesOf gives names of one tenant.
func (f *fixture) namesOf(tenant string, n int) []storage.Name {
	names := make([]storage.Name, n)
	for i := range names {
		names[i] = f.name()
		names[i].Tenant = tenant
	}
	return names
}

func actsAreNewestFirst(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	want := f.acted(f.namesOf(tenant, 1), f.namesOf(tenant, 4), f.namesOf(tenant, 1))
	f.same("the acts", f.acts(storage.ActQuery{Tenant: tenant, Limit: 100}), want)
	f.same("the newest", f.acts(storage.ActQuery{Tenant: tenant, Limit: 2}), want[:2])
}

// Also those of one instant, which only their ids tell apart.
func everyActIsOnOnePage(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	want := f.acted(f.namesOf(tenant, 2), f.namesOf(tenant, 9), f.namesOf(tenant, 3))
	for _, limit := range []int{1, 2, 7, len(want)} {
		var got []storage.Act
		q := storage.ActQuery{Tenant: tenant, Limit: limit}
		for {
			page := f.acts(q)
			if len(page) == 0 || len(got) > len(want) {
				break
			}
			got = append(got, page...)
			last := page[len(page)-1]
			q.After = &storage.ActPosition{At: last.At, ActID: last.ActID}
		}
		f.same("all pages together", got, want)
	}
}

func actsAreFoundByName(_ *testing.T, f *fixture) {
	var names []storage.Name
	tenant := f.name().Tenant
	for _, operation := range []string{"a/b", "A/b"} {
		for _, subject := range []string{"", "s", "S"} {
			for _, key := range []string{"k", "k%"} {
				names = append(names, storage.Name{Tenant: tenant, Operation: operation, Subject: subject, Key: key})
			}
		}
	}
	all := f.acted(names[:5], names[5:])
	none, some := "", "s"
	for _, operation := range []string{"", "a/b", "A/b", "a"} {
		for _, subject := range []*string{nil, &none, &some} {
			for _, key := range []string{"", "k", "k%", "%"} {
				want := slices.DeleteFunc(slices.Clone(all), func(a storage.Act) bool {
					return operation != "" && a.Operation != operation || subject != nil && a.Subject != *subject || key != "" && a.Key != key
				})
				got := f.acts(storage.ActQuery{Tenant: tenant, Operation: operation, Subject: subject, Key: key, Limit: 100})
				if len(got)+len(want) > 0 {
					f.same("the acts found", got, want)
				}
			}
		}
	}
}

func actsOfAnotherTenantAreNeverShown(_ *testing.T, f *fixture) {
	one := f.name()
	other := one // the same but for the tenant
	other.Tenant = strings.ToUpper(one.Tenant)
	mine, theirs := f.acted([]storage.Name{one}), f.acted([]storage.Name{other})
	f.same("the one's acts", f.acts(storage.ActQuery{Tenant: one.Tenant, Limit: 10}), mine)
	f.same("the other's acts", f.acts(storage.ActQuery{Tenant: other.Tenant, Limit: 10}), theirs)
	after := &storage.ActPosition{At: theirs[0].At, ActID: theirs[0].ActID}
	f.same("the one's acts before the other's", f.acts(storage.ActQuery{Tenant: one.Tenant, Limit: 10, After: after}), mine)
	for _, tenant := range []string{one.Tenant[:5], one.Tenant + " ", "", "%"} {
		f.same("the acts of a tenant who has none", len(f.acts(storage.ActQuery{Tenant: tenant, Limit: 10})), 0)
	}
}
