// Package service is what Reprise does: it checks what callers ask, within the limits, and puts it to a store. It knows
// nothing of HTTP and nothing of SQL; the API, and whatever else comes to speak to it, asks the same methods.
package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/service/waiting"
	"github.com/reprise-idempotency/reprise/storage"
)

// Service answers calls on keys. It is safe for concurrent use.
type Service struct {
	store  storage.Store
	limits Limits
	room   *waiting.Room
	reads  *semaphore.Weighted
}

// readsAtOnce is how many lists, counts and logs are read at the same time, so that those who look leave the connections of the
// store to those who work. The others take turns.
const readsAtOnce = 3

// New makes a service over a store. The limits must be valid; see [Limits.Validate]. observer is told how waits go; it may
// be nil.
func New(store storage.Store, limits Limits, observer waiting.Observer) *Service {
	room := waiting.New(store, waiting.Limits{Total: limits.Waiters, PerTenant: limits.WaitersPerTenant}, observer)
	return &Service{store: room.Watch(store), limits: limits, room: room, reads: semaphore.NewWeighted(readsAtOnce)}
}

// StopWaiting answers everybody who waits as if nobody could; from now on nobody waits. It belongs to going down: all
// other calls are still answered.
func (s *Service) StopWaiting() { s.room.SendAway() }

// Close stops waiting too, and comes back when nothing of it is under way in the store.
func (s *Service) Close() { s.room.Close() }

// Waiters tells how many callers wait now.
func (s *Service) Waiters() int { return s.room.Waiters() }

// Limits gives what the service was made with.
func (s *Service) Limits() Limits { return s.limits }

// Ready tells whether calls can be served now; the error is CodeStoreUnavailable, whose cause says how to mend it.
func (s *Service) Ready(ctx context.Context) error {
	if err := s.store.Ready(ctx); err != nil {
		return unanswered(CodeStoreUnavailable, "the store cannot serve calls now; the log of the service says why", err)
	}
	return nil
}

// Name is what a caller names a record by; the tenant comes from who the caller is.
type Name struct {
	Operation string
	Subject   string
	Key       string
}

// Record is a record as it was at Now, an instant of the store's clock.
type Record struct {
	*storage.Record
	Now time.Time
}

// DerivedState is the state at Now: abandoned or uncertain when the lease has run out while in progress.
func (r Record) DerivedState() storage.State { return r.StateAt(r.Now) }

// apply puts one call to the store and turns what is not an answer into an [Error].
func (s *Service) apply(ctx context.Context, call storage.Call) (storage.Answer, error) {
	a := s.store.Apply(ctx, []storage.Call{call})[0]
	return a, answered(a)
}

// answered turns what is not an answer into an [Error].
func answered(a storage.Answer) error {
	var known *Error
	switch {
	case a.Err == nil:
		return nil
	case errors.As(a.Err, &known): // of ours already: what it was caused by would say something else
		return known
	case errors.Is(a.Err, storage.ErrOutcomeUnknown):
		return unanswered(CodeOutcomeUnknown, "the store did not confirm the change: it may have been made; repeat the call with the same ids", a.Err)
	case errors.Is(a.Err, storage.ErrUnavailable):
		return unanswered(CodeStoreUnavailable, "the store cannot be reached: nothing was changed; repeat the call", a.Err)
	}
	return &Error{Code: CodeInternal, Detail: "the call could not be stored: nothing was changed", cause: a.Err}
}

// look reads for somebody who looks, when it is their turn. The error is one of the store's.
func (s *Service) look(ctx context.Context, read func() error) error {
	if err := s.reads.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	defer s.reads.Release(1)
	return read()
}

// unread turns an error of a read into an [Error].
func unread(err error) error {
	if errors.Is(err, storage.ErrUnavailable) {
		return unanswered(CodeStoreUnavailable, "the store cannot be reached; repeat the call", err)
	}
	return &Error{Code: CodeInternal, Detail: "the store could not read what was asked for", cause: err}
}

// allow checks the caller's right to a call.
func allow(p auth.Principal, scope auth.Scope) error {
	if p.Has(scope) {
		return nil
	}
	return &Error{Code: CodeForbidden, Detail: "the token lacks the scope " + string(scope)}
}
