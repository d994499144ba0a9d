package postgres_test

import (
	"errors"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/column"
)

// Ensure that a row which cannot be read fails the calls on its own name alone, and is no outage.
func TestAnUnreadableRowIsNoOutage(t *testing.T) {
	address := migrated(t)
	s, operator := open(t, address, patient), connect(t, address)
	apply(t, s, storage.OutcomeAcquired, reserve("broken"))
	apply(t, s, storage.OutcomeAcquired, reserve("whole"))
	exec(t, operator, `UPDATE reprise_keys SET headers = 'no JSON' WHERE key = 'broken'`)
	answers := s.Apply(t.Context(), []storage.Call{storage.Lookup{Name: reserve("broken").Name}, storage.Lookup{Name: reserve("whole").Name}})
	if err := answers[0].Err; !errors.Is(err, column.ErrUnreadable) || errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("the broken row: got %v, want an error of its own", err)
	}
	if answers[1].Outcome != storage.OutcomeFound {
		t.Errorf("its neighbour: got %v, %v", answers[1].Outcome, answers[1].Err)
	}
}
