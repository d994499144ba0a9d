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
	if err := allow(p, auth.KeysWrite); err != nil {
		return Record{}, err
	}
	name, err := s.name(p, r.Name)
	if err != nil {
		return Record{}, err
	}
	call := storage.Release{Name: name, Reason: valueOf(r.Reason), Forget: r.Forget}
	if err := reason(call.Reason, s.limits.Reason); err != nil {
		return Record{}, err
	}
	if call.Token, err = token(r.LeaseToken); err != nil {
		return Record{}, err
	}
	// A caller who hangs up now still means it. The store bounds the wait itself.
	return s.expect(context.WithoutCancel(ctx), call, storage.OutcomeReleased)
}

// reason may be an error text of several lines.
func reason(s string, most int) error {
	if err := length("reason", s, 0, most); err != nil {
		return err
	}
	if strings.ContainsRune(s, 0) {
		return Invalid("reason", "must not contain NUL")
	}
	return nil
}
