package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that the sweeper deletes what is due, and nothing that anybody still counts on.

var deletePromises = []rowPromise{
	whatIsDueIsDeleted,
	whatIsNotDueIsNotDeleted,
	aRowThatWasAcquiredMeanwhileStays,
	aRowThatWasWrittenMeanwhileStays,
	whatAnOperatorEndedIsSweptInItsOwnTime,
	deletionsAreCounted,
	aDeletionMeansTheWholeName,
	aDeletedNameIsAcquiredAnew,
	sweepersAndCallersMeet,
}

// deletes asks for rows to be deleted, and gives how many were.
func (f *rowFixture) deletes(rows ...storage.Sweepable) int {
	f.t.Helper()
	n, err := f.store.Delete(f.ctx(), rows)
	if err != nil {
		f.t.Fatalf("deleting %d rows: %v", len(rows), err)
	}
	return n
}

// longAgo is before now: what lasted a day or an hour then is over.
const longAgo = -100 * time.Hour

func whatIsDueIsDeleted(_ *testing.T, f *rowFixture) {
	now := f.now()
	due := map[string]*storage.Record{
		"completed": overAt(f.name(), now.Add(longAgo), storage.Completed),
		"failed":    overAt(f.name(), now.Add(longAgo), storage.Failed),
		"released":  overAt(f.name(), now.Add(longAgo), storage.Released),
		"abandoned": acquiredAt(f.name(), now.Add(longAgo)),
	}
	settledHeld := overAt(f.name(), now.Add(longAgo), storage.Completed)
	settledHeld.OnLapse = storage.Hold // held while in progress only
	due["completed under hold"] = settledHeld
	stays := overAt(f.name(), now, storage.Completed)
	f.insert(stays)
	for what, r := range due {
		f.insert(r)
		f.same("the deletion of what is "+what, f.deletes(candidate(r, now)), 1)
		if f.row(r.Name) != nil {
			f.t.Errorf("%s: the row is still there", what)
		}
	}
	f.remain(stays)
}

// Though it is asked for: the sweeper's look at it may be an old one. Only the rule in question keeps each of them.
func whatIsNotDueIsNotDeleted(_ *testing.T, f *rowFixture) {
	now := f.now()
	old := hourOf(now) - 3
	rows := map[string]*storage.Record{
		"live":                              leasedUntil(acquiredAt(f.name(), now.Add(longAgo)), now.Add(time.Hour)),
		"live under hold":                   leasedUntil(heldAt(f.name(), now.Add(longAgo)), now.Add(time.Hour)),
		"abandoned":                         leasedUntil(acquiredAt(f.name(), now.Add(longAgo)), now.Add(-23*time.Hour)),
		"uncertain":                         heldAt(f.name(), now.Add(longAgo)),
		"settled":                           overAt(f.name(), now, storage.Completed),
		"released":                          overAt(f.name(), now, storage.Released),
		"ended just now":                    overAt(f.name(), now.Add(-time.Hour), storage.Completed),
		"abandoned and ended just now":      leasedUntil(acquiredAt(f.name(), now.Add(longAgo)), now.Add(-24*time.Hour)),
		"ended by an operator, before time": overAt(f.name(), now.Add(longAgo), storage.Completed),
	}
	for what, r := range rows {
		r.SweepHour = old
		if what == "ended by an operator, before time" {
			r.SweepHour = hourOf(now) + 2
		}
	}
	for what, r := range rows {
		f.insert(r)
		c := candidate(r, now)
		c.Due, c.DueSince = true, now.Add(-time.Hour)
		f.same("the deletion of what is "+what, f.deletes(c), 0)
	}
	for _, r := range rows {
		f.remain(r)
	}
}

