package linear

import "github.com/reprise-idempotency/reprise/storage"

// reserve goes down the rows of the contract's table; the first that fits is the answer.
func (s state) reserve(c storage.Reserve, at standing, now span) []step {
	inProgress := at == live || at == abandoned || at == uncertain
	switch {
	case at == absent:
		return []step{s.acquire(c, at, now)}
	case !s.fits(c.Fingerprint):
		return []step{s.unchanged(storage.OutcomeFingerprintMismatch, at)}
	case inProgress && c.AttemptID != "" && c.AttemptID == s.attemptID:
		return s.acquireAgain(at, now)
	case at == live:
		return []step{s.unchanged(storage.OutcomeInProgress, at)}
	case (at == abandoned || at == released) && s.isStray(c.AttemptID):
		return []step{s.unchanged(storage.OutcomeLeaseLost, at)}
	case at == uncertain:
		return []step{s.unchanged(storage.OutcomeUncertain, at)}
	case at == abandoned, at == released:
		return []step{s.acquire(c, at, now)}
	case s.responseDropped:
		return []step{s.unchanged(storage.OutcomeResponseUnavailable, at)}
	}
	return []step{s.unchanged(storage.OutcomeReplay, at)}
}

// acquire begins a new attempt, of a new record if there is none. All that a reserve sets is set afresh; what the record has learned stays.
func (s state) acquire(c storage.Reserve, at standing, now span) step {
	if at == absent {
		s.record = record{}
	}
	acquired := s.changed(storage.OutcomeAcquired, func(n *state) {
		n.earlier = s.withEarlier()
		n.stored, n.attempt = storage.InProgress, s.attempt+1
		n.token, n.takeover = c.Token, at == abandoned
		n.attemptID, n.fingerprint = c.AttemptID, c.Fingerprint
		n.hold, n.lease, n.end = c.OnLapse == storage.Hold, c.Lease, now.add(c.Lease)
		n.fence, n.floor = 0, max(s.fence, s.floor)+1
	})
	acquired.grants = true
	return acquired
}

// acquireAgain answers the repeat of the reserve that made the latest acquisition. Only the end of its lease may move,
// later and no further than that of a fresh one, as by a heartbeat that says nothing else.
func (s state) acquireAgain(at standing, now span) []step {
	moved := s.renew(storage.Heartbeat{}, at, now)
	moved.outcome = storage.OutcomeAcquired
	return []step{s.unchanged(storage.OutcomeAcquired, at), moved}
}

func (s state) withEarlier() [storage.KeptAttemptIDs]string {
	ids := s.earlier
	if s.attemptID != "" {
		copy(ids[1:], s.earlier[:])
		ids[0] = s.attemptID
	}
	return ids
}
