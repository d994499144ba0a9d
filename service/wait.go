package service

import (
	"context"
	"time"

	"github.com/reprise-idempotency/reprise/service/waiting"
	"github.com/reprise-idempotency/reprise/storage"
)

// Waiting is a reserve that found another attempt in progress, and waits for it.
type Waiting struct {
	service *Service
	call    storage.Reserve
	atMost  time.Duration
	found   storage.Answer // what it came to before it waited
	answer  storage.Answer
	end     waiting.End
}

// HasPlace tells whether there is a place to wait just now.
func (w *Waiting) HasPlace() bool { return w.service.room.HasPlace(w.call.Tenant) }

// Await returns when the holder settled, released or lapsed, when the time is over, ctx ends, or the service goes down; at
// once when there is no place to wait.
func (w *Waiting) Await(ctx context.Context) {
	w.answer, w.end = w.service.room.Wait(ctx, &w.call, w.atMost)
}

// AwaitThen is Await that comes back at once, and keeps no goroutine meanwhile: then is called when Await would come back. It
// must not block.
func (w *Waiting) AwaitThen(ctx context.Context, then func()) {
	w.service.room.Enter(ctx, &w.call, w.atMost, func(answer storage.Answer, end waiting.End) {
		w.answer, w.end = answer, end
		then()
	})
}

// Reservation gives what the call comes to after the wait, as if it had just come. Those who could not wait, or not to the
// end, are told what was found before: thousands may be sent away at once, and the store is not asked by each of them.
func (w *Waiting) Reservation(ctx context.Context) (Reservation, error) {
	var err error
	switch w.end {
	case waiting.Answered:
		w.answer, err = w.service.confirm(ctx, w.call, w.answer)
	case waiting.TimedOut:
		w.answer, err = w.service.acquire(ctx, w.call)
	default:
		e := refuse(w.found)
		e.cause = context.Cause(ctx)
		return Reservation{}, e
	}
	if err != nil {
		return Reservation{}, err
	}
	return reservation(w.answer)
}
