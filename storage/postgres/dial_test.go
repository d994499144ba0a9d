package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// Ensure that a change which was sent is not cancelled when our wait for it ends: its outcome is told as unknown, and the
// server alone ends it.
func TestAChangeThatWasSentIsNotCancelled(t *testing.T) {
	server := pgtest.NewServer(t)
	address := server.URL("postgres")
	migrate(t, address)
	s := open(t, address, postgres.Options{ReadTimeout: time.Minute, WriteTimeout: 200 * time.Millisecond})
	stranger := connect(t, address)
	c := reserve("k")
	apply(t, open(t, address, patient), storage.OutcomeAcquired, c)
	unlock := lock(t, stranger, c.Name)
	defer unlock()
	fails(t, one(t, s, storage.Heartbeat{Name: c.Name, Token: c.Token, Hold: true}), storage.ErrOutcomeUnknown)
	eventually(t, "the statement waits for ever", func() bool { return strings.Contains(server.Log(), "canceling statement") })
	if log := server.Log(); strings.Contains(log, "due to user request") || !strings.Contains(log, "due to lock timeout") {
		t.Errorf("the server did not end the statement by itself:\n%s", log)
	}
}

// Ensure that a database that begins to acknowledge what it has not written is noticed on connections that were made
// before, by calls and by readiness.
func TestSynchronousCommitThatIsSwitchedOff(t *testing.T) {
	address := migrated(t)
	s := open(t, address, postgres.Options{MaxConns: 1, ReadTimeout: time.Minute})
	apply(t, s, storage.OutcomeAcquired, reserve("k"))
	if _, err := s.Pool().Exec(t.Context(), `SET synchronous_commit = off`); err != nil { // as a reload does
		t.Fatal(err)
	}
	fails(t, one(t, s, reserve("l")), storage.ErrUnavailable)
	if err := s.Ready(t.Context()); err == nil {
		t.Error("the store says that it is ready")
	}
}
