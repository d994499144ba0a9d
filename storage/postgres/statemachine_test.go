package postgres_test

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest"
)

// Ensures that random sequences of calls are answered as the reference model expects.
func TestStateMachine(t *testing.T) {
	storagetest.StateMachine(t, func(t *testing.T) storage.Store { return open(t, migrated(t), patient) })
}
