package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that what is rare is found among much, and that much is counted honestly. Its promises only read: they
// share one store, with more records than a page or a count looks at.

var manyPromises = []rowPromise{
	openKeysAreFoundAmongMany,
	openKeysAreCountedAmongMany,
	aRareKeyIsFoundAmongMany,
	manyRecordsAreListedOnceEach,
	manyRecordsAreCountedAtLeast,
	manyOpenKeysAreListedOnceEach,
	manyOpenKeysAreCounted,
}

const (
	quiet = "tenant-quiet" // has many records, of which hardly any is open
	busy  = "tenant-busy"  // has many open keys
	many  = 10_100         // of the quiet one's: more than are counted
	fewer = 2300           // of the busy one's: more than are examined for a page
)

// theOpen are three keys of the quiet tenant, one for each state in which somebody still has to do something.
func theOpen(operation string) map[storage.State]storage.Name {
	names := map[storage.State]storage.Name{}
	for _, state := range []storage.State{storage.InProgress, storage.Abandoned, storage.Uncertain} {
		names[state] = storage.Name{Tenant: quiet, Operation: operation, Subject: "s", Key: operation + " " + state.String()}
	}
	return names
}

var theRare = storage.Name{Tenant: quiet, Operation: "o1", Subject: "s", Key: "rare"}

// fillWithMany makes, from the newest to the oldest of the quiet tenant: three open keys, one of which was just acquired;
// many settled ones, a hundred for each instant; a rare one; and three more open keys. The busy one's are all abandoned.
func fillWithMany(f *rowFixture) {
	now := f.now()
	var rows []*storage.Record
	late, old := theOpen("new"), theOpen("old")
	rows = append(rows, liveSince(late[storage.InProgress], ago(now, time.Second), now), acquiredAt(late[storage.Abandoned], ago(now, 5*time.Minute)),
		heldAt(late[storage.Uncertain], ago(now, 5*time.Minute)))
	for i := range many {
		n := storage.Name{Tenant: quiet, Operation: fmt.Sprint("o", i%2), Subject: fmt.Sprint(i % 7), Key: fmt.Sprint("settled-", (i*7919)%many)}
		rows = append(rows, overAt(n, ago(now, 10*time.Minute+time.Duration(i/100)*time.Second), storage.Completed))
	}
	for i := range fewer {
		n := storage.Name{Tenant: busy, Operation: "o", Subject: fmt.Sprint(i % 3), Key: fmt.Sprint("open-", i)}
		rows = append(rows, acquiredAt(n, ago(now, 10*time.Minute+time.Duration(i/100)*time.Second)))
	}
	rows = append(rows, overAt(theRare, ago(now, 50*time.Minute), storage.Failed), liveSince(old[storage.InProgress], ago(now, 20*time.Hour), now),
		acquiredAt(old[storage.Abandoned], ago(now, 20*time.Hour)), heldAt(old[storage.Uncertain], ago(now, 20*time.Hour)))
	f.insert(rows...)
	f.track(1000)
}

func openKeysAreFoundAmongMany(_ *testing.T, f *rowFixture) {
	late, old := theOpen("new"), theOpen("old")
	for state := range old {
		q := storage.ListQuery{Tenant: quiet, State: state}
		for _, q.Limit = range []int{1, 50} {
			q.Operation = ""
			f.same("the list of "+state.String(), namesIn(f.listed(q)), []storage.Name{late[state], old[state]})
			q.Operation = "old"
			f.same("the same of its operation", namesIn(f.listed(q)), []storage.Name{old[state]})
			q.Operation = "o1"
			f.same("the same of another operation", len(f.listed(q)), 0)
		}
	}
}

func openKeysAreCountedAmongMany(_ *testing.T, f *rowFixture) {
	mayLack := !f.table.(interface{ OpenIsComplete() bool }).OpenIsComplete() // and a count says so
	for operation, n := range map[string]int{"": 2, "old": 1} {
		stats, err := f.store.Stats(f.ctx(), quiet, operation)
		if err != nil {
			f.t.Fatal(err)
		}
		for state, name := range theOpen("old") {
			r := f.record(name)
			oldest := &storage.Record{Name: name, CreatedAt: r.CreatedAt, LeaseExpiresAt: r.LeaseExpiresAt}
			f.same(fmt.Sprintf("the count of %v, of operation %q", state, operation), stats.States[state], storage.Count{N: n, AtLeast: mayLack, Oldest: oldest})
		}
	}
}

// A page examines a bounded number of rows: that of something rare is empty, and says where to go on.
func aRareKeyIsFoundAmongMany(_ *testing.T, f *rowFixture) {
	for _, q := range []storage.ListQuery{{Key: theRare.Key}, {State: storage.Failed, KeyPrefix: "r"}} {
		q.Tenant, q.Limit = quiet, 50
		pages := f.pages(q, func() {})
		if len(pages) == 1 {
			f.t.Errorf("%+v: all of the rows were examined for one page", q)
		}
		var got []*storage.Record
		for _, p := range pages {
			got = append(got, p.Records...)
		}
		f.same(fmt.Sprintf("the list of %+v", q), namesIn(got), []storage.Name{theRare})
	}
	at := f.record(theRare).CreatedAt
	q := storage.ListQuery{Tenant: quiet, CreatedFrom: at, CreatedBefore: at.Add(micro), Limit: 50}
	f.same("the list of an instant", namesIn(f.list(q).Records), []storage.Name{theRare})
}

func manyRecordsAreListedOnceEach(_ *testing.T, f *rowFixture) {
	f.same("the number of records on all pages", len(f.listed(storage.ListQuery{Tenant: quiet, Limit: 1000})), many+7)
}

func manyRecordsAreCountedAtLeast(_ *testing.T, f *rowFixture) {
	stats, err := f.store.Stats(f.ctx(), quiet, "")
	if err != nil {
		f.t.Fatal(err)
	}
	if c := stats.States[storage.Completed]; !c.AtLeast || c.N > many || c.N < many/2 {
		f.t.Errorf("of %d completed records, %d are counted, at least: %v", many, c.N, c.AtLeast)
	}
	for _, state := range []storage.State{storage.Failed, storage.Released} { // what was not looked at could be any of them
		if c := stats.States[state]; !c.AtLeast || c.N > 1 {
			f.t.Errorf("%v: %+v", state, c)
		}
	}
}

func manyOpenKeysAreListedOnceEach(_ *testing.T, f *rowFixture) {
	f.same("the number of records on all pages", len(f.listed(storage.ListQuery{Tenant: busy, State: storage.Abandoned, Limit: 700})), fewer)
}

func manyOpenKeysAreCounted(_ *testing.T, f *rowFixture) {
	stats, err := f.store.Stats(f.ctx(), busy, "")
	if err != nil {
		f.t.Fatalf("counting: %v", err)
	}
	open, err := f.store.OpenKeys(f.ctx())
	if err != nil {
		f.t.Fatalf("counting open keys: %v", err)
	}
	c := stats.States[storage.Abandoned]
	f.same("the tenant's", []any{c.N, c.AtLeast}, []any{fewer, false})
	f.same("those of all", open.Counts[storage.Abandoned], storage.Count{N: fewer + 2})
}
