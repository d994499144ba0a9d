package service

import (
	"context"
	"time"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// CompleteRequest settles a key. A nil field was not given.
type CompleteRequest struct {
	Name
	LeaseToken string
	Result     *string
	Response   *Response
	ResourceID *string
	Retention  *time.Duration
}

// Complete settles the key with the outcome of the work: while nobody else acquired it, also after the lease ran out.
// A repeat of the same call gets the same answer. Needs the scope keys:write. It is never refused for the content of
// the response, a status outside of 100 to 999 apart: what cannot be kept of it is dropped and marked. Refusals:
// CodeLeaseLost, CodeAlreadyCompleted.
func (s *Service) Complete(ctx context.Context, p auth.Principal, r CompleteRequest) (Record, error) {
	// The effect has happened: a caller who hangs up now still means it. The store bounds the wait itself.
	a, err := s.one(context.WithoutCancel(ctx), p, r)
	if err != nil {
		return Record{}, err
	}
	return recordOf(a, storage.OutcomeSettled)
}

func (r CompleteRequest) call(s *Service, p auth.Principal) (_ storage.Call, err error) {
	if err := allow(p, auth.KeysWrite); err != nil {
		return nil, err
	}
	var c storage.Complete
	if c.Name, err = s.name(p, r.Name); err != nil {
		return c, err
	}
	if c.Result, err = resultOf(r.Result); err != nil {
		return c, err
	}
	if r.Retention != nil {
		if c.Retention, err = duration("retention", r.Retention, s.limits.Retention); err != nil {
			return c, err
		}
	}
	c.ResourceID = valueOf(r.ResourceID)
	if err = text("resource_id", c.ResourceID, 0, s.limits.ResourceID); err != nil {
		return c, err
	}
	if c.Response, err = s.storable(r.Response); err != nil {
		return c, err
	}
	c.ResultHash = resultHash(c.Result, c.ResourceID, r.Response)
	c.Token, err = token(r.LeaseToken)
	return c, err
}

func resultOf(s *string) (storage.State, error) {
	if s == nil {
		return storage.Completed, nil
	}
	for _, state := range []storage.State{storage.Completed, storage.Failed} {
		if *s == state.String() {
			return state, nil
		}
	}
	return 0, Invalid("result", `must be "completed" or "failed"`)
}
