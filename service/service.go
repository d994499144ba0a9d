// Package service is what Reprise does: it checks what callers ask, within the limits, and puts it to a store. It knows
// nothing of HTTP and nothing of SQL; the API, and whatever else comes to speak to it, asks the same methods.
package service

import (
	"context"
	"errors"
	"time"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// Service answers calls on keys. It is safe for concurrent use.
type Service struct {
	store  storage.Store
	limits Limits
}

// New makes a service over a store. The limits must be valid; see [Limits.Validate].
func New(store storage.Store, limits Limits) *Service {
	return &Service{store: store, limits: limits}
}

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
	switch {
	case a.Err == nil:
		return a, nil
	case errors.Is(a.Err, storage.ErrOutcomeUnknown):
		return a, unanswered(CodeOutcomeUnknown, "the store did not confirm the change: it may have been made; repeat the call with the same ids", a.Err)
	case errors.Is(a.Err, storage.ErrUnavailable):
		return a, unanswered(CodeStoreUnavailable, "the store cannot be reached: nothing was changed; repeat the call", a.Err)
	}
	return a, &Error{Code: CodeInternal, Detail: "the call could not be stored: nothing was changed", cause: a.Err}
}

// expect puts one call and gives the record when it comes to the outcome that was hoped for; any other refuses.
func (s *Service) expect(ctx context.Context, call storage.Call, hoped storage.Outcome) (Record, error) {
	a, err := s.apply(ctx, call)
	if err != nil {
		return Record{}, err
	}
	if a.Outcome != hoped {
		return Record{}, refuse(a)
	}
	return Record{Record: a.Record, Now: a.Now}, nil
}

// allow checks the caller's right to a call.
func allow(p auth.Principal, scope auth.Scope) error {
	if p.Has(scope) {
		return nil
	}
	return &Error{Code: CodeForbidden, Detail: "the token lacks the scope " + string(scope)}
}
