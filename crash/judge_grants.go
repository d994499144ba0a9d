package main

import (
	"cmp"
	"slices"
	"time"
)

// grant is one acquisition that was acknowledged, perhaps several times: it has one token.
type grant struct {
	token, attemptID string
	attempt          int
	fence            int64
	// The acquisition happened between these two: the first time that its attempt id was sent, and the first time
	// that it was acknowledged.
	since, until time.Duration
	lease        time.Duration // the shortest that its attempt id asked for
	live         []span        // each acknowledged lease
	hold         bool          // acknowledged, by reserve or heartbeat
	mayRelease   time.Duration // when a release was first sent that may have happened; never when there was none
}

// span is a lease that certainly does not end before its end.
type span struct {
	call *call
	end  time.Duration
}

const never = time.Duration(1<<63 - 1)

// keptAttemptIDs is how many acquisitions the service remembers at least: a later duplicate counts as a new attempt.
const keptAttemptIDs = 5

// judgeGrants gathers the acquisitions: each has one attempt, one fence, one token, and the fences rise.
func (s *story) judgeGrants() {
	byToken := map[string]*grant{}
	for _, c := range s.calls {
		if !c.granted() {
			continue
		}
		g := byToken[c.got.token]
		if g == nil {
			g = &grant{token: c.got.token, attemptID: c.ask.attemptID, attempt: c.got.record.attempt, fence: c.got.record.fence,
				since: never, until: never, lease: never, mayRelease: never}
			byToken[c.got.token] = g
			s.grants = append(s.grants, g)
		}
		if g.attemptID != c.ask.attemptID || g.attempt != c.got.record.attempt || g.fence != c.got.record.fence {
			s.accuse(secondToken, "token %.8s stands for two acquisitions: %s, attempt %d, fence %d; and %s, attempt %d, fence %d", g.token,
				g.attemptID, g.attempt, g.fence, c.ask.attemptID, c.got.record.attempt, c.got.record.fence)
		}
		g.until = min(g.until, c.answered)
	}
	slices.SortStableFunc(s.grants, func(a, b *grant) int { return cmp.Compare(a.attempt, b.attempt) })
	for _, g := range s.grants {
		s.gather(g)
	}
	for i, a := range s.grants {
		for _, b := range s.grants[i+1:] {
			s.compareGrants(a, b)
		}
	}
}

// gather collects what was acknowledged of an acquisition, and what may have ended it.
func (s *story) gather(g *grant) {
	for _, c := range s.calls {
		switch {
		case c.kind == reserve && c.ask.attemptID == g.attemptID:
			g.since, g.lease = min(g.since, c.sent), min(g.lease, c.ask.lease)
			if c.granted() && c.got.token == g.token {
				g.live = append(g.live, span{c, c.sent + c.got.remaining})
				g.hold = g.hold || c.got.record.hold
			}
		case c.ask.token != g.token:
		case c.kind == heartbeat && c.accepted():
			g.live = append(g.live, span{c, c.sent + max(c.ask.lease, c.got.remaining)})
			g.hold = g.hold || c.ask.hold
		case c.kind == release && c.perhaps():
			g.mayRelease = min(g.mayRelease, c.sent)
		}
	}
	if len(g.live) > 0 { // the lease that was asked for, counted from before it was asked for
		g.live = append(g.live, span{g.live[0].call, g.since + g.lease})
	}
}

// compareGrants compares two acquisitions, a's attempt being no later than b's.
func (s *story) compareGrants(a, b *grant) {
	if a.attempt == b.attempt || a.fence == b.fence {
		s.accuse(secondToken, "tokens %.8s and %.8s were both granted: attempts %d and %d, fences %d and %d",
			a.token, b.token, a.attempt, b.attempt, a.fence, b.fence)
		return
	}
	if a.attemptID == b.attemptID && b.attempt-a.attempt <= keptAttemptIDs {
		s.accuse(secondToken, "attempt id %s was granted twice: attempt %d, token %.8s; attempt %d, token %.8s",
			a.attemptID, a.attempt, a.token, b.attempt, b.token)
	}
	if a.fence > b.fence || b.until < a.since {
		s.accuse(fallingFence, "attempt %d has fence %d and was acquired by %v; attempt %d has fence %d and was acquired no sooner than %v",
			a.attempt, a.fence, a.until, b.attempt, b.fence, b.since)
	}
}
