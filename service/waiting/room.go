// Package waiting holds callers whose name somebody else has a lease on, until it is settled, released or lapsed.
//
// A waiter costs a place in a queue; it holds no database connection, and no goroutine of the room's. Who settles or
// releases a name through this process wakes its waiters at once (see [Room.Watch]); what other processes do, and leases
// that run out, are found by one query for all names that are waited for. Whoever is woken is answered by the store, as
// if the call had just come; all that are woken together share one group.
package waiting

import (
	"context"
	"slices"
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
	asked   []*waiter // for whom the store is asked just now
	ready   bool      // it is in Room.ready
	again   bool      // it became ready while the store was asked
}

type waiter struct {
	ctx   context.Context
	call  *storage.Reserve
	done  func(storage.Answer, End)
	began time.Time
	timer *time.Timer
	stop  func() bool // looking for the end of ctx
	left  End         // why it has given up its place while the store is asked; else empty
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
func (r *Room) Wait(ctx context.Context, call *storage.Reserve, atMost time.Duration) (storage.Answer, End) {
	type ended struct {
		answer storage.Answer
		end    End
	}
	done := make(chan ended, 1)
	r.Enter(ctx, call, atMost, func(answer storage.Answer, end End) { done <- ended{answer, end} })
	e := <-done
	return e.answer, e.end
}

// Enter is [Room.Wait] that comes back at once, and keeps no goroutine: done is told what Wait gives, exactly once. It must
// not block: others are told after it.
func (r *Room) Enter(ctx context.Context, call *storage.Reserve, atMost time.Duration, done func(storage.Answer, End)) {
	w := &waiter{ctx: ctx, call: call, done: done, began: time.Now()}
	if !r.enter(w, atMost) {
		r.observer.WaitEnded(Refused, 0)
		done(storage.Answer{}, Refused)
	}
}

// end tells a waiter, who has no place any more. r.mu is not held.
func (r *Room) end(w *waiter, answer storage.Answer, end End) {
	w.timer.Stop()
	w.stop()
	told := end
	if end == Answered && answer.Err != nil {
		told = Failed
	}
	r.observer.WaitEnded(told, time.Since(w.began))
	w.done(answer, end)
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
	r.cancel()
	var all []*waiter
	for _, q := range r.queues {
		all = append(append(all, q.waiters...), q.asked...)
	}
	r.mu.Unlock()
	for _, w := range all {
		r.leave(w, ShutDown)
	}
}

// Close does the same, and waits for what is under way in the store.
func (r *Room) Close() {
	r.SendAway()
	r.work.Wait()
}

// HasPlace tells whether one more of a tenant could enter just now. Others may be faster.
func (r *Room) HasPlace(tenant string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasPlace(tenant)
}

func (r *Room) hasPlace(tenant string) bool {
	return !r.closed && r.total < r.limits.Total && r.byTenant[tenant] < r.limits.PerTenant
}

func (r *Room) enter(w *waiter, atMost time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	tenant := w.call.Tenant
	if !r.hasPlace(tenant) {
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
	w.timer = time.AfterFunc(atMost, func() { r.leave(w, TimedOut) })
	w.stop = context.AfterFunc(w.ctx, func() { r.leave(w, Gone) })
	if !r.polling {
		r.polling = true
		r.work.Go(r.poll)
	}
	return true
}

// leave gives up the place of a waiter, and with it its wait. If the store is asked for it just now, the answer may be a
// lease, which must not be lost: it is told after that.
func (r *Room) leave(w *waiter, end End) {
	r.mu.Lock()
	waited := r.giveUp(w, end)
	r.mu.Unlock()
	if waited {
		r.end(w, storage.Answer{}, end)
	}
}

// giveUp tells whether the waiter was in its queue. r.mu is held.
func (r *Room) giveUp(w *waiter, end End) (waited bool) {
	q := r.queues[w.call.Name]
	if q == nil || w.left != "" { // it is over
		return false
	}
	i := slices.Index(q.waiters, w)
	switch {
	case i >= 0:
		q.waiters = slices.Delete(q.waiters, i, i+1)
	case slices.Contains(q.asked, w):
		w.left = end
	default:
		return false
	}
	r.freePlace(w)
	r.dropIfEmpty(q)
	return i >= 0
}

// freePlace gives a place back. r.mu is held.
func (r *Room) freePlace(w *waiter) {
	r.total--
	if r.byTenant[w.call.Tenant]--; r.byTenant[w.call.Tenant] == 0 {
		delete(r.byTenant, w.call.Tenant)
	}
}

// dropIfEmpty forgets a name that nobody waits for. r.mu is held.
func (r *Room) dropIfEmpty(q *queue) {
	if len(q.waiters) == 0 && len(q.asked) == 0 && !q.ready {
		delete(r.queues, q.name)
	}
}
