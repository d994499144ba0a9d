package waiting

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/reprise-idempotency/reprise/storage"
)

// Bounds on a group of waiters that are answered together: it reads all bodies of its names at once. All waiters of one name
// are always in one group.
const (
	groupNames   = 64
	groupWaiters = 512 // no more names are added from here on
	groupsAside  = 4   // groups at the same time, so that waiters leave connections to other calls
)

// wake makes the waiters of names be answered by the store.
func (r *Room) wake(names []storage.Name) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range names {
		if q := r.queues[n]; q != nil {
			r.enqueue(q)
		}
	}
}

// enqueue makes a queue ready. r.mu is held.
func (r *Room) enqueue(q *queue) {
	switch {
	case q.busy:
		q.again = true
	case !q.ready && !r.closed:
		q.ready = true
		r.ready = append(r.ready, q)
		if r.answering < groupsAside {
			r.answering++
			r.work.Go(r.answerReady)
		}
	}
}

// answerReady answers groups until nothing is ready.
func (r *Room) answerReady() {
	for {
		queues, waiters := r.takeReady()
		if len(queues) == 0 {
			return
		}
		r.answer(queues, waiters)
	}
}

// takeReady takes the next group and all its waiters, those apart whose callers have gone.
func (r *Room) takeReady() (queues []*queue, waiters []*waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ready) == 0 {
		r.ready = nil
		r.answering--
		return nil, nil
	}
	for len(r.ready) > 0 && len(queues) < groupNames && len(waiters) < groupWaiters {
		q := r.ready[0]
		queues, r.ready = append(queues, q), r.ready[1:]
		q.ready, q.busy = false, true
		waiting := q.waiters
		q.waiters = nil
		for _, w := range waiting {
			if w.ctx.Err() != nil {
				q.waiters = append(q.waiters, w) // it leaves by itself
			} else {
				waiters = append(waiters, w)
			}
		}
	}
	return queues, waiters
}

// answer puts the calls of a group to the store. Those that come to in progress wait on, in their old places.
func (r *Room) answer(queues []*queue, waiters []*waiter) {
	var answers []storage.Answer
	if len(waiters) > 0 {
		calls := make([]storage.Call, len(waiters))
		for i, w := range waiters {
			calls[i] = *w.call
		}
		answers = r.apply(calls)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	back := map[storage.Name][]*waiter{}
	for i, w := range waiters {
		if answers[i].Outcome == storage.OutcomeInProgress && !w.left {
			back[w.call.Name] = append(back[w.call.Name], w)
		} else {
			w.answer <- answers[i]
		}
	}
	for _, q := range queues {
		q.waiters = append(back[q.name], q.waiters...)
		q.busy = false
		if q.again {
			q.again = false
			r.enqueue(q)
		}
		r.dropIfEmpty(q)
	}
}

// apply puts calls to the store, which bounds the time itself. No request stands behind this goroutine: a panic must not
// end the process. It may have come after the calls were done.
func (r *Room) apply(calls []storage.Call) (answers []storage.Answer) {
	defer func() {
		if p := recover(); p != nil {
			answers = make([]storage.Answer, len(calls))
			for i := range answers {
				answers[i].Err = fmt.Errorf("%w: %w", storage.ErrOutcomeUnknown, panicked(p))
			}
		}
	}()
	return r.store.Apply(context.Background(), calls)
}

func panicked(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }
