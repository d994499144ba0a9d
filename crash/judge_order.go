package main

import (
	"cmp"
	"slices"
	"time"
)

// sight is a look at the record: by an answer that shows it, or at the end in the database.
type sight struct {
	from           string // what showed it
	sent, answered time.Duration
	seen           *seen // nil: there was no record
}

// at writes a time of the history.
func at(t time.Duration) string {
	if t == never {
		return "the end"
	}
	return t.String()
}

// sights gives every look at the record. A lease_lost that shows none says that there is none.
func (s *story) sights() (all []sight) {
	for _, c := range s.calls {
		absent := c.refused("not_found") || c.refused("lease_lost") && c.got.record == nil
		if c.fate == answered && (c.got.record != nil || absent) {
			all = append(all, sight{string(c.kind), c.sent, c.answered, c.got.record})
		}
	}
	if s.haveRows {
		end := sight{from: "the database", sent: never, answered: never}
		if s.row != nil {
			end.seen = &s.row.seen
		}
		all = append(all, end)
	}
	return all
}

// judgeOrder holds each look at the record against all that were certainly over before it: a record never goes back.
func (s *story) judgeOrder() {
	bySent, byAnswer := s.sights(), s.sights()
	slices.SortStableFunc(bySent, func(a, b sight) int { return cmp.Compare(a.sent, b.sent) })
	slices.SortStableFunc(byAnswer, func(a, b sight) int { return cmp.Compare(a.answered, b.answered) })
	var known progress
	for _, now := range bySent {
		for len(byAnswer) > 0 && byAnswer[0].answered < now.sent {
			known.learn(byAnswer[0])
			byAnswer = byAnswer[1:]
		}
		s.advances(&known, now)
	}
}

// progress is how far a record had certainly come.
type progress struct {
	latest  *sight // with the highest fence
	settled *sight
	// Of the latest fence alone: what is older is over.
	ended    string // the state in which the acquisition ended, if it did
	leaseEnd string
	hold     bool
}

func (p *progress) learn(s sight) {
	if s.seen == nil || (p.latest != nil && s.seen.fence < p.latest.seen.fence) {
		return
	}
	if p.latest == nil || s.seen.fence > p.latest.seen.fence {
		*p = progress{settled: p.settled}
	}
	p.latest = &s
	p.leaseEnd = max(p.leaseEnd, s.seen.leaseEnd)
	p.hold = p.hold || s.seen.hold
	if s.seen.ended() {
		p.ended = s.seen.state
	}
	if s.seen.settled() {
		p.settled = &s
	}
}

func (s *seen) settled() bool { return s.state == "completed" || s.state == "failed" }
func (s *seen) ended() bool   { return s.settled() || s.state == "released" }

// advances compares a look at the record with what was known before it.
func (s *story) advances(known *progress, now sight) {
	before := known.latest
	switch {
	case before == nil:
	case now.seen == nil:
		s.accuse(lost, "%s at %v found no record; %s had shown attempt %d, %s, by %v", now.from, at(now.sent), before.from,
			before.seen.attempt, before.seen.state, before.answered)
	case now.seen.fence < before.seen.fence || now.seen.attempt < before.seen.attempt:
		s.accuse(lost, "%s at %v showed attempt %d, fence %d; %s had shown attempt %d, fence %d by %v", now.from, at(now.sent),
			now.seen.attempt, now.seen.fence, before.from, before.seen.attempt, before.seen.fence, before.answered)
	case known.settled != nil && now.seen.fence != known.settled.seen.fence:
		s.accuse(lost, "%s at %v showed attempt %d; attempt %d had been settled by %v", now.from, at(now.sent), now.seen.attempt,
			known.settled.seen.attempt, known.settled.answered)
	case now.seen.fence == before.seen.fence:
		s.sameAttempt(known, now)
	}
}

func (s *story) sameAttempt(known *progress, now sight) {
	switch {
	case known.ended != "" && now.seen.state != known.ended:
		s.accuse(lost, "%s at %v showed attempt %d %s; it had been shown %s by %v", now.from, at(now.sent), now.seen.attempt,
			now.seen.state, known.ended, known.latest.answered)
	case !now.seen.ended() && now.seen.leaseEnd < known.leaseEnd:
		s.accuse(weakened, "%s at %v showed a lease until %s; it had been %s", now.from, at(now.sent), now.seen.leaseEnd, known.leaseEnd)
	case known.hold && !now.seen.hold:
		s.accuse(weakened, "%s at %v showed retry; it had been hold", now.from, at(now.sent))
	}
}
