package service

import (
	"context"
	"strings"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// ReleaseRequest gives a key back undone. A nil field was not given.
type ReleaseRequest struct {
	Name
	LeaseToken string
	Reason     *string
	Forget     bool
}

// Release gives the key back undone, so that the next reserve acquires it. Needs the scope keys:write. Refusals:
// CodeLeaseLost, CodeAlreadyCompleted.
func (s *Service) Release(ctx context.Context, p auth.Principal, r ReleaseRequest) (Record, error) {
	// A caller who hangs up now still means it. The store bounds the wait itself.
	a, err := s.one(context.WithoutCancel(ctx), p, r)
	if err != nil {
		return Record{}, err
	}
	return recordOf(a, storage.OutcomeReleased)
}

func (r ReleaseRequest) call(s *Service, p auth.Principal) (_ storage.Call, err error) {
	if err := allow(p, auth.KeysWrite); err != nil {
		return nil, err
	}
	c := storage.Release{Reason: valueOf(r.Reason), Forget: r.Forget}
	if c.Name, err = s.name(p, r.Name); err != nil {
		return c, err
	}
	if err := reason(c.Reason, 0, s.limits.Reason); err != nil {
		return c, err
	}
	c.Token, err = token(r.LeaseToken)
	return c, err
}

// reason may be an error text of several lines.
func reason(s string, least, most int) error {
	if err := length("reason", s, least, most); err != nil {
		return err
	}
	if strings.ContainsRune(s, 0) {
		return Invalid("reason", "must not contain NUL")
	}
	return nil
}
