package storagetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that the list of open keys loses none, however it is kept.

var trackPromises = []rowPromise{
	everyOpenKeyIsFoundOneByOne,
	everyOpenKeyIsFoundTwoByTwo,
	everyOpenKeyIsFoundByTheThousand,
	aKeyThatIsReacquiredIsFoundAgain,
	aKeyThatIsReacquiredBetweenTwoLooksStays,
	aNameThatBeginsAnewIsFoundOnce,
	aLookThatEndsEarlyIsMadeGood,
	severalLookAtOnce,
}

func everyOpenKeyIsFoundOneByOne(_ *testing.T, f *rowFixture)      { f.findsEveryOpenKey(1) }
func everyOpenKeyIsFoundTwoByTwo(_ *testing.T, f *rowFixture)      { f.findsEveryOpenKey(2) }
func everyOpenKeyIsFoundByTheThousand(_ *testing.T, f *rowFixture) { f.findsEveryOpenKey(1000) }

// findsEveryOpenKey looks at rows of which many have one hour and one fence, and most are settled; then those that were
// open are settled too.
func (f *rowFixture) findsEveryOpenKey(limit int) {
	now := f.now()
	var rows, open []*storage.Record
	for i := range 36 {
		at := ago(now, time.Duration(2+i%3*60)*time.Minute)
		n := storage.Name{Tenant: fmt.Sprint("tenant-", i%2), Operation: "o", Subject: fmt.Sprint(i % 5), Key: fmt.Sprint(i)}
		r := overAt(n, at.Add(time.Second), storage.Completed)
		if i%4 == 1 {
			r = liveSince(n, at, now)
			open = append(open, r)
		}
		rows = append(rows, r)
	}
	f.insert(rows...)
	f.track(limit)
	f.openAre(map[storage.State]int{storage.InProgress: len(open)})
	for i, r := range open {
		f.want(storage.OutcomeSettled, complete(r.Name, r.Token))
		if i%4 != 0 {
			continue
		}
		f.track(limit)
		if left := len(open) - i - 1; left > 0 {
			f.openAre(map[storage.State]int{storage.InProgress: left})
		}
	}
	f.track(limit)
	f.openAre(map[storage.State]int{})
}

// reacquire writes a row as if it had been acquired again a minute ago: after every look that was made so far, and long
// enough ago for the next.
func (f *rowFixture) reacquire(n storage.Name) *storage.Record {
	f.t.Helper()
	prev := f.row(n)
	next := heldAt(n, ago(f.now(), time.Minute))
	next.CreatedAt, next.Attempt, next.Revision, next.Version = prev.CreatedAt, prev.Attempt+1, prev.Revision+1, prev.Version+1
	f.replace(prev, next)
	return next
}

func (f *rowFixture) release(r *storage.Record) {
	f.t.Helper()
	f.want(storage.OutcomeReleased, storage.Release{Name: r.Name, Token: r.Token})
}

func aKeyThatIsReacquiredIsFoundAgain(_ *testing.T, f *rowFixture) {
	r := heldAt(f.name(), ago(f.now(), time.Hour))
	f.insert(r)
	for range 5 {
		f.track(1000)
		f.openAre(map[storage.State]int{storage.Uncertain: 1})
		f.release(r)
		f.track(1000)
		f.openAre(map[storage.State]int{})
		r = f.reacquire(r.Name)
	}
	f.track(1000)
	f.openAre(map[storage.State]int{storage.Uncertain: 1})
}

// What is on the list of its earlier acquisition is not to be taken off the list of the later one.
func aKeyThatIsReacquiredBetweenTwoLooksStays(_ *testing.T, f *rowFixture) {
	r := heldAt(f.name(), ago(f.now(), time.Hour))
	f.insert(r)
	for range 5 {
		f.track(1000)
		f.openAre(map[storage.State]int{storage.Uncertain: 1})
		f.release(r)
		f.live(r.Name) // just now
		f.track(1000)
		r = f.reacquire(r.Name)
	}
	f.track(1000)
	f.openAre(map[storage.State]int{storage.Uncertain: 1})
	f.release(r)
	f.track(1000)
	f.openAre(map[storage.State]int{})
}

// A new record of a name is another one, with a creation of its own.
func aNameThatBeginsAnewIsFoundOnce(_ *testing.T, f *rowFixture) {
	r := heldAt(f.name(), ago(f.now(), time.Hour))
	f.insert(r)
	f.track(1000)
	for range 3 {
		f.want(storage.OutcomeSettled, complete(r.Name, r.Token))
		f.want(storage.OutcomeExpired, f.expiring(r.Name))
		prev := f.row(r.Name)
		r = heldAt(r.Name, ago(f.now(), time.Minute))
		r.Revision = prev.Revision + 1
		f.replace(prev, r)
		f.track(1000)
		f.openAre(map[storage.State]int{storage.Uncertain: 1})
		list := f.list(storage.ListQuery{Tenant: r.Tenant, State: storage.Uncertain, Limit: 10}).Records
		f.same("the list", namesIn(list), []storage.Name{r.Name})
		f.same("its creation", list[0].CreatedAt, r.CreatedAt)
	}
}

func aLookThatEndsEarlyIsMadeGood(_ *testing.T, f *rowFixture) {
	now := f.now()
	for range 10 {
		f.insert(acquiredAt(f.name(), ago(now, time.Hour)), overAt(f.name(), ago(now, time.Hour), storage.Completed))
	}
	f.moments(func(ctx context.Context) {
		if err := f.store.TrackOpen(ctx, 1); err != nil && !errors.Is(err, storage.ErrUnavailable) {
			f.t.Fatalf("a look that was cut short: %v", err)
		}
	})
	f.track(1000)
	f.openAre(map[storage.State]int{storage.Abandoned: 10})
}

// Meanwhile half of the keys are settled, and a third of the others acquired again.
func severalLookAtOnce(_ *testing.T, f *rowFixture) {
	now := f.now()
	rows := make([]*storage.Record, 60)
	for i := range rows {
		rows[i] = heldAt(f.name(), ago(now, time.Duration(i+2)*time.Minute))
	}
	f.insert(rows...)
	f.track(7)
	errs := make([]error, 3)
	var all sync.WaitGroup
	for g := range errs {
		all.Go(func() {
			for range 6 {
				errs[g] = errors.Join(errs[g], f.store.TrackOpen(f.ctx(), []int{3, 20, 1000}[g]))
			}
		})
	}
	for i, r := range rows {
		switch {
		case i%2 == 0:
			f.want(storage.OutcomeSettled, complete(r.Name, r.Token))
		case i%3 == 0:
			f.release(r)
			f.live(r.Name)
		}
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		f.t.Fatal(err)
	}
	for i, r := range rows {
		if i%2 == 1 && i%3 == 0 {
			f.reacquire(r.Name)
		}
	}
	f.track(7)
	f.openAre(map[storage.State]int{storage.Uncertain: 30})
}