func aRowThatWasAcquiredMeanwhileStays(_ *testing.T, f *rowFixture) {
	now := f.now()
	for _, state := range []storage.State{storage.Completed, storage.Released, storage.InProgress} {
		n := f.name()
		f.insert(overAt(n, now.Add(longAgo), state))
		seen, _ := f.toSweep(10)
		c := reserve(n)
		f.want(storage.OutcomeAcquired, c)
		f.same("the deletion of a row that was acquired", f.deletes(seen...), 0)
		f.want(storage.OutcomeSettled, complete(n, c.Token))
	}
}

// Whatever was written: the sweeper deletes what it looked at, or nothing.
func aRowThatWasWrittenMeanwhileStays(_ *testing.T, f *rowFixture) {
	now := f.now()
	for what, write := range map[string]func(r *storage.Record){
		"renewed":           func(r *storage.Record) { r.Revision++ },
		"acquired anew":     func(r *storage.Record) { r.Fence++ },
		"acquired, settled": func(r *storage.Record) { r.Fence, r.Revision = r.Fence+1, r.Revision+2 },
	} {
		r := overAt(f.name(), now.Add(longAgo), storage.Completed)
		f.insert(r)
		seen, _ := f.toSweep(10)
		next := *r
		write(&next)
		f.replace(r, &next)
		f.same("the deletion of a row that was "+what, f.deletes(seen...), 0)
		f.remain(&next)
		f.same("the deletion of the row as it is now", f.deletes(candidate(&next, now)), 1)
	}
}

// Until then its row keeps the fence: the next acquisition must get a higher one.
func whatAnOperatorEndedIsSweptInItsOwnTime(_ *testing.T, f *rowFixture) {
	now := f.now()
	r := overAt(f.name(), now, storage.Completed)
	r.Retention = 30 * time.Hour
	r.Fence += time.Hour.Microseconds() // as after the clock was set back
	f.insert(endedAt(r, now.Add(r.Retention)))
	f.want(storage.OutcomeExpired, f.expiring(r.Name))
	ended := f.row(r.Name)
	f.same("the hour of the sweep", ended.SweepHour, r.SweepHour)

	later := *ended // the same after two hours
	later.ExpiresAt = later.ExpiresAt.Add(-2 * time.Hour)
	later.Revision++
	f.replace(ended, &later)
	f.same("rows to be swept before the record's own end", len(first(f.toSweep(10))), 0)
	c := candidate(&later, now)
	c.Due = true
	f.same("deletions before the record's own end", f.deletes(c), 0)
	if a := f.want(storage.OutcomeAcquired, reserve(r.Name)); a.Record.Fence <= r.Fence {
		f.t.Errorf("the fence went from %d to %d", r.Fence, a.Record.Fence)
	}
}

func deletionsAreCounted(_ *testing.T, f *rowFixture) {
	now := f.now()
	var rows []*storage.Record
	for i := range 20 {
		r := overAt(f.name(), now.Add(longAgo), storage.Completed)
		if i%4 == 0 {
			r = heldAt(r.Name, now.Add(longAgo))
		}
		rows = append(rows, r)
	}
	f.insert(rows...)
	seen, _ := f.toSweep(100)
	slices.Reverse(seen) // in no order that a backend works in
	f.same("deletions of no rows", f.deletes(), 0)
	f.same("deletions", f.deletes(seen...), 15)
	f.same("deletions of what was deleted", f.deletes(seen...), 0)
	f.same("rows that are left", len(first(f.toSweep(100))), 5)
}

func aDeletionMeansTheWholeName(_ *testing.T, f *rowFixture) {
	r := overAt(f.name(), f.now().Add(longAgo), storage.Completed)
	f.insert(r)
	var others []*storage.Record
	for part := range 4 {
		other := *r // with the same fence and revision
		other.Token = storage.NewToken()
		*[]*string{&other.Tenant, &other.Operation, &other.Subject, &other.Key}[part] += "x"
		others = append(others, &other)
	}
	f.insert(others...)
	f.same("deletions", f.deletes(candidate(r, f.now())), 1)
	f.remain(others...)
}

