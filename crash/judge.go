package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// The judge reads a finished history and names every promise that was broken. It accuses only on what is certain:
//
//   - a call happened somewhere between the moment it was sent and the moment it was answered; one that was not
//     answered may have happened at any time after it was sent, or never;
//   - one call came before another only if it was answered before the other was sent;
//   - a lease lasts at least as long as it was granted for, counted from when the request for it was sent.
//
// It relies on two things that the callers keep to: no record expires during the run, and ids are never used for two
// different calls. There is one file for each kind of promise.

// What a violation is.
const (
	lost             = "lost"              // something acknowledged is not there any more
	changed          = "changed"           // a stored byte differs, or nobody ever sent it
	secondWinner     = "second_winner"     // two settlements of one record were acknowledged
	secondToken      = "second_token"      // one acquisition, two tokens; or one token, two acquisitions
	fallingFence     = "falling_fence"     // a later acquisition has no higher fence
	doubleLease      = "double_lease"      // acquired while another lease was certainly live
	holdBroken       = "hold_broken"       // acquired although an attempt lapsed under hold
	staleToken       = "stale_token"       // a token was honoured after somebody else had acquired
	weakened         = "weakened"          // a lease ends earlier, or hold went back to retry
	refusalRevived   = "refusal_revived"   // a final refusal, and the same call was accepted later
	repeatRefused    = "repeat_refused"    // a blind repeat was not answered like the first
	twoFingerprints  = "two_fingerprints"  // two different requests were taken for the same
	deniedButDone    = "denied_but_done"   // answered "nothing was changed", and it was
	unexpectedAnswer = "unexpected_answer" // an answer that no caller should ever see
)

// violation is one broken promise.
type violation struct {
	kind string
	name wire.Name
	text string
}

// evidence is what the judge looks at.
type evidence struct {
	calls    []*call
	rows     []row
	haveRows bool          // the database was read
	slack    time.Duration // how far the store's clock may be off
}

// story is all that happened to one name.
type story struct {
	name     wire.Name
	calls    []*call // as they were sent
	row      *row
	haveRows bool
	slack    time.Duration

	grants []*grant // acknowledged acquisitions, by attempt
	found  []violation
}

// judge names every broken promise.
func judge(e evidence) (found []violation) {
	stories := map[wire.Name]*story{}
	of := func(name wire.Name) *story {
		if stories[name] == nil {
			stories[name] = &story{name: name, haveRows: e.haveRows, slack: e.slack}
		}
		return stories[name]
	}
	for _, c := range e.calls {
		of(c.name).calls = append(of(c.name).calls, c)
	}
	for i := range e.rows {
		of(e.rows[i].name).row = &e.rows[i]
	}
	for _, s := range stories {
		slices.SortStableFunc(s.calls, func(a, b *call) int { return cmp.Compare(a.sent, b.sent) })
		s.judge()
		found = append(found, s.found...)
	}
	slices.SortFunc(found, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.name.Key, b.name.Key), cmp.Compare(a.kind, b.kind), cmp.Compare(a.text, b.text))
	})
	return found
}

func (s *story) judge() {
	s.judgeAnswers()
	s.judgeGrants()
	s.judgeLeases()
	s.judgeOrder()
	s.judgeContents()
	s.judgeCheckpoints()
	s.judgeFingerprints()
	s.judgeRefusals()
	s.judgeRepeats()
	s.judgeDenials()
	s.judgeRow()
}

func (s *story) accuse(kind, format string, args ...any) {
	s.found = append(s.found, violation{kind: kind, name: s.name, text: fmt.Sprintf(format, args...)})
}

// refusals are the answers, beside success, that a call may get from a service that works.
var refusals = map[kind][]string{
	reserve:   {"in_progress", "uncertain", "lease_lost", "fingerprint_mismatch"},
	complete:  {"lease_lost", "already_completed"},
	release:   {"lease_lost", "already_completed"},
	heartbeat: {"lease_lost"},
	lookup:    {"not_found"},
}

// judgeAnswers looks for answers that nobody should see, such as a fault of the service.
func (s *story) judgeAnswers() {
	for _, c := range s.calls {
		if c.fate == answered && !c.accepted() && !slices.Contains(refusals[c.kind], c.got.code) {
			s.accuse(unexpectedAnswer, "%s was answered %d %q", c.kind, c.got.status, c.got.code)
		}
	}
}

// accepted tells that the call was answered with success.
func (c *call) accepted() bool {
	return c.fate == answered && c.got.status/100 == 2 && c.got.record != nil
}

// granted tells that the call was answered with a lease.
func (c *call) granted() bool { return c.kind == reserve && c.accepted() && c.got.status == 201 }

// refused tells that the call was answered with that refusal.
func (c *call) refused(code string) bool { return c.fate == answered && c.got.code == code }

// maybe tells that the call may have changed something, if the service says the truth.
func (c *call) maybe() bool { return c.accepted() || c.fate == unknown }

// perhaps is maybe for what excuses another call: that the service says the truth of a denial is judged elsewhere.
func (c *call) perhaps() bool { return c.maybe() || c.fate == denied }

// before tells that the call certainly came before the other one.
func (c *call) before(other *call) bool { return c.fate == answered && c.answered < other.sent }

// forgets tells whether the name was given back with forget, perhaps: then a fingerprint and a checkpoint may go.
func (s *story) forgets() bool {
	return slices.ContainsFunc(s.calls, func(c *call) bool { return c.kind == release && c.ask.forget && c.perhaps() })
}
