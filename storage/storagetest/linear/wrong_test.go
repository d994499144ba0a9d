package linear_test

import (
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

// wrongs are histories that are right until they are spoiled: each function writes one and gives what spoils it.
var wrongs = map[string]func(s *script) (spoil func()){
	"two grants at once": func(s *script) func() {
		a, b := s.reserve("attempt-1"), s.reserve("attempt-2")
		s.together(a, b)
		return func() { s.grant(b, a) }
	},
	"a live lease is taken over": func(s *script) func() {
		a, b := s.reserve("attempt-1"), s.reserve("attempt-2")
		return func() { s.grant(b, a); s.ops[b].Answer.Takeover = true }
	},
	"the fence falls": func(s *script) func() {
		a, b := s.abandoned(), s.reserve("attempt-2")
		return func() { s.seen(b).Fence = s.seen(a).Fence - 1 }
	},
	"the fence stays": func(s *script) func() {
		a, b := s.abandoned(), s.reserve("attempt-2")
		return func() { s.seen(b).Fence = s.seen(a).Fence }
	},
	"the fence falls behind an acquisition that nobody saw": func(s *script) func() {
		a := s.abandoned()
		s.lost(s.reserve("attempt-2"))
		s.lapse()
		b := s.reserve("attempt-3")
		return func() { s.seen(b).Fence = s.seen(a).Fence + 1 }
	},
	"the fence falls over an expiry": func(s *script) func() {
		a := s.reserve("attempt-1")
		done := s.release(s.token(a))
		s.call(storage.Expire{Name: name, Version: s.seen(done).Version})
		b := s.reserve("attempt-2")
		return func() { s.seen(b).Fence = s.seen(a).Fence }
	},
	"the attempt does not rise": func(s *script) func() {
		s.abandoned()
		b := s.reserve("attempt-2")
		return func() { s.seen(b).Attempt = 1 }
	},
	"one token for two acquisitions": func(s *script) func() {
		a, b := s.abandoned(), s.reserve("attempt-2")
		return func() {
			s.ops[b].Call = reserveWith(s.ops[b].Call, s.token(a))
			s.ops[b].Answer.Token = s.token(a)
		}
	},
	"two tokens for one acquisition": func(s *script) func() {
		s.reserve("attempt-1")
		b := s.reserve("attempt-1")
		return func() { s.ops[b].Answer.Token = s.fresh() }
	},
	"a replay has other bytes": func(s *script) func() {
		s.complete(s.token(s.reserve("attempt-1")), "one")
		r := s.reserve("attempt-2")
		return func() { s.seen(r).Content = "two" }
	},
	"a replay has no bytes": func(s *script) func() {
		s.complete(s.token(s.reserve("attempt-1")), "one")
		r := s.reserve("attempt-2")
		return func() { s.seen(r).Content = "" }
	},
	"a settlement is lost": func(s *script) func() {
		a := s.reserve("attempt-1")
		s.complete(s.token(a), "one")
		l := s.lookup()
		return func() { *s.seen(l) = *s.seen(a) }
	},
	"a settled name is granted": func(s *script) func() {
		a := s.reserve("attempt-1")
		s.complete(s.token(a), "one")
		r := s.reserve("attempt-2")
		return func() { s.grant(r, a) }
	},
	"an acquisition is missing in a lookup": func(s *script) func() {
		s.reserve("attempt-1")
		l := s.lookup()
		return func() { s.ops[l].Answer = &linear.Answer{Outcome: storage.OutcomeNotFound} }
	},
	"a lookup shows what is not yet asked for": func(s *script) func() {
		a := s.reserve("attempt-1")
		l := s.lookup()
		c := s.complete(s.token(a), "one")
		return func() { *s.seen(l) = *s.seen(c) }
	},
	"two lookups see two orders": func(s *script) func() {
		a := s.reserve("attempt-1")
		c := s.complete(s.token(a), "one")
		s.lookup()
		two := s.lookup()
		s.ops[c].Returned = s.ops[two].Returned
		return func() { *s.seen(two) = *s.seen(a) }
	},
	"a stale token completes": func(s *script) func() {
		a := s.abandoned()
		s.reserve("attempt-2")
		c := s.complete(s.token(a), "one")
		return func() { s.settle(c) }
	},
	"a second settlement is accepted": func(s *script) func() {
		a := s.reserve("attempt-1")
		c := s.complete(s.token(a), "one")
		d := s.complete(s.token(a), "two")
		s.together(c, d)
		return func() { s.settle(d) }
	},
	"a repeat of a settlement is refused": func(s *script) func() {
		a := s.reserve("attempt-1")
		s.complete(s.token(a), "one")
		d := s.complete(s.token(a), "one")
		return func() { s.ops[d].Answer.Outcome = storage.OutcomeAlreadyCompleted }
	},
	"another's lease is released": func(s *script) func() {
		a := s.abandoned()
		s.reserve("attempt-2")
		r := s.release(s.token(a))
		return func() {
			s.ops[r].Answer.Outcome = storage.OutcomeReleased
			s.seen(r).State, s.seen(r).LeaseEnd, s.seen(r).Reason = storage.Released, time.Time{}, "busy"
		}
	},
	"a release and a completion are both accepted": func(s *script) func() {
		a := s.reserve("attempt-1")
		r := s.release(s.token(a))
		c := s.complete(s.token(a), "one")
		s.together(r, c)
		return func() { s.settle(c) }
	},
	"a stale token keeps a lease": func(s *script) func() {
		a := s.abandoned()
		s.reserve("attempt-2")
		b := s.beat(s.token(a))
		return func() { s.ops[b].Answer.Outcome = storage.OutcomeRenewed }
	},
	"a heartbeat is lost": func(s *script) func() {
		a := s.reserve("attempt-1")
		s.beat(s.token(a))
		l := s.lookup()
		return func() { s.seen(l).LeaseEnd = s.seen(a).LeaseEnd }
	},
	"a heartbeat shortens the lease": func(s *script) func() {
		a := s.reserve("attempt-1")
		b := s.call(storage.Heartbeat{Name: name, Token: s.token(a), Lease: time.Second})
		return func() { s.seen(b).LeaseEnd = s.ops[b].Latest.Add(time.Second) }
	},
	"a lease is shorter than was asked for": func(s *script) func() {
		a := s.reserve("attempt-1")
		return func() { s.seen(a).LeaseEnd = s.seen(a).LeaseEnd.Add(-time.Microsecond) }
	},
	"a lease lapses too early": func(s *script) func() {
		s.reserve("attempt-1")
		l := s.lookup()
		return func() { s.seen(l).State = storage.Abandoned }
	},
	"a lease is live after its end": func(s *script) func() {
		s.abandoned()
		l := s.lookup()
		return func() { s.seen(l).State = storage.InProgress }
	},
	"a name is taken over under hold": func(s *script) func() {
		a := s.reserve("attempt-1")
		s.call(storage.Heartbeat{Name: name, Token: s.token(a), Hold: true})
		s.lapse()
		b := s.reserve("attempt-2")
		return func() { s.grant(b, a); s.ops[b].Answer.Takeover = true }
	},
	"hold goes back to retry": func(s *script) func() {
		a := s.reserve("attempt-1")
		s.call(storage.Heartbeat{Name: name, Token: s.token(a), Hold: true})
		b := s.beat(s.token(a))
		return func() { s.seen(b).Hold = false }
	},
	"a checkpoint is lost at a takeover": func(s *script) func() {
		a := s.reserve("attempt-1")
		s.call(storage.Heartbeat{Name: name, Token: s.token(a), Checkpoint: &storage.Checkpoint{Seq: 1, Data: "x"}})
		s.lapse()
		b := s.reserve("attempt-2")
		return func() { s.seen(b).Checkpoint = storage.Checkpoint{} }
	},
	"a takeover is not told": func(s *script) func() {
		s.abandoned()
		b := s.reserve("attempt-2")
		return func() { s.ops[b].Answer.Takeover = false }
	},
	"a stray duplicate is granted": func(s *script) func() {
		a := s.abandoned()
		s.reserve("attempt-2")
		s.lapse()
		b := s.reserve("attempt-1")
		return func() { s.grant(b, a); s.ops[b].Answer.Takeover = true; s.seen(b).Attempt = 3 }
	},
	"two requests are taken for the same": func(s *script) func() {
		a := s.reserve("attempt-1")
		s.release(s.token(a))
		other := s.reserving("attempt-2")
		other.Fingerprint = "g"
		b := s.call(other)
		return func() { s.grant(b, a); s.seen(b).Fingerprint = "g" }
	},
	"a version comes back": func(s *script) func() {
		a := s.reserve("attempt-1")
		r := s.release(s.token(a))
		return func() { s.seen(r).Version = s.seen(a).Version }
	},
	"a version comes back in another record": func(s *script) func() {
		a := s.reserve("attempt-1")
		done := s.release(s.token(a))
		s.call(storage.Expire{Name: name, Version: s.seen(done).Version})
		b := s.reserve("attempt-2")
		return func() { s.seen(b).Version = s.seen(a).Version }
	},
	"a version changes by itself": func(s *script) func() {
		s.reserve("attempt-1")
		l := s.lookup()
		return func() { s.seen(l).Version = "another" }
	},
	"an operator acts on a record that has changed": func(s *script) func() {
		a := s.abandoned()
		s.reserve("attempt-2")
		s.lapse()
		o := s.call(storage.Resolve{Name: name, Version: s.seen(a).Version, To: storage.Released, Token: s.fresh(), By: storage.Operator{Reason: "why"}})
		return func() {
			s.ops[o].Answer.Outcome = storage.OutcomeResolved
			s.seen(o).State, s.seen(o).LeaseEnd, s.seen(o).Reason, s.seen(o).Version = storage.Released, time.Time{}, "why", "new"
		}
	},
	"an operator settles a live lease without force": func(s *script) func() {
		a := s.reserve("attempt-1")
		o := s.call(storage.Resolve{Name: name, Version: s.seen(a).Version, To: storage.Completed})
		return func() {
			s.ops[o].Answer.Outcome = storage.OutcomeResolved
			s.seen(o).State, s.seen(o).LeaseEnd, s.seen(o).Version, s.seen(o).Content = storage.Completed, time.Time{}, "new", s.ops[o].Content
		}
	},
	"a holder's repeat is taken for the operator's settlement": func(s *script) func() {
		a := s.abandoned()
		settlement := completing(s.token(a), "one")
		s.call(storage.Resolve{Name: name, Version: s.seen(a).Version, To: storage.Completed, ResourceID: "r", Response: settlement.Response})
		c := s.call(settlement)
		return func() { s.ops[c].Answer.Outcome = storage.OutcomeSettled }
	},
	"an ended record is still there": func(s *script) func() {
		done := s.release(s.token(s.reserve("attempt-1")))
		e := s.call(storage.Expire{Name: name, Version: s.seen(done).Version})
		l := s.lookup()
		return func() { s.ops[l].Answer = &linear.Answer{Outcome: storage.OutcomeFound, Seen: s.seen(e)} }
	},
	"calls of a group happen in another order": func(s *script) func() {
		one, two := s.lookup(), s.reserve("attempt-1")
		s.group(one, two)
		return func() { s.ops[one].Order, s.ops[two].Order = 1, 0 }
	},
	"what was refused for an outage happened": func(s *script) func() {
		s.reserve("attempt-1")
		l := s.lookup()
		return func() { s.ops = []linear.Op{s.ops[l]} }
	},
	"a call without an answer happened, and then did not": func(s *script) func() {
		a := s.reserve("attempt-1")
		s.lost(s.complete(s.token(a), "one"))
		s.lookup()
		l := s.lookup()
		return func() { *s.seen(l) = *s.seen(a) }
	},
	"a call without an answer took over later than it can have been decided": func(s *script) func() {
		a := s.abandoned()
		b := s.reserve("attempt-2")
		s.lost(b)
		s.ops[b].Bounded = true
		s.lookup()
		return func() { s.ops[b].Earliest, s.ops[b].Latest = s.ops[a].Earliest, s.ops[a].Latest.Add(time.Second) }
	},
	"two repeats without answers are seen in a wrong order": func(s *script) func() {
		a := s.reserve("attempt-1")
		s.lost(s.complete(s.token(a), "one"))
		s.lost(s.complete(s.token(a), "one"))
		s.lookup()
		l := s.lookup()
		return func() { *s.seen(l) = *s.seen(a) }
	},
	"a call without an answer happened before it was sent": func(s *script) func() {
		a := s.reserve("attempt-1")
		c := s.complete(s.token(a), "one")
		s.lost(c)
		l := s.lookup()
		return func() { s.ops[c].Sent = s.ops[l].Returned + 1 }
	},
	"one call without an answer is granted twice": func(s *script) func() {
		s.lost(s.reserve("attempt-1"))
		s.reserve("attempt-1")
		again := s.reserve("attempt-1")
		return func() { s.ops[again].Answer.Token = s.fresh() }
	},
}

// reserveWith is a reserve that offers another token.
func reserveWith(c storage.Call, t storage.Token) storage.Call {
	r := c.(storage.Reserve)
	r.Token = t
	return r
}

// grant makes an answer say that the name was acquired, as it would if nothing stood against it.
func (s *script) grant(i, earlier int) {
	was := *s.seen(earlier)
	was.Attempt, was.Fence, was.Version, was.LeaseEnd = was.Attempt+1, was.Fence+1_000_000, "granted", s.ops[i].Latest.Add(time.Minute)
	s.ops[i].Answer = &linear.Answer{Outcome: storage.OutcomeAcquired, Token: s.ops[i].Call.(storage.Reserve).Token, Seen: &was}
}

// settle makes an answer say that a completion was accepted.
func (s *script) settle(i int) {
	seen := *s.seen(i)
	seen.State, seen.LeaseEnd, seen.Version, seen.Content = storage.Completed, time.Time{}, "settled", s.ops[i].Content
	s.ops[i].Answer = &linear.Answer{Outcome: storage.OutcomeSettled, Seen: &seen}
}

// Ensure that each history is accepted while it is right, and refused when it is spoiled.
func TestWrongHistories(t *testing.T) {
	for title, write := range wrongs {
		t.Run(title, func(t *testing.T) {
			s := newScript()
			spoil := write(s)
			if !s.accepted(t) {
				t.Fatalf("a right history was refused:\n%v", s)
			}
			spoil()
			if s.accepted(t) {
				t.Errorf("a wrong history was accepted:\n%v", s)
			}
		})
	}
}
