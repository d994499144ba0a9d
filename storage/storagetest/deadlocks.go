package storagetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that groups which touch the same names in different orders do not stop each other.

var deadlockPromises = []promise{
	heartbeatsInOppositeOrdersDoNotDeadlock,
	reservesAndReleasesInOppositeOrdersDoNotDeadlock,
	mixedGroupsInOppositeOrdersDoNotDeadlock,
}

const (
	clashers   = 3  // goroutines that send groups on the same names
	clashNames = 50 // names in each of their groups
	clashes    = 3  // groups that each of them sends
)

func heartbeatsInOppositeOrdersDoNotDeadlock(_ *testing.T, f *fixture) {
	names, holders := f.sharedNames()
	f.clash(func(order []int) error {
		calls := make([]storage.Call, len(order))
		for i, n := range order {
			calls[i] = storage.Heartbeat{Name: names[n], Token: holders[n].Token, Lease: 2 * long}
		}
		for _, a := range f.store.Apply(f.ctx(), calls) {
			if a.Err != nil || a.Outcome != storage.OutcomeRenewed {
				return fmt.Errorf("%v: %w", a.Outcome, a.Err)
			}
		}
		return nil
	})
}

func reservesAndReleasesInOppositeOrdersDoNotDeadlock(_ *testing.T, f *fixture) {
	names := make([]storage.Name, clashNames)
	for i := range names {
		names[i] = f.name()
	}
	f.clash(func(order []int) error {
		calls, give := make([]storage.Call, len(order)), make([]storage.Call, len(order))
		for i, n := range order {
			c := reserve(names[n])
			calls[i], give[i] = c, storage.Release{Name: names[n], Token: c.Token}
		}
		granted := map[storage.Name]bool{}
		for _, a := range f.store.Apply(f.ctx(), calls) {
			if a.Err != nil || a.Outcome != storage.OutcomeAcquired && a.Outcome != storage.OutcomeInProgress {
				return fmt.Errorf("reserve: %v: %w", a.Outcome, a.Err)
			}
			granted[a.Record.Name] = a.Outcome == storage.OutcomeAcquired
		}
		for i, a := range f.store.Apply(f.ctx(), give) {
			if ok := a.Outcome == storage.OutcomeReleased; a.Err != nil || ok != granted[give[i].On()] {
				return fmt.Errorf("release of a name that was granted (%v): %v: %w", granted[give[i].On()], a.Outcome, a.Err)
			}
		}
		return nil
	})
}

// Some names of each group are new, so that it both makes rows and replaces them.
func mixedGroupsInOppositeOrdersDoNotDeadlock(_ *testing.T, f *fixture) {
	names, holders := f.sharedNames()
	f.clash(func(order []int) error {
		calls := make([]storage.Call, 0, len(order))
		for _, n := range order[:len(order)/2] { // each gives two calls
			born := names[n]
			born.Key = strings.Repeat("k", n%7) + fresh()
			calls = append(calls, storage.Heartbeat{Name: names[n], Token: holders[n].Token, Lease: 2 * long}, reserve(born))
		}
		for i, a := range f.store.Apply(f.ctx(), calls) {
			if want := []storage.Outcome{storage.OutcomeRenewed, storage.OutcomeAcquired}[i%2]; a.Err != nil || a.Outcome != want {
				return fmt.Errorf("%v: %w", a.Outcome, a.Err)
			}
		}
		return nil
	})
}

// sharedNames makes live records of one tenant, whose other parts sort differently.
func (f *fixture) sharedNames() ([]storage.Name, []storage.Reserve) {
	f.t.Helper()
	names, calls, holders := make([]storage.Name, clashNames), make([]storage.Call, clashNames), make([]storage.Reserve, clashNames)
	tenant := "tenant-" + fresh()
	for i := range names {
		names[i] = storage.Name{Tenant: tenant, Operation: fmt.Sprint("op-", i%3), Subject: fmt.Sprint("s-", i%5), Key: fresh()}
		holders[i] = reserve(names[i])
		calls[i] = holders[i]
	}
	f.same("acquired", count(f.apply(calls...), storage.OutcomeAcquired), clashNames)
	return names, holders
}

// clash runs goroutines that walk the same names forwards, backwards and shuffled.
func (f *fixture) clash(send func(order []int) error) {
	f.t.Helper()
	failures := make([]error, clashers)
	var all sync.WaitGroup
	for g := range clashers {
		order, dice := indexes(clashNames), rand.New(rand.NewPCG(1, uint64(g)))
		all.Go(func() {
			for range clashes {
				switch g {
				case 1:
					slices.Reverse(order)
				case 2:
					dice.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				}
				if failures[g] = send(order); failures[g] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	for g, err := range failures {
		if err != nil {
			f.t.Errorf("goroutine %d: %v", g, err)
		}
	}
}
