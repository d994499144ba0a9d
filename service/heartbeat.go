package service

import (
	"context"
	"time"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// HeartbeatRequest extends a lease. A nil field was not given.
type HeartbeatRequest struct {
	Name
	LeaseToken string
	Lease      *time.Duration
	Checkpoint *storage.Checkpoint
	OnLapse    *string
}

// maxSeq is the largest integer that every JSON implementation reads exactly.
const maxSeq = 1<<53 - 1

// Heartbeat extends the lease from now, notes a checkpoint of a higher seq, and turns on_lapse to hold; it never takes
// anything back. Needs the scope keys:write. Refusal: CodeLeaseLost.
func (s *Service) Heartbeat(ctx context.Context, p auth.Principal, r HeartbeatRequest) (Grant, error) {
	a, err := s.one(ctx, p, r)
	if err != nil {
		return Grant{}, err
	}
	return renewed(a)
}

func renewed(a storage.Answer) (Grant, error) {
	if a.Outcome != storage.OutcomeRenewed {
		return Grant{}, refuse(a)
	}
	return grant(a), nil
}

func (r HeartbeatRequest) call(s *Service, p auth.Principal) (_ storage.Call, err error) {
	if err := allow(p, auth.KeysWrite); err != nil {
		return nil, err
	}
	var c storage.Heartbeat
	if c.Name, err = s.name(p, r.Name); err != nil {
		return c, err
	}
	if r.Lease != nil {
		if c.Lease, err = duration("lease", r.Lease, s.limits.Lease); err != nil {
			return c, err
		}
	}
	if c.Checkpoint, err = s.checkpoint(r.Checkpoint); err != nil {
		return c, err
	}
	lapse, err := onLapse("on_lapse", r.OnLapse)
	if err != nil {
		return c, err
	}
	c.Hold = lapse == storage.Hold
	c.Token, err = token(r.LeaseToken)
	return c, err
}

func (s *Service) checkpoint(c *storage.Checkpoint) (*storage.Checkpoint, error) {
	if c == nil {
		return nil, nil
	}
	if c.Seq < 1 || c.Seq > maxSeq {
		return nil, Invalid("checkpoint.seq", "must be 1 to %d", maxSeq)
	}
	return c, length("checkpoint.data", c.Data, 0, s.limits.Checkpoint)
}
