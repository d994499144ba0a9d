package storagetest

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that a list shows each record once, in its order, as it is.

var listPromises = []promise{
	anEmptyListHasAClock,
	aListIsNewestFirst,
	everyRecordIsOnOnePage,
	aCrowdOfOneInstantIsListedOnceEach,
	aListShowsWhatALookupDoesButTheBody,
	insertsMeanwhileNeitherRepeatNorLoseARecord,
	changesMeanwhileNeitherRepeatNorLoseARecord,
	whatHasEndedIsNotListed,
	recordsOfAnotherTenantAreNeverListed,
}

// list asks for a page, and looks at what holds for every page.
func (f *fixture) list(q storage.ListQuery) storage.Page {
	f.t.Helper()
	p, err := f.store.List(f.ctx(), q)
	switch {
	case err != nil:
		f.t.Fatalf("listing %+v: %v", q, err)
	case len(p.Records) > q.Limit:
		f.t.Fatalf("got %d records, with a limit of %d", len(p.Records), q.Limit)
	case p.Now.IsZero() || p.Now.Location() != time.UTC || p.Now.Nanosecond()%int(micro) != 0:
		f.t.Fatalf("the store's clock says %v: not UTC in whole microseconds", p.Now)
	}
	for _, r := range p.Records {
		if r.Tenant != q.Tenant {
			f.t.Fatalf("%v in a list of %q", r.Name, q.Tenant)
		}
		if r.Response != nil && r.Response.Body != nil {
			f.t.Fatalf("%v comes with the body of its response", r.Name)
		}
	}
	return p
}

// pages goes from page to page, and gives what each has; between runs after each of them. No position may be met twice.
func (f *fixture) pages(q storage.ListQuery, between func()) []storage.Page {
	f.t.Helper()
	var pages []storage.Page
	last := q.After
	for {
		p := f.list(q)
		pages = append(pages, p)
		for _, r := range p.Records {
			at := storage.PositionOf(r)
			if last != nil && newestPosition(*last, at) >= 0 {
				f.t.Fatalf("%+v comes after %+v", at, *last)
			}
			last = &at
		}
		if p.Next == nil {
			return pages
		}
		if q.After != nil && newestPosition(*q.After, *p.Next) > 0 || q.After != nil && *q.After == *p.Next {
			f.t.Fatalf("the list does not get on: from %+v to %+v", *q.After, *p.Next)
		}
		q.After = p.Next
		between()
	}
}

// listed gives all that fits.
func (f *fixture) listed(q storage.ListQuery) (records []*storage.Record) {
	f.t.Helper()
	for _, p := range f.pages(q, func() {}) {
		records = append(records, p.Records...)
	}
	return records
}

// newestPosition orders positions as a list does.
func newestPosition(a, b storage.Position) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.Operation, a.Operation), strings.Compare(b.Subject, a.Subject),
		strings.Compare(b.Key, a.Key))
}

// inOrder gives names as a list must.
func inOrder(records []*storage.Record) (names []storage.Name) {
	records = slices.SortedFunc(slices.Values(records), func(a, b *storage.Record) int {
		return newestPosition(storage.PositionOf(a), storage.PositionOf(b))
	})
	return namesIn(records)
}

func namesIn(records []*storage.Record) []storage.Name {
	names := make([]storage.Name, len(records))
	for i, r := range records {
		names[i] = r.Name
	}
	return names
}

// born reserves names in one group, so that their records have one instant of creation, and gives the records.
func (f *fixture) born(names ...storage.Name) []*storage.Record {
	f.t.Helper()
	calls, records := make([]storage.Call, len(names)), make([]*storage.Record, len(names))
	for i, n := range names {
		calls[i] = reserve(n)
	}
	for i, a := range f.apply(calls...) {
		if a.Err != nil || a.Outcome != storage.OutcomeAcquired || !a.Record.CreatedAt.Equal(a.Now) {
			f.t.Fatalf("reserve: %v, %v", a.Outcome, a.Err)
		}
		records[i] = a.Record
	}
	f.passes(records[0].CreatedAt.Add(micro))
	return records
}

