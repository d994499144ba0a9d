package service

import (
	"context"
	"time"

	"github.com/reprise-idempotency/reprise/client/fingerprint"
	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// ReserveRequest asks for the right to do the work. A nil field was not given.
type ReserveRequest struct {
	Name
	Fingerprint *string              // exactly one of this …
	Request     *fingerprint.Request // … and this
	AttemptID   *string
	Lease       *time.Duration
	Retention   *time.Duration
	OnLapse     *string
	Holder      *string
	Wait        *time.Duration // how long to wait while somebody else holds a live lease; nil: not at all
}

// Grant is a lease. The zero GoodUntil belongs to none.
type Grant struct {
	Record
	// GoodUntil is an instant of this process's monotonic clock before which the lease has certainly not run out.
	GoodUntil time.Time
}

// Reservation is the answer to a reserve that was not refused: a lease, or what was done before.
type Reservation struct {
	Acquired bool
	Grant    // with Acquired its lease; else only the record, with its response
}

// Reserve acquires the key, or gives the response of whoever was first. Needs the scope keys:write. Refusals:
// CodeInProgress, CodeUncertain, CodeLeaseLost (a stray duplicate), CodeFingerprintMismatch, CodeResponseUnavailable.
func (s *Service) Reserve(ctx context.Context, p auth.Principal, r ReserveRequest) (Reservation, error) {
	got, waiting, err := s.ReserveOrWait(ctx, p, r)
	if waiting != nil {
		waiting.Await(ctx)
		return waiting.Reservation(ctx)
	}
	return got, err
}

// ReserveOrWait is [Service.Reserve] in two steps: when the call has to wait, that is left to the caller, who may want to
// do it where it costs least.
func (s *Service) ReserveOrWait(ctx context.Context, p auth.Principal, r ReserveRequest) (Reservation, *Waiting, error) {
	checked, err := r.call(s, p)
	if err != nil {
		return Reservation{}, nil, err
	}
	call := checked.(storage.Reserve)
	a, err := s.acquire(ctx, call)
	if err != nil {
		return Reservation{}, nil, err
	}
	if a.Outcome == storage.OutcomeInProgress && r.Wait != nil {
		return Reservation{}, &Waiting{service: s, call: call, atMost: *r.Wait, found: a}, nil
	}
	got, err := reservation(a)
	return got, nil, err
}

func reservation(a storage.Answer) (Reservation, error) {
	if a.Outcome == storage.OutcomeAcquired || a.Outcome == storage.OutcomeReplay {
		return Reservation{Acquired: a.Outcome == storage.OutcomeAcquired, Grant: grant(a)}, nil
	}
	return Reservation{}, refuse(a)
}

// leaseTries bounds how often a lease is extended because the store took more than half of it to confirm it.
const leaseTries = 3

func (s *Service) acquire(ctx context.Context, call storage.Reserve) (storage.Answer, error) {
	return s.confirm(ctx, call, s.store.Apply(ctx, []storage.Call{call})[0])
}

// confirm extends a lease that comes back with less than half of it left, before anybody is told that it was acquired: a
// lease is counted from when it was written, and the writing may have waited for locks or for the disk; the answer to a
// repeated attempt_id may find it nearly over.
func (s *Service) confirm(ctx context.Context, call storage.Reserve, a storage.Answer) (storage.Answer, error) {
	err := answered(a)
	for try := 0; err == nil && isShort(a); try++ {
		if try == leaseTries {
			return a, tooLate(nil)
		}
		extended, failed := s.apply(ctx, extension(a))
		switch {
		case failed != nil:
			return a, tooLate(failed) // the acquisition itself is stored
		case extended.Outcome == storage.OutcomeRenewed:
			a = acquiredAs(extended)
		default: // somebody took over in between
			call.Token = storage.NewToken()
			a, err = s.apply(ctx, call)
		}
	}
	return a, err
}

// isShort tells that a lease was acquired of which less than half is left.
func isShort(a storage.Answer) bool {
	return a.Err == nil && a.Outcome == storage.OutcomeAcquired && time.Until(a.GoodUntil) < a.Record.Lease/2
}

func extension(a storage.Answer) storage.Heartbeat {
	return storage.Heartbeat{Name: a.Record.Name, Token: a.Record.Token}
}

// acquiredAs gives the answer of an acquisition that was extended.
func acquiredAs(extended storage.Answer) storage.Answer {
	extended.Outcome = storage.OutcomeAcquired
	return extended
}

// tooLate says that a lease was stored, and could not be confirmed with enough of it left.
func tooLate(cause error) *Error {
	return unanswered(CodeOutcomeUnknown, "the lease ran out faster than the store could confirm it; repeat the call with the same ids", cause)
}

func (r ReserveRequest) call(s *Service, p auth.Principal) (_ storage.Call, err error) {
	if err := allow(p, auth.KeysWrite); err != nil {
		return nil, err
	}
	var c storage.Reserve
	if c.Name, err = s.name(p, r.Name); err != nil {
		return c, err
	}
	if c.Fingerprint, err = fingerprintOf(r); err != nil {
		return c, err
	}
	if err = attemptID(r.AttemptID); err != nil {
		return c, err
	}
	if c.Lease, err = duration("lease", r.Lease, s.limits.Lease); err != nil {
		return c, err
	}
	if c.Retention, err = duration("retention", r.Retention, s.limits.Retention); err != nil {
		return c, err
	}
	if c.OnLapse, err = onLapse("on_lapse", r.OnLapse); err != nil {
		return c, err
	}
	if r.Wait != nil && (*r.Wait < time.Millisecond || *r.Wait > s.limits.Wait) {
		return c, Invalid("wait", "must be 1ms to %s", short(s.limits.Wait))
	}
	c.AttemptID, c.Holder, c.Token = valueOf(r.AttemptID), valueOf(r.Holder), storage.NewToken()
	return c, text("holder", c.Holder, 0, s.limits.Holder)
}

func fingerprintOf(r ReserveRequest) (string, error) {
	switch {
	case (r.Fingerprint == nil) == (r.Request == nil):
		return "", Invalid("fingerprint", "exactly one of fingerprint and request must be given")
	case r.Request != nil && isEmpty(*r.Request):
		return "", Invalid("request", "must have at least one field: nothing would be the same request as nothing")
	case r.Request != nil:
		return fingerprint.Of(*r.Request), nil
	}
	return *r.Fingerprint, ownFingerprint(*r.Fingerprint)
}

func isEmpty(r fingerprint.Request) bool {
	return r.Method == "" && r.Target == "" && len(r.Headers) == 0 && r.ContentType == "" && len(r.Body) == 0
}

func grant(a storage.Answer) Grant {
	return Grant{Record: Record{Record: a.Record, Now: a.Now}, GoodUntil: a.GoodUntil}
}
