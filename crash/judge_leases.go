package main

// judgeLeases looks for two holders at once.
func (s *story) judgeLeases() {
	for i, a := range s.grants {
		for _, b := range s.grants[i+1:] {
			if a.attempt < b.attempt {
				s.succeeds(a, b)
			}
		}
	}
}

// succeeds judges that b acquired after a. Whichever came first, b's acquisition or what was acknowledged to a: if b
// was early enough, either a's lease was live when b acquired, or a's token was honoured when it no longer counted.
func (s *story) succeeds(a, b *grant) {
	s.honouredAfter(a, b)
	if a.mayRelease < b.until {
		return // b may have acquired after a gave back
	}
	for _, lease := range a.live {
		if b.until < lease.end-s.slack {
			s.accuse(doubleLease, "attempt %d was acquired by %v; the lease of attempt %d lasts until %v at least, by its %s sent %v",
				b.attempt, b.until, a.attempt, lease.end, lease.call.kind, lease.call.sent)
			break
		}
	}
	if a.hold {
		s.accuse(holdBroken, "attempt %d was acquired; attempt %d was under hold, and never released", b.attempt, a.attempt)
	}
}

// honouredAfter looks for a success of a's token that was asked for when b had acquired.
func (s *story) honouredAfter(a, b *grant) {
	for _, c := range s.calls {
		if c.ask.token == a.token && c.accepted() && b.until < c.sent {
			s.accuse(staleToken, "%s with the token of attempt %d, sent %v, was accepted; attempt %d had been acquired by %v",
				c.kind, a.attempt, c.sent, b.attempt, b.until)
		}
	}
}