func anEmptyListHasAClock(_ *testing.T, f *fixture) {
	for state := range storage.Uncertain + 1 {
		p := f.list(storage.ListQuery{Tenant: f.name().Tenant, State: state, Limit: 10})
		if len(p.Records) != 0 || p.Next != nil {
			f.t.Errorf("a tenant without records has %v, and more at %v", p.Records, p.Next)
		}
	}
}

func aListIsNewestFirst(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	var all []*storage.Record
	for _, part := range []string{"b", "a", "B", "ы", "ab"} { // none of the orders of their births is that of their names
		all = append(all, f.born(storage.Name{Tenant: tenant, Operation: part, Subject: "x", Key: "y"},
			storage.Name{Tenant: tenant, Operation: "o", Subject: part, Key: "y"},
			storage.Name{Tenant: tenant, Operation: "o", Subject: "x", Key: part})...)
	}
	f.same("the list", namesIn(f.list(storage.ListQuery{Tenant: tenant, Limit: 100}).Records), inOrder(all))
	first := f.list(storage.ListQuery{Tenant: tenant, Limit: 4})
	f.same("the first page", namesIn(first.Records), inOrder(all)[:4])
	if first.Next == nil {
		f.t.Error("the first page is said to be the last")
	}
}

func everyRecordIsOnOnePage(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	var all []*storage.Record
	for _, group := range []int{1, 3, 1, 9, 2} {
		all = append(all, f.born(f.namesOf(tenant, group)...)...)
	}
	for _, limit := range []int{1, 2, 7, len(all) - 1, len(all), len(all) + 1} {
		f.same("all pages together", namesIn(f.listed(storage.ListQuery{Tenant: tenant, Limit: limit})), inOrder(all))
	}
}

func aCrowdOfOneInstantIsListedOnceEach(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	all := f.born(f.namesOf(tenant, 2)...)
	all = append(all, f.born(f.namesOf(tenant, 210)...)...)
	all = append(all, f.born(f.namesOf(tenant, 1)...)...)
	for _, limit := range []int{7, 200} {
		f.same("all pages together", namesIn(f.listed(storage.ListQuery{Tenant: tenant, Limit: limit})), inOrder(all))
	}
}

func aListShowsWhatALookupDoesButTheBody(_ *testing.T, f *fixture) {
	f.inEach(whenever, func(f *fixture, n storage.Name, _ storage.Reserve) {
		want := *f.record(n)
		if want.Response != nil {
			response := *want.Response
			response.Body = nil
			want.Response = &response
		}
		f.same("the list", f.list(storage.ListQuery{Tenant: n.Tenant, Limit: 1}).Records, []*storage.Record{&want})
	})
	n := f.name() // with all that a record can have
	first := f.released(n)
	second := reserve(n)
	second.OnLapse, second.Lease = storage.Hold, brief
	f.passes(f.want(storage.OutcomeAcquired, second).Record.LeaseExpiresAt)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: second.Token, Checkpoint: progress(3, "three")})
	want := f.record(n)
	f.same("the earlier attempts", want.EarlierAttemptIDs, []string{first.AttemptID})
	f.same("the list", f.list(storage.ListQuery{Tenant: n.Tenant, Limit: 1}).Records, []*storage.Record{want})
}

func insertsMeanwhileNeitherRepeatNorLoseARecord(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	there := f.born(f.namesOf(tenant, 20)...)
	there = append(there, f.born(f.namesOf(tenant, 20)...)...)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				f.store.Apply(f.ctx(), []storage.Call{reserve(f.namesOf(tenant, 1)[0])})
			}
		}
	})
	defer writer.Wait()
	defer close(stop)
	for _, limit := range []int{1, 7} {
		got := f.listed(storage.ListQuery{Tenant: tenant, Limit: limit})
		f.same("those that were there all the while", onlyThese(got, there), inOrder(there))
	}
}

