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

// Ensure that the fence rises with every acquisition: within one microsecond, with a clock that is set back, and over the
// end of a record.
func TestFenceRisesWhateverTheClockSays(t *testing.T) {
	now := time.UnixMicro(1_800_000_000_000_000)
	var row *storage.Record
	for i, at := range []time.Time{now, now, now.Add(-time.Hour), now.Add(time.Hour), now.Add(time.Hour)} {
		token := storage.Token{byte(i + 1)}
		_, next := life.Decide(row, storage.Reserve{Name: name, Fingerprint: "f", Token: token, Lease: time.Second, Retention: time.Second}, at)
		if want := max(at.UnixMicro(), fenceOf(row)+1); fenceOf(next) != want {
			t.Errorf("acquisition %d: got fence %d, want %d", i+1, fenceOf(next), want)
		}
		_, row = life.Decide(next, storage.Release{Name: name, Token: token}, at)
	}
}

func fenceOf(r *storage.Record) int64 {
	if r == nil {
		return 0
	}
	return r.Fence
}
