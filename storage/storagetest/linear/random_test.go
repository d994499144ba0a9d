package linear_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

const (
	randomHistories = 300
	randomCalls     = 40
)

// draw makes a call of any kind, mostly with what was used before.
func (s *script) draw(rng *rand.Rand) storage.Call {
	var tokens []storage.Token
	versions := []string{"none"}
	for _, o := range s.ops {
		if r, ok := o.Call.(storage.Reserve); ok && (o.Answer.Outcome == storage.OutcomeAcquired || rng.IntN(8) == 0) {
			tokens = append(tokens, r.Token)
		}
		if o.Answer.Seen != nil {
			versions = append(versions, o.Answer.Seen.Version)
		}
	}
	token := lastBut(rng, tokens)
	version := lastBut(rng, versions)
	switch rng.IntN(12) {
	case 0:
		return completing(token, fmt.Sprint("body ", rng.IntN(2)))
	case 1:
		c := completing(token, "")
		c.Response = &storage.Response{BodyDropped: true}
		c.ResultHash = []byte(linear.ContentOf(c.Result, c.ResourceID, c.Response))
		return c
	case 2, 3:
		return storage.Release{Name: name, Token: token, Reason: fmt.Sprint("reason ", rng.IntN(3)), Forget: rng.IntN(3) == 0}
	case 4, 5:
		h := storage.Heartbeat{Name: name, Token: token, Hold: rng.IntN(4) == 0}
		if rng.IntN(2) == 0 {
			h.Lease = time.Duration(1+rng.IntN(120)) * time.Second
		}
		if rng.IntN(2) == 0 {
			h.Checkpoint = &storage.Checkpoint{Seq: int64(1 + rng.IntN(5)), Data: fmt.Sprint(len(s.ops))}
		}
		return h
	case 6:
		return storage.Lookup{Name: name, Fingerprint: []string{"", "f", "g"}[rng.IntN(3)]}
	case 7:
		to := []storage.State{storage.Completed, storage.Failed, storage.Released}[rng.IntN(3)]
		return storage.Resolve{Name: name, Version: version, To: to, Force: rng.IntN(2) == 0, Token: s.fresh(), By: storage.Operator{Reason: "why"}}
	case 8:
		return storage.Expire{Name: name, Version: version}
	}
	r := s.reserving(fmt.Sprint("attempt-", rng.IntN(8)))
	r.Lease = time.Duration(1+rng.IntN(20)) * time.Second
	if rng.IntN(8) == 0 {
		r.OnLapse = storage.Hold
	}
	if rng.IntN(8) == 0 {
		r.Fingerprint = "g"
	}
	return r
}

// lastBut is the last one most of the time.
func lastBut[T any](rng *rand.Rand, all []T) (none T) {
	if len(all) == 0 {
		return none
	}
	return all[max(0, len(all)-1-rng.IntN(4)*rng.IntN(2))]
}

// randomScript writes a history of one call after the other.
func randomScript(rng *rand.Rand) *script {
	s := newScript()
	for range randomCalls {
		s.call(s.draw(rng))
		if rng.IntN(6) == 0 {
			s.now = s.now.Add(time.Duration(rng.IntN(30)) * time.Second)
		}
	}
	return s
}

// Ensure that what the rules of package life answer is accepted: one call after the other, and as it looks from outside,
// where calls overlap, answers are lost, and neither the tokens of acquisitions nor their instants are known.
func TestWhatTheRulesAnswerIsAccepted(t *testing.T) {
	for seed := range uint64(randomHistories) {
		rng := rand.New(rand.NewPCG(seed, 0))
		s := randomScript(rng)
		if !s.accepted(t) {
			t.Fatalf("seed %d: refused:\n%v", seed, s)
		}
		s.blur(rng)
		if !s.accepted(t) {
			t.Fatalf("seed %d: refused when blurred:\n%v", seed, s)
		}
	}
}

// blur takes away what callers over HTTP do not know. Who uses a token or a version has learned it from an answer.
func (s *script) blur(rng *rand.Rand) {
	soonest := map[int]time.Duration{} // when a call is sent that has learned from this one
	for i := range s.ops {
		if from, ok := s.teacher(i); ok && soonest[from] == 0 {
			soonest[from] = s.ops[i].Sent
		}
	}
	for i := range s.ops {
		o := &s.ops[i]
		o.Sent -= time.Duration(rng.IntN(30))
		o.Returned += time.Duration(rng.IntN(30))
		if next, ok := soonest[i]; ok {
			o.Returned = min(o.Returned, next-1)
		}
		if from, ok := s.teacher(i); ok {
			o.Sent = max(o.Sent, s.ops[from].Returned+1)
		}
		o.Earliest = o.Earliest.Add(-time.Duration(rng.IntN(3000)) * time.Millisecond)
		o.Latest = o.Latest.Add(time.Duration(rng.IntN(3000)) * time.Millisecond)
		lost := rng.IntN(12) == 0
		if r, ok := o.Call.(storage.Reserve); ok {
			r.Token = storage.Token{}
			o.Call = r
			lost = lost || rng.IntN(3) == 0 // so that several may have acquired where nobody knows
		}
		if _, teaches := soonest[i]; lost && !teaches {
			o.Answer, o.Bounded = nil, rng.IntN(2) == 0
		}
	}
}

