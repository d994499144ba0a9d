package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
)

// Somebody has a transaction open on a row: the call that needs it gives up within the limit and has changed nothing;
// all others are served meanwhile.
func TestALockHeldByAStranger(t *testing.T) {
	address := migrated(t)
	s, stranger, observer := open(t, address, postgres.Options{}), connect(t, address), connect(t, address)
	holder := reserve("locked")
	before := apply(t, s, storage.OutcomeAcquired, holder)
	unlock := lock(t, stranger, holder.Name)
	answered := begin(t, s, complete(holder))
	waiter(t, observer, stranger)

	served := 0
	var answer storage.Answer
	for waiting := true; waiting; {
		select {
		case answers := <-answered:
			answer, waiting = answers[0], false
		case <-time.After(30 * time.Second):
			t.Fatal("no answer while the row is locked")
		default:
			c := reserve(storage.NewToken().String())
			apply(t, s, storage.OutcomeAcquired, c)
			apply(t, s, storage.OutcomeSettled, complete(c))
			apply(t, s, storage.OutcomeFound, lookup(holder)) // reading waits for nobody
			served++
		}
	}
	fails(t, answer, storage.ErrUnavailable)
	if served < 10 {
		t.Errorf("only %d other callers were served while one waited", served)
	}
	if diff := cmp.Diff(before, apply(t, s, storage.OutcomeFound, lookup(holder))); diff != "" {
		t.Errorf("the record changed:\n%s", diff)
	}
	unlock()
	apply(t, s, storage.OutcomeSettled, complete(holder))
}

// A connection that dies in the middle of a write may have written: this is neither a failure nor a success.
func TestAConnectionThatDiesDuringAWrite(t *testing.T) {
	address := migrated(t)
	s, stranger, observer := open(t, address, postgres.Options{}), connect(t, address), connect(t, address)
	holder := reserve("locked")
	apply(t, s, storage.OutcomeAcquired, holder)
	unlock := lock(t, stranger, holder.Name)
	answered := begin(t, s, complete(holder))
	exec(t, observer, `SELECT pg_terminate_backend($1)`, waiter(t, observer, stranger))
	fails(t, (<-answered)[0], storage.ErrOutcomeUnknown)
	unlock()
	apply(t, s, storage.OutcomeSettled, complete(holder)) // the repeat tells
}

// A write that was sent is waited for, whatever the caller does, because it may be stored.
func TestACallerWhoLeavesDuringAWriteStillGetsItsOutcome(t *testing.T) {
	address := migrated(t)
	s, stranger, observer := open(t, address, postgres.Options{}), connect(t, address), connect(t, address)
	holder := reserve("locked")
	apply(t, s, storage.OutcomeAcquired, holder)
	unlock := lock(t, stranger, holder.Name)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	answered := make(chan storage.Answer, 1)
	go func() { answered <- s.Apply(ctx, []storage.Call{complete(holder)})[0] }()
	waiter(t, observer, stranger)
	leave()
	unlock()
	if a := <-answered; a.Err != nil || a.Outcome != storage.OutcomeSettled {
		t.Errorf("got %v, %v", a.Outcome, a.Err)
	}
	apply(t, s, storage.OutcomeReplay, reserve("locked"))
}

// What a lease promises counts from before the wait: no lease is said to be good for longer than it is.
func TestALeaseIsNotBornLongerByAWait(t *testing.T) {
	address := migrated(t)
	s, stranger, observer := open(t, address, postgres.Options{}), connect(t, address), connect(t, address)
	holder := reserve("locked")
	apply(t, s, storage.OutcomeAcquired, holder)
	unlock := lock(t, stranger, holder.Name)
	began := time.Now()
	answered := begin(t, s, storage.Heartbeat{Name: holder.Name, Token: holder.Token, Lease: 2 * time.Hour})
	waiter(t, observer, stranger)
	waited := time.Now()
	unlock()
	a := (<-answered)[0]
	if a.Err != nil || a.Outcome != storage.OutcomeRenewed {
		t.Fatalf("got %v, %v", a.Outcome, a.Err)
	}
	if early, late := began.Add(2*time.Hour), waited.Add(2*time.Hour); a.GoodUntil.Before(early) || a.GoodUntil.After(late) {
		t.Errorf("good until %v; it must lie between %v and %v", a.GoodUntil, early, late)
	}
}

// Ensure that a settlement which waited for a lock counts its retention from when it was written.
func TestARetentionIsNotShortenedByAWait(t *testing.T) {
	address := migrated(t)
	s, stranger, observer := open(t, address, patient), connect(t, address), connect(t, address)
	c := reserve("k")
	apply(t, s, storage.OutcomeAcquired, c)
	unlock := lock(t, stranger, c.Name)
	settlement := complete(c)
	settlement.Retention = time.Second
	answers := begin(t, s, settlement)
	waiter(t, observer, stranger)
	exec(t, stranger, `SELECT pg_sleep(0.3)`)
	var unlocked time.Time
	if err := stranger.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&unlocked); err != nil {
		t.Fatal(err)
	}
	unlock()
	a := (<-answers)[0]
	if a.Outcome != storage.OutcomeSettled || a.Record.SettledAt.Before(unlocked) || a.Record.ExpiresAt.Sub(a.Record.SettledAt) != time.Second {
		t.Errorf("got %+v, %v; want a second from %v on", a.Record, a.Err, unlocked)
	}
}
