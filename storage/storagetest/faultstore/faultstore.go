// Package faultstore is a storage.Store around another one that fails on demand: it refuses a call, holds it up, or does it
// and loses the answer. Between faults it is the other store.
//
//	store := faultstore.New(real)
//	armed := store.Arm(faultstore.Fault{Kind: faultstore.Complete, Effect: faultstore.LoseAnswer})
//	answer := call()  // is settled, and the answer is storage.ErrOutcomeUnknown
//	<-armed.Fired()   // it did happen
//
//	armed = store.Arm(faultstore.Fault{Kind: faultstore.Reserve, Name: name, Nth: 2, Effect: faultstore.Hold})
//	go call()         // the second reserve of this name, counted from Arm
//	<-armed.Fired()   // it has come, and nothing is done yet
//	armed.Release()   // now it is
//
// Nothing is made up: what is not refused is done by the store within, under its own rules. In a group of calls each meets
// the faults by itself; but a group is one question to the store, so that whoever is held up holds up the whole of it.
package faultstore

import (
	"context"
	"sync"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// Store is a storage.Store that fails on demand. It is safe for concurrent use.
type Store struct {
	within  storage.Store
	closing chan struct{}
	once    sync.Once

	mu    sync.Mutex
	armed []*Armed
}

var _ storage.Store = (*Store)(nil)

// New puts a store around another one, which it closes when it is closed.
func New(within storage.Store) *Store { return &Store{within: within, closing: make(chan struct{})} }

// Close lets go whatever is held, and closes the store within: calls that were held before it get ErrUnavailable.
func (s *Store) Close() error {
	s.once.Do(func() { close(s.closing) })
	return s.within.Close()
}

// Apply answers a group of calls; see storage.Store.
func (s *Store) Apply(ctx context.Context, calls []storage.Call) []storage.Answer {
	met, all := make([][]*Armed, len(calls)), []*Armed(nil)
	for i, c := range calls {
		met[i] = s.meet(kindOf(c), c.On())
		all = append(all, met[i]...)
	}
	answers := make([]storage.Answer, len(calls))
	if err := s.hold(ctx, all); err != nil {
		for i := range answers {
			answers[i].Err = err
		}
		return answers
	}
	s.pass(ctx, calls, met, answers)
	s.holdAnswer(all)
	return answers
}

// pass lets the store within answer the calls that are not refused, and loses the answers that are to be lost.
func (s *Store) pass(ctx context.Context, calls []storage.Call, met [][]*Armed, answers []storage.Answer) {
	var passed []storage.Call
	var at []int
	for i, c := range calls {
		if has(met[i], Refuse) {
			answers[i].Err = errRefused
			continue
		}
		passed, at = append(passed, c), append(at, i)
	}
	if len(passed) > 0 || len(calls) == 0 {
		for i, a := range s.within.Apply(ctx, passed) {
			answers[at[i]] = a
		}
	}
	for i := range calls {
		if answers[i].Err == nil && has(met[i], LoseAnswer) {
			answers[i] = storage.Answer{Err: errLost}
		}
		fired(met[i], Refuse, LoseAnswer)
	}
}

// Held tells which names have a live lease; see storage.Store.
func (s *Store) Held(ctx context.Context, names []storage.Name) (held []bool, err error) {
	err = s.ask(ctx, Held, names, func() error { held, err = s.within.Held(ctx, names); return err }, func() { held = nil })
	return held, err
}

// List gives a page of records; see storage.Store.
func (s *Store) List(ctx context.Context, q storage.ListQuery) (p storage.Page, err error) {
	err = s.ask(ctx, List, nil, func() error { p, err = s.within.List(ctx, q); return err }, func() { p = storage.Page{} })
	return p, err
}

// Stats counts records; see storage.Store.
func (s *Store) Stats(ctx context.Context, tenant, operation string) (stats storage.Stats, err error) {
	err = s.ask(ctx, Stats, nil, func() error { stats, err = s.within.Stats(ctx, tenant, operation); return err }, func() { stats = storage.Stats{} })
	return stats, err
}

// Acts lists what operators did; see storage.Store.
func (s *Store) Acts(ctx context.Context, q storage.ActQuery) (acts []storage.Act, err error) {
	err = s.ask(ctx, Acts, nil, func() error { acts, err = s.within.Acts(ctx, q); return err }, func() { acts = nil })
	return acts, err
}

// Expired lists rows that may be swept; see storage.Store.
func (s *Store) Expired(ctx context.Context, after *storage.Sweepable, limit int) (rows []storage.Sweepable, now time.Time, err error) {
	err = s.ask(ctx, Expired, nil, func() error { rows, now, err = s.within.Expired(ctx, after, limit); return err },
		func() { rows, now = nil, time.Time{} })
	return rows, now, err
}

// Delete deletes rows that are due; see storage.Store.
func (s *Store) Delete(ctx context.Context, rows []storage.Sweepable) (deleted int, err error) {
	names := make([]storage.Name, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	err = s.ask(ctx, Delete, names, func() error { deleted, err = s.within.Delete(ctx, rows); return err }, func() { deleted = 0 })
	return deleted, err
}

// TrackOpen brings the list of open keys up to date; see storage.Store.
func (s *Store) TrackOpen(ctx context.Context, limit int) error {
	return s.ask(ctx, TrackOpen, nil, func() error { return s.within.TrackOpen(ctx, limit) }, func() {})
}

// OpenKeys counts open keys; see storage.Store.
func (s *Store) OpenKeys(ctx context.Context) (open storage.OpenKeys, err error) {
	err = s.ask(ctx, OpenKeys, nil, func() error { open, err = s.within.OpenKeys(ctx); return err }, func() { open = storage.OpenKeys{} })
	return open, err
}

// Ready tells whether calls can be served; see storage.Store.
func (s *Store) Ready(ctx context.Context) error {
	return s.ask(ctx, Ready, nil, func() error { return s.within.Ready(ctx) }, func() {})
}
