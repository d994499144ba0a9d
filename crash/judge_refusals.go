package main

// judgeRefusals looks for calls that were accepted after the very same call had been refused for good.
func (s *story) judgeRefusals() {
	for _, no := range s.calls {
		if no.fate != answered || no.accepted() {
			continue
		}
		for _, yes := range s.calls {
			if yes.accepted() && no.before(yes) && rulesOut(no, yes) {
				s.accuse(refusalRevived, "%s was refused as %s by %v; %s was accepted, sent %v", no.kind, no.got.code, no.answered, yes.kind, yes.sent)
			}
		}
	}
}

// rulesOut tells that after the refusal the later call can never be accepted.
func rulesOut(no, yes *call) bool {
	if no.kind == reserve {
		// The service remembers the acquisitions before the attempt that it showed; at the next one it still must.
		return no.got.code == "lease_lost" && yes.granted() && no.ask.attemptID == yes.ask.attemptID &&
			no.got.record != nil && yes.got.record.attempt <= no.got.record.attempt+1
	}
	if no.ask.token == "" || no.ask.token != yes.ask.token {
		return false
	}
	alreadySettled, lost := no.got.code == "already_completed", no.got.code == "lease_lost"
	switch yes.kind {
	case heartbeat: // the token is not the latest, or it is over
		return alreadySettled || lost
	case complete: // a heartbeat is also refused after this very completion
		return lost && no.kind != heartbeat || alreadySettled && no.kind == complete && no.ask.digest == yes.ask.digest
	case release: // a complete and a heartbeat are also refused after this very release
		return lost && no.kind == release || alreadySettled
	}
	return false
}

// judgeRepeats looks for blind repeats that were not answered like the first: an acquisition that is still the latest,
// and a settlement or a release that still stands.
func (s *story) judgeRepeats() {
	for _, no := range s.calls {
		if no.fate != answered || no.accepted() || no.got.record == nil {
			continue
		}
		for _, yes := range s.calls {
			if yes.accepted() && yes.kind == no.kind && yes.got.record.fence == no.got.record.fence && mustRepeat(yes, no) {
				s.accuse(repeatRefused, "%s was accepted, sent %v; the same call, sent %v, was refused as %s of a record that was %s", yes.kind,
					yes.sent, no.sent, no.got.code, no.got.record.state)
			}
		}
	}
}

// mustRepeat tells that the refused call, which shows the record of the same acquisition, had to be accepted too.
func mustRepeat(yes, no *call) bool {
	switch yes.kind {
	case reserve: // also when the lease has run out
		return yes.granted() && yes.ask.attemptID == no.ask.attemptID && !no.got.record.ended()
	case complete:
		return yes.ask.token == no.ask.token && yes.ask.digest == no.ask.digest && yes.before(no)
	case release:
		return yes.ask.token == no.ask.token && no.got.record.state == "released"
	}
	return false
}

// judgeDenials looks for the effect of a call of which every sending was answered with "nothing was changed", or could
// not even be sent.
func (s *story) judgeDenials() {
	contents, checkpoints, attempts := map[digest]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range s.calls {
		may := c.maybe()
		switch c.kind {
		case complete:
			contents[c.ask.digest] = contents[c.ask.digest] || may
		case heartbeat:
			checkpoints[c.ask.data] = checkpoints[c.ask.data] || may
		case reserve: // one that is refused may have acquired, and lost the lease before it could be answered
			attempts[c.ask.attemptID] = attempts[c.ask.attemptID] || may || c.fate == answered
		}
	}
	for _, look := range s.sights() {
		if look.seen == nil {
			continue
		}
		if may, sent := contents[look.seen.digest]; look.seen.hasContent && sent && !may {
			s.accuse(deniedButDone, "%s at %v showed a completion that was always refused or denied", look.from, at(look.sent))
		}
		if may, sent := checkpoints[look.seen.data]; look.seen.seq > 0 && sent && !may {
			s.accuse(deniedButDone, "%s at %v showed a checkpoint that was always refused or denied", look.from, at(look.sent))
		}
	}
	if s.row == nil {
		return
	}
	for _, id := range append([]string{s.row.attemptID}, s.row.earlier...) {
		if may, sent := attempts[id]; sent && !may {
			s.accuse(deniedButDone, "the database holds the attempt %s, which was always denied", id)
		}
	}
}

// judgeRow holds the row against the acquisitions that were acknowledged. (What the row shows of the record is judged
// with all other looks at it.)
func (s *story) judgeRow() {
	if s.row == nil {
		return
	}
	sent := false
	for _, c := range s.calls {
		sent = sent || c.kind == reserve && c.ask.attemptID == s.row.attemptID && c.fate != unsent
	}
	if !sent {
		s.accuse(changed, "the database holds the attempt %q, which nobody sent", s.row.attemptID)
	}
	for _, g := range s.grants {
		if (g.fence == s.row.seen.fence || g.token == s.row.token) &&
			(g.fence != s.row.seen.fence || g.token != s.row.token || g.attemptID != s.row.attemptID || g.attempt != s.row.seen.attempt) {
			s.accuse(changed, "the database holds attempt %d (%s), fence %d, token %.8s; acknowledged was attempt %d (%s), fence %d, token %.8s",
				s.row.seen.attempt, s.row.attemptID, s.row.seen.fence, s.row.token, g.attempt, g.attemptID, g.fence, g.token)
		}
	}
}
