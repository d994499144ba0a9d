// Package waiting holds callers whose name somebody else has a lease on, until it is settled, released or lapsed.
//
// A waiter costs a goroutine of its caller's and a place in a queue; it holds no database connection. Who settles or
// releases a name through this process wakes its waiters at once (see [Room.Watch]); what other processes do, and leases
// that run out, are found by one query for all names that are waited for. Whoever is woken is answered by the store, as
// if the call had just come; all that are woken together share one group.
package waiting

import (
	"context"
	"sync"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// Limits bound a room.
type Limits struct {
	Total     int // waiters
	PerTenant int // of them, so that one tenant leaves room for the others
}

// Room is where the callers of one process wait. It is safe for concurrent use.
type Room struct {
	store    store
	limits   Limits
	observer Observer

	mu        sync.Mutex
	closed    bool
	total     int
	byTenant  map[string]int
	queues    map[storage.Name]*queue
	polling   bool            // the poll runs while somebody waits
	ready     []*queue        // to be answered, in the order in which they became ready
	answering int             // groups that are answered now
	work      sync.WaitGroup  // poll and answerers
	stop      context.Context // over when the room is closed
	cancel    context.CancelFunc
}

// store is what a room asks.
type store interface {
	storage.Applier
	storage.Watcher
}

// queue is who waits for one name, first come first.
type queue struct {
	name    storage.Name
	waiters []*waiter
	ready   bool // it is in Room.ready
	busy    bool // its waiters are being answered
	again   bool // it became ready meanwhile
}

type waiter struct {
	ctx    context.Context
	call   *storage.Reserve
	answer chan storage.Answer // takes the one answer without waiting
	left   bool                // it has given up its place and takes whatever the answer is
}

// New makes an empty room. observer may be nil.
func New(s store, l Limits, observer Observer) *Room {
	r := &Room{store: s, limits: l, observer: observer, byTenant: map[string]int{}, queues: map[storage.Name]*queue{}}
	if r.observer == nil {
		r.observer = nobody{}
	}
	r.stop, r.cancel = context.WithCancel(context.Background())
	return r
}

// Wait waits until the call comes to something else than in progress, and gives that. There is an answer with the end
// [Answered] alone; it may be an error of the store's.
func (r *Room) Wait(ctx context.Context, call *storage.Reserve, atMost time.Duration) (answer storage.Answer, end End) {
	w := &waiter{ctx: ctx, call: call, answer: make(chan storage.Answer, 1)}
	if !r.enter(w) {
		r.observer.WaitEnded(Refused, 0)
		return answer, Refused
	}
	began := time.Now()
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	end = Answered
	select {
	case answer = <-w.answer:
	case <-timer.C:
		end = TimedOut
	case <-ctx.Done():
		end = Gone
	case <-r.stop.Done():
		end = ShutDown
	}
	if !r.leave(w) && end != Answered {
		answer = <-w.answer // it is being answered just now: that may be a lease, which must not be lost
		if answer.Outcome != storage.OutcomeInProgress {
			end = Answered
		}
	}
	told := end
	if end == Answered && answer.Err != nil {
		told = Failed
	}
	r.observer.WaitEnded(told, time.Since(began))
	return answer, end
}

// Waiters tells how many wait now.
func (r *Room) Waiters() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// SendAway sends everybody away and lets nobody in any more.
func (r *Room) SendAway() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
}

// Close does the same, and waits for what is under way in the store.
func (r *Room) Close() {
	r.SendAway()
	r.work.Wait()
}

func (r *Room) enter(w *waiter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	tenant := w.call.Tenant
	if r.closed || r.total >= r.limits.Total || r.byTenant[tenant] >= r.limits.PerTenant {
		return false
	}
	r.total++
	r.byTenant[tenant]++
	q := r.queues[w.call.Name]
	if q == nil {
		q = &queue{name: w.call.Name}
		r.queues[q.name] = q
	}
	q.waiters = append(q.waiters, w)
	if !r.polling {
		r.polling = true
		r.work.Go(r.poll)
	}
	return true
}

// leave gives up the place of a waiter. It tells whether the waiter was still in its queue: one that is not has been
// answered, or is being answered.
func (r *Room) leave(w *waiter) (waited bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total--
	if r.byTenant[w.call.Tenant]--; r.byTenant[w.call.Tenant] == 0 {
		delete(r.byTenant, w.call.Tenant)
	}
	q := r.queues[w.call.Name]
	if q == nil { // it was answered, and nobody else waits
		return false
	}
	for i, other := range q.waiters {
		if other == w {
			q.waiters = append(q.waiters[:i:i], q.waiters[i+1:]...)
			waited = true
			break
		}
	}
	w.left = true
	r.dropIfEmpty(q)
	return waited
}

// dropIfEmpty forgets a name that nobody waits for. r.mu is held.
func (r *Room) dropIfEmpty(q *queue) {
	if len(q.waiters) == 0 && !q.busy && !q.ready {
		delete(r.queues, q.name)
	}
}
