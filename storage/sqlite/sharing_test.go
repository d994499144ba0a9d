package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/sqlite"
)

// Readers that later write, and writers that meet, must queue: nobody is told that the database is locked.
func TestManyWritersAreNeverToldThatTheDatabaseIsLocked(t *testing.T) {
	hammer(t, 32, 200, openAt(t, filepath.Join(t.TempDir(), "reprise.db")))
}

// Two stores on one file share nothing in memory, like two processes.
func TestTwoStoresOnOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reprise.db")
	one, two := openAt(t, path), openAt(t, path)
	c := reserve("k")
	apply(t, one, storage.OutcomeAcquired, c)
	apply(t, two, storage.OutcomeInProgress, reserve("k"))
	apply(t, two, storage.OutcomeSettled, complete(c))
	apply(t, one, storage.OutcomeReplay, reserve("k"))
	hammer(t, 8, 50, one, two)
}

// hammer lets goroutines reserve and settle names, most of which they share; every grant has to be the only one.
func hammer(t *testing.T, goroutines, rounds int, stores ...*sqlite.Store) {
	t.Helper()
	failures := make([]error, goroutines)
	var mu sync.Mutex
	granted := map[string]int{}
	var all sync.WaitGroup
	for g := range goroutines {
		store := stores[g%len(stores)]
		all.Go(func() {
			for i := range rounds {
				key := fmt.Sprint("shared-", i)
				if i%8 == 0 {
					key = fmt.Sprint("own-", g, "-", i)
				}
				acquired, err := lifeOf(t, store, reserve(key))
				if err != nil {
					failures[g] = fmt.Errorf("round %d: %w", i, err)
					return
				}
				if acquired {
					mu.Lock()
					granted[key]++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	for key, n := range granted {
		if n != 1 {
			t.Errorf("%s was granted %d times", key, n)
		}
	}
	if want := (rounds+7)/8*goroutines + rounds - (rounds+7)/8; len(granted) != want {
		t.Errorf("%d names were granted, want %d", len(granted), want)
	}
}

// lifeOf reserves a name and, if it was granted, settles it.
func lifeOf(t *testing.T, s storage.Store, c storage.Reserve) (acquired bool, err error) {
	switch a := s.Apply(t.Context(), []storage.Call{c})[0]; a.Outcome {
	case storage.OutcomeInProgress, storage.OutcomeReplay:
		return false, nil
	case storage.OutcomeAcquired:
	default:
		return false, fmt.Errorf("reserve: %v, %w", a.Outcome, a.Err)
	}
	if a := s.Apply(t.Context(), []storage.Call{complete(c)})[0]; a.Outcome != storage.OutcomeSettled {
		return true, fmt.Errorf("complete: %v, %w", a.Outcome, a.Err)
	}
	return true, nil
}
