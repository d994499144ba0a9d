package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/sqlite"
)

// A path is a path, not an address: nothing in it is decoded or cut off.
func TestOddPaths(t *testing.T) {
	for _, name := range []string{"with space.db", "q?mode=memory.db", "100%.db", "%41.db", "a#b.db", "a&b=c.db",
		"file:x.db", "ключ é.db", "'quoted\".db", "a+b.db", "semi;colon.db", ":memory:"} {
		folder := filepath.Join(t.TempDir(), "in "+name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, name)
		s := openAt(t, path)
		apply(t, s, storage.OutcomeAcquired, reserve("k"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(folder)
		if err != nil || len(files) != 1 || files[0].Name() != name {
			t.Errorf("%q: the folder holds %v (%v)", name, files, err)
		}
		apply(t, openAt(t, path), storage.OutcomeInProgress, reserve("k"))
	}
}

// Both see that there are no tables, and both want to make them.
func TestANewFileCanBeOpenedByManyAtOnce(t *testing.T) {
	for range 3 {
		path := filepath.Join(t.TempDir(), "reprise.db")
		const openers = 4
		stores, errs := make([]*sqlite.Store, openers), make([]error, openers)
		var all sync.WaitGroup
		for i := range openers {
			all.Go(func() { stores[i], errs[i] = sqlite.Open(context.Background(), path) })
		}
		all.Wait()
		for i, s := range stores {
			if errs[i] != nil {
				t.Errorf("opener %d: %v", i, errs[i])
				continue
			}
			defer s.Close()
			apply(t, s, []storage.Outcome{storage.OutcomeAcquired, storage.OutcomeInProgress}[min(i, 1)], reserve("k"))
		}
	}
}

// Everything is over at its end, and not a microsecond earlier.
func TestTheVeryInstant(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "reprise.db"))
	start := time.Now().Truncate(time.Microsecond)
	at := func(d time.Duration) { s.SetClock(func() time.Time { return start.Add(d) }) }
	const tick = time.Microsecond

	at(0)
	c := reserve("k")
	c.Lease, c.Retention = time.Second, time.Minute
	apply(t, s, storage.OutcomeAcquired, c)
	at(time.Second - tick)
	apply(t, s, storage.OutcomeInProgress, reserve("k"))
	at(time.Second)
	next := reserve("k")
	next.Lease, next.Retention = time.Second, time.Minute
	apply(t, s, storage.OutcomeAcquired, next)

	end := 2*time.Second + time.Minute // of the lease that was taken over, and of the record that nobody settles
	at(end - tick)
	apply(t, s, storage.OutcomeFound, storage.Lookup{Name: c.Name})
	at(end)
	apply(t, s, storage.OutcomeNotFound, storage.Lookup{Name: c.Name})
	apply(t, s, storage.OutcomeLeaseLost, complete(next))
	apply(t, s, storage.OutcomeLeaseLost, storage.Heartbeat{Name: c.Name, Token: next.Token})
}

// The clock of a machine can be set back: the fence rises all the same, and no lease is granted beside a live one.
func TestAClockThatIsSetBack(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "reprise.db"))
	c := reserve("k")
	first := apply(t, s, storage.OutcomeAcquired, c)
	s.SetClock(func() time.Time { return time.Now().Add(-time.Hour) })
	apply(t, s, storage.OutcomeInProgress, reserve("k"))
	apply(t, s, storage.OutcomeReleased, storage.Release{Name: c.Name, Token: c.Token})
	if second := apply(t, s, storage.OutcomeAcquired, reserve("k")); second.Fence != first.Fence+1 {
		t.Errorf("the fence went from %d to %d", first.Fence, second.Fence)
	}
}

// A name that is acquired more often than once in a microsecond has a fence ahead of the clock. The next record of that
// name goes on from there.
func TestAFenceAheadOfTheClockOutlivesItsRecord(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "reprise.db"))
	start := time.Now()
	s.SetClock(func() time.Time { return start })
	var calls []storage.Call
	for range 2000 {
		c := reserve("k")
		c.Retention = time.Millisecond
		calls = append(calls, c, storage.Release{Name: c.Name, Token: c.Token})
	}
	answers := s.Apply(t.Context(), calls)
	last := answers[len(answers)-1].Record
	s.SetClock(func() time.Time { return start.Add(time.Millisecond) })
	apply(t, s, storage.OutcomeNotFound, storage.Lookup{Name: last.Name})
	if next := apply(t, s, storage.OutcomeAcquired, reserve("k")); next.Fence != last.Fence+1 {
		t.Errorf("the fence went from %d to %d", last.Fence, next.Fence)
	}
}
