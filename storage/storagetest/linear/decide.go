package linear

import (
	"fmt"

	"github.com/reprise-idempotency/reprise/storage"
)

// step is one thing that a call may come to.
type step struct {
	outcome storage.Outcome
	next    state         // as the answer shows it
	shows   storage.State // the derived state of next
	at      standing      // of the name before
	grants  bool          // it is a new acquisition
}

// decide gives all that a call may come to if it is decided within now.
func (s state) decide(op *Op, now span) (steps []step) {
	for _, at := range s.standings(now) {
		for _, step := range s.decideAt(op, at, s.when(at, now)) {
			if at != absent && s.ended() && !step.next.equal(s) {
				continue // nothing is written to a record that has ended
			}
			step.at = at
			steps = append(steps, step)
		}
	}
	return steps
}

func (s state) decideAt(op *Op, at standing, now span) []step {
	switch c := op.Call.(type) {
	case storage.Reserve:
		return s.reserve(c, at, now)
	case storage.Complete:
		return []step{s.complete(c, op.Content, at)}
	case storage.Release:
		return []step{s.release(c, at)}
	case storage.Heartbeat:
		return []step{s.heartbeat(c, at, now)}
	case storage.Lookup:
		return []step{s.lookup(c, at)}
	case storage.Resolve:
		return []step{s.resolve(c, op.Content, at)}
	case storage.Expire:
		return []step{s.expire(c, at, now)}
	}
	panic(fmt.Sprintf("linear: no rule for a %T", op.Call))
}

// unchanged is an outcome with the record as it stood before.
func (s state) unchanged(o storage.Outcome, at standing) step {
	return step{outcome: o, next: s, shows: s.shows(at)}
}

// changed is an outcome that changed the record in a way that callers must notice.
func (s state) changed(o storage.Outcome, change func(*state)) step {
	s.version = ""
	change(&s)
	return step{outcome: o, next: s, shows: s.stored}
}

func (s state) lookup(c storage.Lookup, at standing) step {
	switch {
	case at == absent:
		return s.unchanged(storage.OutcomeNotFound, at)
	case c.Fingerprint != "" && !s.fits(c.Fingerprint):
		return s.unchanged(storage.OutcomeFingerprintMismatch, at)
	}
	return s.unchanged(storage.OutcomeFound, at)
}
