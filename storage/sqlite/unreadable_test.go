package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/column"
)

// Ensure that a row which cannot be read fails the calls on its own name alone, and is no outage.
func TestAnUnreadableRowIsNoOutage(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "reprise.db"))
	apply(t, s, storage.OutcomeAcquired, reserve("broken"))
	apply(t, s, storage.OutcomeAcquired, reserve("whole"))
	if _, err := s.Pools()["writer"].ExecContext(t.Context(), `UPDATE reprise_keys SET headers = x'00' WHERE key = 'broken'`); err != nil {
		t.Fatal(err)
	}
	answers := s.Apply(t.Context(), []storage.Call{storage.Lookup{Name: reserve("broken").Name}, storage.Lookup{Name: reserve("whole").Name}})
	if err := answers[0].Err; !errors.Is(err, column.ErrUnreadable) || errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("the broken row: got %v, want an error of its own", err)
	}
	if answers[1].Outcome != storage.OutcomeFound {
		t.Errorf("its neighbour: got %v, %v", answers[1].Outcome, answers[1].Err)
	}
}

// Ensure that a store without its table is not ready.
func TestNotReadyWithoutTheTable(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "reprise.db"))
	if err := s.Ready(t.Context()); err != nil {
		t.Fatalf("with its table: %v", err)
	}
	if _, err := s.Pools()["writer"].ExecContext(t.Context(), `DROP TABLE reprise_keys`); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, storage.ErrUnavailable)
	}
}