// teacher finds the call whose answer first showed the token or the version that a call uses.
func (s *script) teacher(of int) (i int, ok bool) {
	for i, o := range s.ops[:of] {
		a := o.Answer
		if a == nil {
			continue
		}
		if a.Token != (storage.Token{}) && a.Token == tokenIn(s.ops[of].Call) || a.Seen != nil && a.Seen.Version == versionIn(s.ops[of].Call) {
			return i, true
		}
	}
	return 0, false
}

func tokenIn(c storage.Call) (none storage.Token) {
	switch c := c.(type) {
	case storage.Complete:
		return c.Token
	case storage.Release:
		return c.Token
	case storage.Heartbeat:
		return c.Token
	}
	return none
}

func versionIn(c storage.Call) string {
	switch c := c.(type) {
	case storage.Resolve:
		return c.Version
	case storage.Expire:
		return c.Version
	}
	return ""
}

// lies change one thing in an answer so that it is certainly wrong, if it can be: ok tells.
var lies = map[string]func(s *script, i int) (ok bool){
	"the outcome": func(s *script, i int) bool {
		a := s.ops[i].Answer
		if a.Outcome == storage.OutcomeInProgress {
			a.Outcome = storage.OutcomeUncertain
		} else {
			a.Outcome = storage.OutcomeInProgress
		}
		return true
	},
	"no record": func(s *script, i int) bool {
		was := s.seen(i)
		s.ops[i].Answer.Seen = nil
		return was != nil && s.ops[i].Answer.Outcome != storage.OutcomeFingerprintMismatch
	},
	"the token": func(s *script, i int) bool {
		s.ops[i].Answer.Token[7]++
		return s.ops[i].Answer.Outcome == storage.OutcomeAcquired
	},
	"the takeover": func(s *script, i int) bool {
		s.ops[i].Answer.Takeover = !s.ops[i].Answer.Takeover
		return s.ops[i].Answer.Outcome == storage.OutcomeAcquired
	},
	"the state": seen(func(s *linear.Seen) {
		if s.State++; s.State > storage.Uncertain {
			s.State = storage.InProgress
		}
	}),
	"the hold":        seen(func(s *linear.Seen) { s.Hold = !s.Hold }),
	"the attempt":     seen(func(s *linear.Seen) { s.Attempt++ }),
	"the fingerprint": seen(func(s *linear.Seen) { s.Fingerprint += "x" }),
	"the lease's end": seen(func(s *linear.Seen) { s.LeaseEnd = s.LeaseEnd.Add(time.Microsecond) }),
	"the checkpoint":  seen(func(s *linear.Seen) { s.Checkpoint.Data += "x" }),
	"the reason":      seen(func(s *linear.Seen) { s.Reason += "x" }),
	"the content":     seen(func(s *linear.Seen) { s.Content += "x" }),
	"no version":      seen(func(s *linear.Seen) { s.Version = "" }),
	"a version that was there before": func(s *script, i int) bool {
		for _, o := range s.ops[:i] {
			if s.seen(i) != nil && o.Answer.Seen != nil && o.Answer.Seen.Version != s.seen(i).Version {
				s.seen(i).Version = o.Answer.Seen.Version
				return true
			}
		}
		return false
	},
	"a fence that was there before": func(s *script, i int) bool {
		for _, o := range s.ops[:i] {
			if s.seen(i) != nil && o.Answer.Seen != nil && o.Answer.Seen.Fence < s.seen(i).Fence {
				s.seen(i).Fence = o.Answer.Seen.Fence
				return true
			}
		}
		return false
	},
}

// seen is a lie about a record, if one is shown.
func seen(change func(*linear.Seen)) func(*script, int) bool {
	return func(s *script, i int) bool {
		if s.seen(i) == nil {
			return false
		}
		change(s.seen(i))
		return true
	}
}

// Ensure that one lie in one answer is noticed, whatever it is about, where calls came one after the other.
func TestEachLieIsNoticed(t *testing.T) {
	told := map[string]int{}
	for title, lie := range lies {
		for seed := range uint64(randomHistories) {
			rng := rand.New(rand.NewPCG(seed, 1))
			s := randomScript(rng)
			i := rng.IntN(len(s.ops))
			if s.ops[i].Answer = copied(s.ops[i].Answer); !lie(s, i) {
				continue
			}
			told[title]++
			if s.accepted(t) {
				t.Fatalf("seed %d: a lie about %s in call %d was not noticed:\n%v", seed, title, i, s)
			}
		}
		if told[title] < 20 {
			t.Errorf("%s: only %d lies were told", title, told[title])
		}
	}
}

func copied(a *linear.Answer) *linear.Answer {
	b := *a
	if a.Seen != nil {
		seen := *a.Seen
		b.Seen = &seen
	}
	return &b
}

// Ensure that random histories come to what they are meant to show: every outcome.
func TestRandomHistoriesMeetEverything(t *testing.T) {
	met := map[storage.Outcome]bool{}
	for seed := range uint64(randomHistories) {
		for _, o := range randomScript(rand.New(rand.NewPCG(seed, 0))).ops {
			met[o.Answer.Outcome] = true
		}
	}
	for o := storage.OutcomeAcquired; o <= storage.OutcomeVersionConflict; o++ {
		if !met[o] {
			t.Errorf("%v was never met", o)
		}
	}
}
