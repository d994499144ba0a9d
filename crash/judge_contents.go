package main

import (
	"slices"
	"time"
)

// judgeContents looks at what settled the record: one completion, of one token, and its very bytes wherever they are
// shown.
func (s *story) judgeContents() {
	var first *call
	for _, c := range s.calls {
		if c.kind != complete || !c.accepted() {
			continue
		}
		if first == nil {
			first = c
		}
		if c.ask.token != first.ask.token || c.ask.digest != first.ask.digest {
			s.accuse(secondWinner, "two completions were accepted: %s with token %.8s, and %s with token %.8s",
				contentOf(first.ask.content), first.ask.token, contentOf(c.ask.content), c.ask.token)
		}
		s.settledBy(c)
	}
	for _, look := range s.sights() {
		if look.seen == nil || !look.seen.hasContent {
			continue
		}
		switch sent := s.sender(look); {
		case sent == nil:
			s.accuse(changed, "%s at %v showed what nobody had sent: %s", look.from, at(look.sent), look.seen.summary)
		case first != nil && look.seen.digest != first.ask.digest:
			s.accuse(secondWinner, "%s at %v showed %s; acknowledged was %s", look.from, at(look.sent), look.seen.summary, contentOf(first.ask.content))
		}
	}
	s.sameContent()
}

// settledBy holds an accepted completion against the acquisitions and releases: it ends the record, so that none can
// come after it, and none of them can have come before it that ended its token.
func (s *story) settledBy(c *call) {
	for _, g := range s.grants {
		switch {
		case g.token == c.ask.token && g.fence != c.got.record.fence:
			s.accuse(secondWinner, "a completion of attempt %d was accepted for attempt %d", g.attempt, c.got.record.attempt)
		case g.attempt > c.got.record.attempt:
			s.accuse(lost, "attempt %d was acquired by %v; a completion of attempt %d was accepted, sent %v", g.attempt, g.until,
				c.got.record.attempt, c.sent)
		}
	}
	for _, other := range s.calls {
		if other.kind == release && other.ask.token == c.ask.token && other.accepted() {
			s.accuse(secondWinner, "a completion and a release of attempt %d were both accepted, sent %v and %v", c.got.record.attempt, c.sent, other.sent)
		}
	}
}

// sender finds a completion that can have stored what is shown.
func (s *story) sender(look sight) *call {
	i := slices.IndexFunc(s.calls, func(c *call) bool {
		return c.kind == complete && c.ask.digest == look.seen.digest && c.sent < look.answered
	})
	if i < 0 {
		return nil
	}
	return s.calls[i]
}

// sameContent tells when two looks show two contents, also when no completion was acknowledged.
func (s *story) sameContent() {
	var first *sight
	for _, look := range s.sights() {
		switch {
		case look.seen == nil || !look.seen.hasContent:
		case first == nil:
			first = &look
		case look.seen.digest != first.seen.digest:
			s.accuse(changed, "%s at %v showed %s; %s at %v showed %s", first.from, first.sent, first.seen.summary,
				look.from, at(look.sent), look.seen.summary)
		}
	}
}

// judgeCheckpoints looks for a checkpoint that went back, or that nobody wrote.
func (s *story) judgeCheckpoints() {
	mayForget := s.forgets()
	for _, look := range s.sights() {
		if look.seen == nil {
			continue // which judgeOrder looks at
		}
		if look.seen.seq > 0 && !s.wroteCheckpoint(look) {
			s.accuse(changed, "%s at %v showed the checkpoint %d %q, which nobody had sent", look.from, at(look.sent), look.seen.seq, look.seen.data)
		}
		if seq, by := s.checkpointBefore(look.sent); !mayForget && look.seen.seq < seq {
			s.accuse(lost, "%s at %v showed checkpoint %d; %d had been acknowledged by %v", look.from, at(look.sent), look.seen.seq, seq, by)
		}
	}
}

func (s *story) wroteCheckpoint(look sight) bool {
	return slices.ContainsFunc(s.calls, func(c *call) bool {
		return c.kind == heartbeat && c.ask.seq == look.seen.seq && c.ask.data == look.seen.data && c.sent < look.answered
	})
}

// checkpointBefore gives the highest checkpoint that was acknowledged before then.
func (s *story) checkpointBefore(then time.Duration) (seq int64, by time.Duration) {
	for _, c := range s.calls {
		if c.kind == heartbeat && c.accepted() && c.answered < then && c.ask.seq > seq {
			seq, by = c.ask.seq, c.answered
		}
	}
	return seq, by
}

// judgeFingerprints looks for two requests that were taken for the same. A name that may have been forgotten may be
// bound again.
func (s *story) judgeFingerprints() {
	if s.forgets() {
		return
	}
	bound := ""
	for _, look := range s.sights() {
		if look.seen == nil {
			continue
		}
		if bound == "" {
			bound = look.seen.fingerprint
		}
		if look.seen.fingerprint != bound {
			s.accuse(twoFingerprints, "%s at %v showed %s; it was %s", look.from, at(look.sent), look.seen.fingerprint, bound)
		}
	}
	for _, c := range s.calls {
		if c.kind != reserve || c.fate != answered || bound == "" || c.got.status >= 500 {
			continue
		}
		if mismatch := c.refused("fingerprint_mismatch"); mismatch == (c.ask.fingerprint == bound) {
			s.accuse(twoFingerprints, "reserve with %s, sent %v, was answered %d; the name is bound to %s", c.ask.fingerprint, c.sent, c.got.status, bound)
		}
	}
}
