package linear

import "github.com/reprise-idempotency/reprise/storage"

// isVersion tells whether a version is the record's. One that nobody has seen is not what an operator looked at: they
// learn it from an answer, and that comes before what they do with it.
func (s state) isVersion(version string) bool { return version != "" && s.version == version }

func (s state) resolve(c storage.Resolve, content Content, at standing) step {
	switch {
	case at == absent:
		return s.unchanged(storage.OutcomeNotFound, at)
	case !s.isVersion(c.Version):
		return s.unchanged(storage.OutcomeVersionConflict, at)
	case at == settled, at == released:
		return s.unchanged(storage.OutcomeAlreadyCompleted, at)
	case at == live && !c.Force:
		return s.unchanged(storage.OutcomeInProgress, at)
	}
	return s.changed(storage.OutcomeResolved, func(n *state) {
		if c.To == storage.Released {
			n.giveBack(c.By.Reason)
			n.token = storage.Token{} // nobody has the one that it gets
			return
		}
		n.settle(c.To, content, c.Response != nil && c.Response.BodyDropped, true)
	})
}

// expire ends what is over: the name is absent from now on. The fence goes on.
func (s state) expire(c storage.Expire, at standing, now span) step {
	switch {
	case at == absent:
		return s.unchanged(storage.OutcomeNotFound, at)
	case !s.isVersion(c.Version):
		return s.unchanged(storage.OutcomeVersionConflict, at)
	case at != settled && at != released:
		return s.unchanged(storage.OutcomeInProgress, at)
	}
	return s.changed(storage.OutcomeExpired, func(n *state) { n.ending = now })
}
