package linear

import (
	"cmp"

	"github.com/reprise-idempotency/reprise/storage"
)

// owned is where the name stands for who shows this token: to all but the latest holder it is as good as absent.
func (s state) owned(t storage.Token, at standing) standing {
	if !s.owns(t) {
		return absent
	}
	return at
}

func (s state) complete(c storage.Complete, content Content, at standing) step {
	switch s.owned(c.Token, at) {
	case live, abandoned, uncertain:
		dropped := c.Response != nil && c.Response.BodyDropped
		return s.changed(storage.OutcomeSettled, func(n *state) { n.settle(c.Result, content, dropped, false) })
	case settled:
		if !s.byOperator && s.content == content {
			return s.unchanged(storage.OutcomeSettled, at)
		}
		return s.unchanged(storage.OutcomeAlreadyCompleted, at)
	}
	return s.unchanged(storage.OutcomeLeaseLost, at)
}

func (s *state) settle(result storage.State, content Content, dropped, byOperator bool) {
	s.stored, s.content, s.responseDropped, s.byOperator = result, content, dropped, byOperator
	s.end = span{}
}

func (s state) release(c storage.Release, at standing) step {
	switch s.owned(c.Token, at) {
	case live, abandoned, uncertain:
		return s.changed(storage.OutcomeReleased, func(n *state) {
			n.giveBack(c.Reason)
			if c.Forget {
				n.fingerprint, n.checkpoint = "", storage.Checkpoint{}
			}
		})
	case released:
		return s.unchanged(storage.OutcomeReleased, at)
	case settled:
		return s.unchanged(storage.OutcomeAlreadyCompleted, at)
	}
	return s.unchanged(storage.OutcomeLeaseLost, at)
}

func (s *state) giveBack(reason string) {
	s.stored, s.reason, s.end = storage.Released, reason, span{}
}

func (s state) heartbeat(c storage.Heartbeat, at standing, now span) step {
	switch s.owned(c.Token, at) {
	case live, abandoned, uncertain:
		return s.renew(c, at, now)
	}
	return s.unchanged(storage.OutcomeLeaseLost, at)
}

// renew extends the lease. Only one that does no more than that, to a live lease, leaves the version as it is.
func (s state) renew(c storage.Heartbeat, at standing, now span) step {
	more := at != live
	next := s
	if c.Hold && !s.hold {
		next.hold, more = true, true
	}
	if c.Checkpoint != nil && (s.checkpoint == storage.Checkpoint{} || c.Checkpoint.Seq > s.checkpoint.Seq) {
		next.checkpoint, more = *c.Checkpoint, true
	}
	next.end = now.add(cmp.Or(c.Lease, s.lease))
	if at == live {
		next.end = next.end.latest(s.end)
	}
	if more {
		next.version = ""
	}
	return step{outcome: storage.OutcomeRenewed, next: next, shows: storage.InProgress}
}
