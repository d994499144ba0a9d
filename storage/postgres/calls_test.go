package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage"
)

func reserve(key string) storage.Reserve {
	return storage.Reserve{Name: storage.Name{Tenant: "t", Operation: "op", Subject: "s", Key: key}, Fingerprint: "fp",
		AttemptID: storage.NewToken().String(), Token: storage.NewToken(), Lease: time.Hour, Retention: 24 * time.Hour}
}

func complete(c storage.Reserve) storage.Complete {
	return storage.Complete{Name: c.Name, Token: c.Token, Result: storage.Completed, ResultHash: []byte("hash"),
		Response: &storage.Response{Status: 200, Body: []byte("done")}}
}

func lookup(c storage.Reserve) storage.Lookup { return storage.Lookup{Name: c.Name} }

// one sends one call on a context that ends only when the store hangs.
func one(t *testing.T, s storage.Store, c storage.Call) storage.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.Apply(ctx, []storage.Call{c})[0]
}

// apply sends one call, which has to come to an outcome.
func apply(t *testing.T, s storage.Store, want storage.Outcome, c storage.Call) *storage.Record {
	t.Helper()
	a := one(t, s, c)
	if a.Err != nil || a.Outcome != want {
		t.Fatalf("%T: got %v, %v; want %v", c, a.Outcome, a.Err, want)
	}
	return a.Record
}

// fails asserts that a call ended in a kind of error.
func fails(t *testing.T, a storage.Answer, want error) {
	t.Helper()
	if !errors.Is(a.Err, want) || a.Outcome != 0 {
		t.Fatalf("got %v, %v; want: %v", a.Outcome, a.Err, want)
	}
}

// begin sends a call that has to wait; the answer comes through the channel.
func begin(t *testing.T, s storage.Store, calls ...storage.Call) <-chan []storage.Answer {
	t.Helper()
	answers := make(chan []storage.Answer, 1)
	go func() { answers <- s.Apply(context.WithoutCancel(t.Context()), calls) }()
	return answers
}

// lock lets a stranger hold the row of a name until the function that it gives is called.
func lock(t *testing.T, stranger *pgx.Conn, n storage.Name) (unlock func()) {
	t.Helper()
	exec(t, stranger, "BEGIN")
	lockToo(t, stranger, n)
	return func() { t.Helper(); exec(t, stranger, "ROLLBACK") }
}

func lockToo(t *testing.T, stranger *pgx.Conn, n storage.Name) {
	t.Helper()
	exec(t, stranger, `SELECT FROM reprise_keys WHERE (tenant, operation, subject, key) = ($1, $2, $3, $4) FOR UPDATE`,
		n.Tenant, n.Operation, n.Subject, n.Key)
}

// waiter waits until a connection is stopped by the stranger's lock, and gives its process id.
func waiter(t *testing.T, observer, stranger *pgx.Conn) (pid int) {
	t.Helper()
	eventually(t, "nobody waits for the lock", func() bool {
		err := observer.QueryRow(t.Context(), `SELECT pid FROM pg_stat_activity WHERE $1::int = ANY (pg_blocking_pids(pid))`,
			stranger.PgConn().PID()).Scan(&pid)
		return err == nil
	})
	return pid
}

// eventually asks until a condition holds.
func eventually(t *testing.T, otherwise string, holds func() bool) {
	t.Helper()
	for giveUp := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(giveUp) {
			t.Fatal(otherwise)
		}
	}
}
