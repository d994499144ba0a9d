package postgres_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

const shortly = 300 * time.Millisecond // a limit for what is known to wait in vain

// Ensure that a database without the tables is not ready, and that the error says how to make them.
func TestReadyAsksForTheTables(t *testing.T) {
	address := pgtest.URL(t)
	s := open(t, address, postgres.Options{})
	err := s.Ready(t.Context())
	if !errors.Is(err, postgres.ErrSchema) || !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "reprise migrate up") {
		t.Errorf("without tables: got %v; want ErrSchema, with the command that mends it", err)
	}
	fails(t, one(t, s, reserve("k")), storage.ErrUnavailable)
	migrate(t, address)
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("with tables: %v", err)
	}
	apply(t, s, storage.OutcomeAcquired, reserve("k"))
	exec(t, connect(t, address), `DELETE FROM reprise_migrations WHERE version_id > 0`)
	if err := s.Ready(t.Context()); !errors.Is(err, postgres.ErrSchema) || !strings.Contains(err.Error(), "reprise migrate up") {
		t.Errorf("with older tables: got %v; want ErrSchema, with the command that mends it", err)
	}
}

// Ensure that a database that is read-only is not ready.
func TestReadyAsksForADatabaseThatTakesWrites(t *testing.T) {
	s := open(t, with(t, migrated(t), "default_transaction_read_only", "on"), postgres.Options{})
	if err := s.Ready(t.Context()); !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("got %v; want ErrUnavailable that says why", err)
	}
	fails(t, one(t, s, reserve("k")), storage.ErrUnavailable)
}

// A service starts before its database, is told of every outage, and serves when the database is back, though every
// connection in its pool has died.
func TestAServerThatGoesAwayAndComesBack(t *testing.T) {
	server := pgtest.NewServer(t)
	address := server.URL("postgres")
	migrate(t, address)
	server.Stop()
	s := open(t, address, postgres.Options{})
	down := func() {
		t.Helper()
		if err := s.Ready(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Ready: got %v, want ErrUnavailable", err)
		}
		fails(t, one(t, s, reserve("k")), storage.ErrUnavailable)
	}
	down()
	for _, stop := range []func(){server.Stop, server.StopImmediate} {
		server.Start()
		fillPool(t, s)
		stop()
		down()
	}
	server.Start()
	fillPool(t, s)
	server.Stop()
	server.Start()
	apply(t, s, storage.OutcomeAcquired, reserve("k"))
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
}

// fillPool opens every connection that the pool may have.
func fillPool(t *testing.T, s *postgres.Store) {
	t.Helper()
	for range s.Pool().Config().MaxConns {
		conn, err := s.Pool().Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
}

// When the server neither answers nor hangs up, only our own clock ends the wait. A read has changed nothing; a write
// that was sent may have.
func TestAServerThatFreezes(t *testing.T) {
	server := pgtest.NewServer(t)
	address := server.URL("postgres")
	migrate(t, address)
	s := open(t, address, postgres.Options{ReadTimeout: shortly, WriteTimeout: shortly})
	stranger, observer := connect(t, address), connect(t, address)
	holder := reserve("k")
	apply(t, s, storage.OutcomeAcquired, holder)
	fillPool(t, s)

	server.Pause()
	fails(t, one(t, s, reserve("k")), storage.ErrUnavailable)
	if err := s.Ready(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Ready: got %v, want ErrUnavailable", err)
	}
	server.Resume()

	unlock := lock(t, stranger, holder.Name)
	answered := begin(t, s, complete(holder))
	waiter(t, observer, stranger)
	fails(t, (<-answered)[0], storage.ErrOutcomeUnknown)
	unlock()
	apply(t, s, storage.OutcomeSettled, complete(holder)) // the repeat tells
}

func TestMigratingTwiceIsHarmless(t *testing.T) {
	address := migrated(t)
	s := open(t, address, postgres.Options{})
	c := reserve("k")
	apply(t, s, storage.OutcomeAcquired, c)
	migrate(t, address)
	apply(t, s, storage.OutcomeSettled, complete(c))
}

func TestMigratingByManyAtOnce(t *testing.T) {
	address := pgtest.URL(t)
	const migrators = 4
	errs := make([]error, migrators)
	var all sync.WaitGroup
	for i := range migrators {
		all.Go(func() {
			m, err := postgres.Migrator(address)
			if err == nil {
				_, err = m.Up(t.Context())
				err = errors.Join(err, m.Close())
			}
			errs[i] = err
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	apply(t, open(t, address, postgres.Options{}), storage.OutcomeAcquired, reserve("k"))
}
