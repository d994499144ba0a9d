package storagetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that the sweeper is shown every row whose hour has come, and told which of them may be deleted.

var sweepPromises = []rowPromise{
	anEmptyTableHasNothingToSweep,
	rowsToBeSweptComeInTheirOrder,
	namesAloneTellRowsOfOneFenceApart,
	theSweepGetsPastWhatMayNotBeDeleted,
	rowsWhoseHourIsToComeAreNotShown,
	aRowIsDueAMinuteAfterItsEnd,
	whatIsHeldIsNeverDue,
}

// toSweep asks for rows, page by page.
func (f *rowFixture) toSweep(limit int) (rows []storage.Sweepable, now time.Time) {
	f.t.Helper()
	var after *storage.Sweepable
	for {
		page, at, err := f.store.Expired(f.ctx(), after, limit)
		switch {
		case err != nil:
			f.t.Fatalf("asking for rows to sweep: %v", err)
		case len(page) > limit:
			f.t.Fatalf("got %d rows, with a limit of %d", len(page), limit)
		case at.IsZero() || at.Location() != time.UTC || at.Nanosecond()%int(micro) != 0:
			f.t.Fatalf("the store's clock says %v: not UTC in whole microseconds", at)
		}
		for i := range page {
			if after != nil && inSweepOrder(*after, page[i]) >= 0 {
				f.t.Fatalf("%+v comes after %+v", page[i], *after)
			}
			after = &page[i]
		}
		rows, now = append(rows, page...), at
		if len(page) < limit {
			return rows, now
		}
	}
}

func inSweepOrder(a, b storage.Sweepable) int {
	return cmp.Or(cmp.Compare(a.SweepHour, b.SweepHour), cmp.Compare(a.Fence, b.Fence), a.Name.Compare(b.Name))
}

// candidate is a row as the sweeper must see it.
func candidate(r *storage.Record, now time.Time) storage.Sweepable {
	hour := time.Unix(int64(r.SweepHour)*3600, 0).UTC()
	since := r.ExpiresAt.Add(time.Minute)
	if hour.After(r.ExpiresAt) {
		since = hour.Add(time.Minute)
	}
	held := r.State == storage.InProgress && r.OnLapse == storage.Hold
	return storage.Sweepable{Name: r.Name, SweepHour: r.SweepHour, Fence: r.Fence, Revision: r.Revision, Due: !held && !since.After(now), DueSince: since}
}

// candidates are those of some rows whose hour has come, in their order.
func candidates(rows []*storage.Record, now time.Time) (list []storage.Sweepable) {
	for _, r := range rows {
		if !time.Unix(int64(r.SweepHour)*3600+60, 0).After(now) {
			list = append(list, candidate(r, now))
		}
	}
	slices.SortFunc(list, inSweepOrder)
	return list
}

func anEmptyTableHasNothingToSweep(_ *testing.T, f *rowFixture) {
	before := f.now()
	rows, now := f.toSweep(10)
	f.same("the number of rows", len(rows), 0)
	if now.Before(before) || now.After(f.now()) {
		f.t.Errorf("the clock said %v; it was between %v and %v", now, before, f.now())
	}
}

// Neither the order of the names nor that of their ends is that of the sweep.
func rowsToBeSweptComeInTheirOrder(_ *testing.T, f *rowFixture) {
	now := f.now()
	var rows []*storage.Record
	for i := range 40 {
		n := storage.Name{Tenant: fmt.Sprint("tenant-", i%3), Operation: fmt.Sprint("o", i%2), Subject: fmt.Sprint((i * 11) % 7), Key: fmt.Sprint((i * 7) % 40)}
		r := overAt(n, now.Add(-20*time.Hour+time.Duration(i)*time.Minute), storage.Completed)
		r.SweepHour = hourOf(now) - 2 - int32(i*7%5)
		r.Fence = int64(1000 + i*3%4)
		rows = append(rows, r)
	}
	f.insert(rows...)
	for _, limit := range []int{1, 2, 7, 39, 40, 1000} {
		got, now := f.toSweep(limit)
		f.same(fmt.Sprintf("the rows, by %d", limit), got, candidates(rows, now))
	}
}

