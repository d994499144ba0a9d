package linear_test

import (
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// rights are histories that look odd and are right.
var rights = map[string]func(s *script){
	"nothing happened": func(*script) {},
	"a call without an answer never happened": func(s *script) {
		a := s.reserve("attempt-1")
		row := s.row
		s.lost(s.complete(s.token(a), "one"))
		s.row = row
		s.release(s.token(a))
	},
	"a call without an answer happened late": func(s *script) {
		a := s.reserve("attempt-1")
		row := s.row
		s.lost(s.complete(s.token(a), "one"))
		done := s.row
		s.row = row
		s.lookup()
		s.beat(s.token(a))
		s.row = done
		// It was written when two others had been answered, and shows the version and the end that they left.
		s.row.Version, s.row.LeaseExpiresAt = row.Version+1, row.LeaseExpiresAt
		s.lookup()
		s.reserve("attempt-2")
	},
	"a reserve without an answer is seen by its repeat": func(s *script) {
		s.lost(s.reserve("attempt-1"))
		s.reserve("attempt-2")
		again := s.reserve("attempt-1")
		s.complete(s.token(again), "one")
	},
	"a reserve was decided twice, the first time before a bounded instant": func(s *script) {
		first := s.reserve("attempt-1")
		s.lapse()
		again := s.reserve("attempt-1")
		s.ops[first].Answer, s.ops[first].Bounded = nil, true
		s.together(first, again)
	},
	"what is bounded did not happen": func(s *script) {
		s.reserve("attempt-1")
		bounded := s.reserve("attempt-2")
		s.ops[bounded].Answer, s.ops[bounded].Bounded = nil, true
		s.lapse()
		s.reserve("attempt-3")
	},
	"a repeat without an answer kept a lease": func(s *script) {
		s.reserve("attempt-1")
		s.lost(s.reserve("attempt-1"))
		s.row.LeaseExpiresAt = s.now.Add(time.Minute)
		s.lookup()
	},
	"an attempt that nobody saw is in the count": func(s *script) {
		s.abandoned()
		s.lost(s.reserve("attempt-2"))
		s.lapse()
		s.reserve("attempt-3")
	},
	"a heartbeat was decided before the lapse, and written after a look": func(s *script) {
		a := s.reserve("attempt-1")
		lived, row := s.now, s.row
		s.lapse()
		l := s.lookup()
		s.row, s.now = row, lived
		b := s.beat(s.token(a))
		s.together(l, b)
	},
	"a call of another came between those of a group": func(s *script) {
		one, other, two := s.lookup(), s.reserve("attempt-1"), s.lookup()
		s.group(one, two)
		s.together(one, other, two)
	},
	"the last call of a group was lost, and happened first": func(s *script) {
		lost, one := s.reserve("attempt-1"), s.reserve("attempt-2")
		s.group(one, lost)
		s.lost(lost)
	},
	"a call was decided before an operator ended the record, and shows what the operator left": func(s *script) {
		done := s.release(s.token(s.reserve("attempt-1")))
		before := s.lookup()
		e := s.call(storage.Expire{Name: name, Version: s.seen(done).Version})
		s.seen(before).Version = s.seen(e).Version
		s.together(before, e)
	},
	"a mismatch shows nothing": func(s *script) {
		s.reserve("attempt-1")
		m := s.call(storage.Lookup{Name: name, Fingerprint: "other"})
		s.ops[m].Answer.Seen = nil
	},
	"where the instant is not known, a lease may have lapsed or not": func(s *script) {
		a := s.reserve("attempt-1")
		early := s.lookup()
		s.ops[early].Latest = s.ops[early].Latest.Add(time.Hour)
		s.lapse()
		late := s.lookup()
		s.ops[late].Earliest = s.ops[a].Earliest
		s.together(early, late)
	},
}

// Ensure that a history is accepted when there is an order that explains it, however odd it looks.
func TestRightHistories(t *testing.T) {
	for title, write := range rights {
		t.Run(title, func(t *testing.T) {
			s := newScript()
			write(s)
			if !s.accepted(t) {
				t.Errorf("it was refused:\n%v", s)
			}
		})
	}
}