// onlyThese gives those of some records that are among others.
func onlyThese(records, among []*storage.Record) (names []storage.Name) {
	for _, n := range namesIn(records) {
		if slices.Contains(namesIn(among), n) {
			names = append(names, n)
		}
	}
	return names
}

// A record keeps its place whatever happens to it; one that ended and came again is another one.
func changesMeanwhileNeitherRepeatNorLoseARecord(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	there := append(f.born(f.namesOf(tenant, 6)...), f.born(f.namesOf(tenant, 6)...)...)
	again := f.namesOf(tenant, 12)
	f.born(again...)
	turn := 0
	between := func() {
		r := there[turn%len(there)]
		f.want(storage.OutcomeReleased, storage.Release{Name: r.Name, Token: r.Token})
		c := reserve(r.Name)
		f.want(storage.OutcomeAcquired, c)
		r.Token = c.Token
		release := f.resolving(again[turn%len(again)], storage.Released)
		release.Force = true
		f.want(storage.OutcomeResolved, release)
		f.want(storage.OutcomeExpired, f.expiring(release.Name))
		f.want(storage.OutcomeAcquired, reserve(release.Name))
		turn++
	}
	var got []*storage.Record
	for _, p := range f.pages(storage.ListQuery{Tenant: tenant, Limit: 1}, between) {
		got = append(got, p.Records...)
	}
	f.same("those that were there all the while", onlyThese(got, there), inOrder(there))
	if turn < len(there) {
		f.t.Errorf("only %d changes happened meanwhile", turn)
	}
}

func whatHasEndedIsNotListed(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	names := f.namesOf(tenant, 6)
	stays := f.live(names[0])
	abandoned := reserve(names[1])
	abandoned.Lease, abandoned.Retention = brief, brief
	f.passes(f.want(storage.OutcomeAcquired, abandoned).Record.ExpiresAt)
	f.expired(names[2])
	for i, end := range []func(){
		func() { f.settled(names[3], storage.Completed) },
		func() { f.released(names[4]) },
	} {
		end()
		f.want(storage.OutcomeExpired, f.expiring(names[3+i]))
	}
	held := reserve(names[5]) // does not end by itself
	held.Lease, held.Retention, held.OnLapse = brief, brief, storage.Hold
	f.passes(f.want(storage.OutcomeAcquired, held).Record.ExpiresAt)
	for state := range storage.Uncertain + 1 {
		var want []storage.Name
		if state == 0 || state == storage.Uncertain {
			want = append(want, held.Name)
		}
		if state == 0 || state == storage.InProgress {
			want = append(want, stays.Name)
		}
		f.same("the list of "+state.String(), append([]storage.Name(nil), namesIn(f.listed(storage.ListQuery{Tenant: tenant, State: state, Limit: 2}))...), want)
	}
}

func recordsOfAnotherTenantAreNeverListed(_ *testing.T, f *fixture) {
	one := f.name()
	other, longer := one, one // the same but for the tenant
	other.Tenant, longer.Tenant = strings.ToUpper(one.Tenant), one.Tenant+" "
	records := append(f.born(other), append(f.born(one), f.born(longer)...)...)
	for _, r := range records {
		for _, q := range []storage.ListQuery{{}, {Operation: one.Operation}, {Subject: &one.Subject}, {Key: one.Key}, {KeyPrefix: one.Key[:3]},
			{State: storage.InProgress}, {CreatedFrom: records[0].CreatedAt}} {
			q.Tenant, q.Limit = r.Tenant, 10
			f.same("the list of one tenant", namesIn(f.list(q).Records), []storage.Name{r.Name})
		}
	}
	after := storage.PositionOf(records[2]) // a position of another tenant's is no way to it
	f.same("the list after another's", namesIn(f.list(storage.ListQuery{Tenant: one.Tenant, Limit: 10, After: &after}).Records), []storage.Name{one})
	for _, tenant := range []string{"", "%", "tenant-", "tenant-%"} {
		f.same("the list of a tenant who has none", len(f.list(storage.ListQuery{Tenant: tenant, Limit: 10}).Records), 0)
	}
}