func namesAloneTellRowsOfOneFenceApart(_ *testing.T, f *rowFixture) {
	now := f.now()
	var rows []*storage.Record
	for _, n := range []storage.Name{{Tenant: "a", Operation: "z", Subject: "z", Key: "z"}, {Tenant: "b", Operation: "a", Subject: "z", Key: "z"},
		{Tenant: "b", Operation: "b", Subject: "", Key: "z"}, {Tenant: "b", Operation: "b", Subject: "a", Key: "a"}, {Tenant: "b", Operation: "b", Subject: "a", Key: "ы"},
		{Tenant: "B", Operation: "z", Subject: "z", Key: "z"}} {
		r := overAt(n, now.Add(-20*time.Hour), storage.Failed)
		r.Fence = 7
		rows = append(rows, r)
	}
	f.insert(rows...)
	for _, limit := range []int{1, 2} {
		got, now := f.toSweep(limit)
		f.same(fmt.Sprintf("the rows, by %d", limit), got, candidates(rows, now))
	}
}

// Else what is held for an operator would fill every page at the head of the line, and nothing would ever be deleted.
func theSweepGetsPastWhatMayNotBeDeleted(_ *testing.T, f *rowFixture) {
	now := f.now()
	var rows []*storage.Record
	for range 30 {
		rows = append(rows, heldAt(f.name(), now.Add(-100*24*time.Hour)))
	}
	due := overAt(f.name(), now.Add(-20*time.Hour), storage.Completed)
	f.insert(append(rows, due)...)
	got, _ := f.toSweep(10)
	f.same("the rows", len(got), 31)
	last := got[len(got)-1]
	f.same("the last one and whether it is due", []any{last.Name, last.Due}, []any{due.Name, true})
}

// An hour ends for the sweeper a minute later. The clock that comes with the rows says which ones must be there.
func rowsWhoseHourIsToComeAreNotShown(_ *testing.T, f *rowFixture) {
	now := f.now()
	var rows []*storage.Record
	for _, ahead := range []int32{-3, -2, -1, 0, 1, 2, 24} {
		r := overAt(f.name(), now.Add(-100*time.Hour), storage.Completed)
		r.SweepHour = hourOf(now) + ahead
		rows = append(rows, r)
	}
	f.insert(rows...)
	got, now := f.toSweep(10)
	f.same("the rows", got, candidates(rows, now))
}

// Exactly then, by the clock that comes with the rows.
func aRowIsDueAMinuteAfterItsEnd(_ *testing.T, f *rowFixture) {
	now := f.now()
	var rows []*storage.Record
	for i, state := range []storage.State{storage.Completed, storage.Failed, storage.Released, storage.InProgress} {
		for _, ahead := range []time.Duration{-time.Hour, 0, 50 * time.Millisecond, 100 * time.Millisecond, 2 * time.Hour} {
			r := overAt(f.name(), now.Add(-20*time.Hour), state)
			r.ExpiresAt, r.SweepHour = now.Add(ahead+time.Duration(i)*time.Millisecond-time.Minute), hourOf(now)-3
			rows = append(rows, r)
		}
	}
	f.insert(rows...)
	for last := now.Add(110 * time.Millisecond); now.Before(last); {
		var got []storage.Sweepable
		got, now = f.toSweep(100)
		f.same("the rows", got, candidates(rows, now))
	}
}

func whatIsHeldIsNeverDue(_ *testing.T, f *rowFixture) {
	now := f.now()
	uncertain, live := heldAt(f.name(), now.Add(-100*24*time.Hour)), heldAt(f.name(), now.Add(-100*24*time.Hour))
	live.LeaseExpiresAt = now.Add(time.Hour) // though its own end is long over
	f.insert(uncertain, live)
	for _, r := range first(f.toSweep(10)) {
		if r.Due {
			f.t.Errorf("%+v is said to be due", r)
		}
	}
}

func first[T, U any](v T, _ U) T { return v }
