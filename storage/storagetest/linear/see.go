package linear

import "github.com/reprise-idempotency/reprise/storage"

// explains tells whether the step may have been answered like this, at an instant within now; after is the state with
// all that the answer shows.
func (s step) explains(a *Answer, now span) (after state, ok bool) {
	n := s.next
	if a.tells() {
		n.told++
	}
	switch {
	case a.Outcome != s.outcome:
		return after, false
	case s.at == absent && !s.grants:
		return n.sawEnd(s.at, now), a.Seen == nil
	case a.Outcome == storage.OutcomeAcquired && !n.seesToken(a, s.grants):
		return after, false
	case a.Seen == nil:
		return n.sawEnd(s.at, now), a.Outcome == storage.OutcomeFingerprintMismatch // which shows nothing over HTTP
	}
	ok = s.looksLike(a) && n.seesFence(a.Seen.Fence) && n.seesVersion(a.Seen.Version) && n.seesEnd(a.Seen, now)
	return n.sawEnd(s.at, now), ok
}

// sawEnd is the state after a call has told whether a record that an operator ended was still there.
func (s state) sawEnd(at standing, now span) state {
	switch {
	case !s.ended():
	case at == absent && now.to.Before(s.ending.to):
		s.ending.to = now.to
	case at != absent && now.from.After(s.ending.from):
		s.ending.from = now.from
	}
	return s
}

// looksLike compares what the model knows for certain.
func (s step) looksLike(a *Answer) bool {
	n, seen := s.next, a.Seen
	return seen.State == s.shows && seen.Hold == n.hold && seen.Attempt == n.attempt && seen.Fingerprint == n.fingerprint &&
		seen.Checkpoint == n.checkpoint && seen.Reason == n.reason &&
		(seen.Content == n.content || seen.Content == "" && !n.mustShow(a.Outcome))
}

// mustShow tells whether an answer has to show the content of the settlement.
func (s *state) mustShow(o storage.Outcome) bool {
	switch o {
	case storage.OutcomeReplay, storage.OutcomeResponseUnavailable, storage.OutcomeFound:
		return s.stored.Settled()
	}
	return false
}

// seesToken binds the token of an acquisition: that of a new one must be new.
func (s *state) seesToken(a *Answer, isNew bool) bool {
	unseen := s.token == (storage.Token{})
	switch {
	case a.Token == (storage.Token{}) || a.Takeover != s.takeover:
		return false
	case !unseen && a.Token != s.token:
		return false
	case unseen || isNew:
		s.token = a.Token
		return s.isNew("token " + a.Token.String())
	}
	return true
}

// seesFence binds the fence, which must be higher than all before it.
func (s *state) seesFence(fence int64) bool {
	if s.fence != 0 {
		return fence == s.fence
	}
	s.fence = fence
	return fence >= s.floor
}

// seesVersion binds the version: after a change it must be new.
func (s *state) seesVersion(version string) bool {
	if s.version != "" || version == "" {
		return version == s.version && version != ""
	}
	s.version = version
	return s.isNew("version " + version)
}

// seesEnd binds the end of a lease, which must not contradict that it is live, or has lapsed.
func (s *state) seesEnd(seen *Seen, now span) bool {
	end := seen.LeaseEnd
	if s.stored != storage.InProgress {
		return end.IsZero()
	}
	ok := s.end.has(end)
	s.end = span{end, end}
	if seen.State == storage.InProgress {
		return ok && end.After(now.from)
	}
	return ok && !end.After(now.to)
}

// isNew remembers what must never come back.
func (s *state) isNew(said string) bool {
	if s.past.has(said) {
		return false
	}
	s.past = &text{said, s.past}
	return true
}
