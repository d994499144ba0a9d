package waiting

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

const (
	// pollPause is between two looks: short enough that nobody notices, and at most 20 a second.
	pollPause = 60 * time.Millisecond
	// pollShare bounds what polling costs the store: a look that took long is followed by a pause this many times as long, so
	// that no more than a third of a connection is busy with it.
	pollShare = 2
)

// poll looks for names that nobody holds any more, while somebody waits.
func (r *Room) poll() {
	pause := pollPause
	for {
		select {
		case <-r.stop.Done():
			return
		case <-time.After(pause + rand.N(pollPause/4)): // so that replicas do not ask in step
		}
		names, ok := r.waitedFor()
		if !ok {
			return
		}
		if len(names) == 0 { // all of them are being answered just now
			continue
		}
		began := time.Now()
		err := r.look(r.stop, names)
		took := time.Since(began)
		if r.stop.Err() != nil { // the look was broken off
			return
		}
		r.observer.Polled(len(names), took, err)
		pause = max(pollPause, pollShare*took)
	}
}

// waitedFor gives the names to ask for; ok is false when nobody waits, and the poll ends.
func (r *Room) waitedFor() (names []storage.Name, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queues) == 0 {
		r.polling = false
		return nil, false
	}
	names = make([]storage.Name, 0, len(r.queues))
	for name, q := range r.queues {
		if len(q.asked) == 0 && !q.ready {
			names = append(names, name)
		}
	}
	return names, true
}

// look asks for all names in one query. An outage leaves everybody waiting: it may be over before their time is.
func (r *Room) look(ctx context.Context, names []storage.Name) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	held, err := r.store.Held(ctx, names)
	if err != nil {
		return err
	}
	var free []storage.Name
	for i, name := range names {
		if !held[i] {
			free = append(free, name)
		}
	}
	r.wake(free)
	return nil
}
