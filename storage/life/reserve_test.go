package life_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/life"
)

// Ensure that a late duplicate of the latest acquisition or of one of the four before it is known, and that of an older
// one is not. The number stands here and not by its name: it is part of the contract.
func TestFourEarlierAttemptsAreKnown(t *testing.T) {
	now := time.UnixMicro(1_800_000_000_000_000)
	var row *storage.Record
	call := func(c storage.Call) storage.Answer {
		answer, next := life.Decide(row, c, now)
		if next != nil {
			row = next
		}
		return answer
	}
	reserve := func(attempt int) storage.Reserve {
		return storage.Reserve{Name: name, Fingerprint: "f", AttemptID: fmt.Sprint("attempt-", attempt), Token: storage.Token{byte(attempt)},
			Lease: time.Minute, Retention: time.Hour}
	}
	for attempt := 1; attempt <= 6; attempt++ {
		if a := call(reserve(attempt)); a.Outcome != storage.OutcomeAcquired {
			t.Fatalf("attempt %d: got %v", attempt, a.Outcome)
		}
		call(storage.Release{Name: name, Token: storage.Token{byte(attempt)}})
	}
	for attempt, want := range map[int]storage.Outcome{6: storage.OutcomeLeaseLost, 5: storage.OutcomeLeaseLost, 4: storage.OutcomeLeaseLost, 3: storage.OutcomeLeaseLost,
		2: storage.OutcomeLeaseLost, 1: storage.OutcomeAcquired} {
		if answer, _ := life.Decide(row, reserve(attempt), now); answer.Outcome != want {
			t.Errorf("a duplicate of attempt %d: got %v, want %v", attempt, answer.Outcome, want)
		}
	}
}
