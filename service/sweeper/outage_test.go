package sweeper_test

import (
	"errors"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// Ensure that an outage of the store in the middle of a pass ends it with an error that says so, with what was done
// until then reported, and that the next pass goes on.
func TestAnOutageEndsThePass(t *testing.T) {
	server := pgtest.NewServer(t)
	f := onPostgresAt(t, server.URL("postgres"))
	f.db.SetMaxIdleConns(0) // no connection of the test's own outlives the server
	f.completeAll("settled", 2500)
	f.age("settled", 5)
	deletions := 0
	f.sweeper.Store = hooked{Sweeper: f.store, beforeDelete: func([]storage.Sweepable) {
		if deletions++; deletions == 2 {
			server.Stop()
		}
	}}
	r, err := f.sweeper.RunOnce(f.ctx())
	if !errors.Is(err, storage.ErrUnavailable) {
		t.Fatalf("got %v, want ErrUnavailable", err)
	}
	if got, want := countedIn(r), (counted{Due: 2000, Deleted: 1000}); got != want {
		t.Errorf("the broken pass: got %+v, want %+v", got, want)
	}
	if r, err := f.sweeper.RunOnce(f.ctx()); !errors.Is(err, storage.ErrUnavailable) || r.Due != 0 {
		t.Errorf("a pass during the outage: got %+v, %v, want ErrUnavailable", r, err)
	}
	server.Start()
	if got, want := countedIn(f.sweep()), (counted{Due: 1500, Deleted: 1500}); got != want {
		t.Errorf("the pass after the outage: got %+v, want %+v", got, want)
	}
}

// Ensure that Run outlives an outage: it tells of a pass that was broken off, and sweeps when the store is back.
func TestRunOutlivesAnOutage(t *testing.T) {
	server := pgtest.NewServer(t)
	f := onPostgresAt(t, server.URL("postgres"))
	f.db.SetMaxIdleConns(0) // no connection of the test's own outlives the server
	f.completeAll("settled", 10)
	f.age("settled", 5)
	server.Stop()
	passes := f.observed(t)
	if p := <-passes; !errors.Is(p.err, storage.ErrUnavailable) {
		t.Fatalf("during the outage: got %v, want ErrUnavailable", p.err)
	}
	server.Start()
	for p := range passes {
		if p.err == nil {
			break
		}
	}
	if got := f.rows("settled"); got != 0 {
		t.Errorf("got %d rows after the outage, want none", got)
	}
}

// Ensure that a store which is closed ends a pass with ErrUnavailable.
func TestAClosedStoreEndsThePass(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		if err := f.store.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := f.sweeper.RunOnce(f.ctx()); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("got %+v, %v, want ErrUnavailable", r, err)
		}
	})
}
