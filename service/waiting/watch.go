package waiting

import (
	"context"

	"github.com/reprise-idempotency/reprise/storage"
)

// Watch gives the store that a process has to use for its calls, so that those who wait in it learn at once what they
// wait for.
func (r *Room) Watch(s storage.Store) storage.Store { return watched{s, r} }

type watched struct {
	storage.Store
	room *Room
}

// Apply tells the room what ended a lease.
func (w watched) Apply(ctx context.Context, calls []storage.Call) []storage.Answer {
	answers := w.Store.Apply(ctx, calls)
	if w.room.Waiters() == 0 {
		return answers
	}
	var ended []storage.Name
	for i, a := range answers {
		switch a.Outcome {
		case storage.OutcomeSettled, storage.OutcomeReleased, storage.OutcomeResolved:
			ended = append(ended, calls[i].On())
		}
	}
	w.room.wake(ended)
	return answers
}
