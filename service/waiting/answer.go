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
	case len(q.asked) > 0:
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
	for len(r.ready) > 0 && len(queues) < groupNames && len(waiters) < groupWaiters {
		q := r.ready[0]
		r.ready, q.ready = r.ready[1:], false
		waiting := q.waiters
		q.waiters = nil
		for _, w := range waiting {
			if w.ctx.Err() != nil {
				q.waiters = append(q.waiters, w) // it leaves by itself
			} else {
				q.asked = append(q.asked, w)
			}
		}
		if len(q.asked) > 0 {
			queues, waiters = append(queues, q), append(waiters, q.asked...)
		}
		r.dropIfEmpty(q)
	}
	if len(queues) == 0 {
		r.ready = nil
		r.answering--
	}
	return queues, waiters
}

// answer puts the calls of a group to the store. Those that come to in progress wait on, in their old places.
func (r *Room) answer(queues []*queue, waiters []*waiter) {
	calls := make([]storage.Call, len(waiters))
	for i, w := range waiters {
		calls[i] = *w.call
	}
	answers := r.apply(calls)
	for i, end := range r.conclude(queues, waiters, answers) {
		if end != "" {
			r.end(waiters[i], answers[i], end)
		}
	}
}

// conclude says how the wait of each waiter of a group ended, and puts those back for whom it did not.
func (r *Room) conclude(queues []*queue, waiters []*waiter, answers []storage.Answer) (ends []End) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ends = make([]End, len(waiters))
	back := map[storage.Name][]*waiter{}
	for i, w := range waiters {
		switch {
		case answers[i].Outcome != storage.OutcomeInProgress:
			ends[i] = Answered
		case w.left != "":
			ends[i] = w.left
		default:
			back[w.call.Name] = append(back[w.call.Name], w)
			continue
		}
		if w.left == "" {
			r.freePlace(w)
		}
	}
	for _, q := range queues {
		q.waiters, q.asked = append(back[q.name], q.waiters...), nil
		if q.again {
			q.again = false
			r.enqueue(q)
		}
		r.dropIfEmpty(q)
	}
	return ends
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