func aDeletedNameIsAcquiredAnew(_ *testing.T, f *rowFixture) {
	r := overAt(f.name(), f.now().Add(longAgo), storage.Completed)
	r.Attempt, r.Checkpoint = 5, progress(9, "nine")
	f.insert(r)
	f.same("deletions", f.deletes(candidate(r, f.now())), 1)
	a := f.want(storage.OutcomeAcquired, reserve(r.Name))
	f.same("attempt and checkpoint", []any{a.Record.Attempt, a.Record.Checkpoint}, []any{1, (*storage.Checkpoint)(nil)})
	if a.Record.Fence <= r.Fence {
		f.t.Errorf("the fence went from %d to %d", r.Fence, a.Record.Fence)
	}
}

// Two sweepers and three callers go over the same rows, in different orders: no call fails, and who acquired keeps it.
func sweepersAndCallersMeet(_ *testing.T, f *rowFixture) {
	now := f.now()
	rows := make([]*storage.Record, 150)
	for i := range rows {
		rows[i] = overAt(f.name(), now.Add(longAgo+time.Duration(i*37%150)*time.Second), storage.Released)
	}
	f.insert(rows...)
	holders := &holders{tokens: map[storage.Name]storage.Token{}}
	errs := make([]error, 5)
	var all sync.WaitGroup
	for g := range errs {
		all.Go(func() {
			if g < 2 {
				errs[g] = f.sweepAll(7 + 6*g)
			} else {
				errs[g] = f.reserveAll(rows, []int{1, 7, 149}[g-2], holders) // none divides their number
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		f.t.Fatal(err)
	}
	f.same("names that were acquired", len(holders.tokens), len(rows))
	for _, r := range rows {
		got := f.record(r.Name)
		if got == nil || got.Token != holders.tokens[r.Name] || got.Fence <= r.Fence {
			f.t.Errorf("acquired by %v after fence %d; the record is %+v", holders.tokens[r.Name], r.Fence, got)
		}
	}
}

// holders notes who was told that they acquired a name.
type holders struct {
	mu     sync.Mutex
	tokens map[storage.Name]storage.Token
}

// acquired notes a holder, and tells whether it is the only one.
func (h *holders) acquired(n storage.Name, t storage.Token) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, twice := h.tokens[n]
	h.tokens[n] = t
	return !twice
}

// sweepAll sweeps page by page until no row is due any more.
func (f *rowFixture) sweepAll(limit int) error {
	for left := true; left; {
		left = false
		var after *storage.Sweepable
		for {
			page, _, err := f.store.Expired(f.ctx(), after, limit)
			if err != nil {
				return err
			}
			due := slices.DeleteFunc(slices.Clone(page), func(r storage.Sweepable) bool { return !r.Due })
			left = left || len(due) > 0
			if _, err := f.store.Delete(f.ctx(), due); err != nil {
				return err
			}
			if len(page) < limit {
				break
			}
			after = &page[limit-1]
		}
	}
	return nil
}

// reserveAll reserves the names of all rows in groups of ten, in an order of its own.
func (f *rowFixture) reserveAll(rows []*storage.Record, stride int, h *holders) error {
	for group := range slices.Chunk(indexes(len(rows)), 10) {
		var calls []storage.Call
		for _, i := range group {
			calls = append(calls, reserve(rows[i*stride%len(rows)].Name))
		}
		for i, a := range f.store.Apply(f.ctx(), calls) {
			switch {
			case a.Err != nil || a.Outcome != storage.OutcomeAcquired && a.Outcome != storage.OutcomeInProgress:
				return fmt.Errorf("reserve: %v: %w", a.Outcome, a.Err)
			case a.Outcome == storage.OutcomeAcquired && !h.acquired(calls[i].On(), a.Record.Token):
				return fmt.Errorf("%v was acquired twice", calls[i].On())
			}
		}
	}
	return nil
}
