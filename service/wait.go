package service

import (
	"context"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// Waiting is a reserve that finds another attempt in progress, and waits for it.
type Waiting struct {
	service *Service
	call    storage.Reserve
	atMost  time.Duration
	answer  storage.Answer
	ok      bool
}

// Await returns when the holder settled, released or lapsed, when the time is over, ctx ends, or the service goes down; at
// once when there is no place to wait.
func (w *Waiting) Await(ctx context.Context) {
	w.answer, w.ok = w.service.room.Wait(ctx, &w.call, w.atMost)
}

// Reservation gives what the call comes to after the wait, as if it had just come.
func (w *Waiting) Reservation(ctx context.Context) (Reservation, error) {
	var err error
	switch {
	case w.ok:
		w.answer, err = w.service.confirm(ctx, w.call, w.answer)
	case ctx.Err() != nil: // nobody is there to be answered, and it is no outage that they have gone
		err = &Error{Code: CodeInProgress, Detail: refusals[storage.OutcomeInProgress].Detail, cause: context.Cause(ctx)}
	default:
		w.answer, err = w.service.acquire(ctx, w.call)
	}
	if err != nil {
		return Reservation{}, err
	}
	return reservation(w.answer)
}
