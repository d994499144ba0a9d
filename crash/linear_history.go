package main

import (
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

// operationsOf turns what was sent into a history. What was denied, or never left, must not have happened: it is left
// out, so that nothing explains what it did all the same. Leases run by the store's clock, which is off ours by no more
// than slack: it is that of the same machine.
func operationsOf(calls []*sentCall, base time.Time, slack time.Duration) (ops []linear.Op) {
	wall := base.Round(0) // the clock of leases, without the monotonic one
	for _, s := range calls {
		op := linear.Op{Client: s.client, Call: s.call, Content: s.stands(), Sent: s.sent, Returned: s.answered,
			Earliest: wall.Add(s.sent - slack), Latest: wall.Add(s.answered + slack), Answer: s.answer}
		if s.batch != 0 && !s.isConfirmed() {
			op.Group, op.Order = s.batch, s.order
		}
		for range s.extraDecisions() {
			extra := op
			extra.Answer, extra.Bounded, extra.Group = nil, s.fate != unknown, 0
			ops = append(ops, extra)
		}
		if s.fate == answered || s.fate == unknown {
			ops = append(ops, op)
		}
	}
	return ops
}

// A lease of which less than half is left when the store has confirmed it is extended before its caller is told, or
// acquired again if somebody took over meanwhile: one call is then decided several times. Those before the last are
// calls without an answer.

// isConfirmed tells that the call may be decided again, and then later than its place in a batch.
func (s *sentCall) isConfirmed() bool {
	r, ok := s.call.(storage.Reserve)
	return ok && r.Lease < longLease
}

// mostDecisions is how often the service tries to confirm a lease.
const mostDecisions = 3

// extraDecisions is how often the call may have been decided before the time that was answered: it took half of the lease
// each time.
func (s *sentCall) extraDecisions() int {
	if !s.isConfirmed() || s.fate == unsent {
		return 0
	}
	return min(mostDecisions, int((s.answered-s.sent)/(s.call.(storage.Reserve).Lease/2)))
}
