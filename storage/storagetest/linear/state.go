package linear

import (
	"slices"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// state is all that a name may remember. It is a value: nothing that it points to is ever changed.
type state struct {
	record       // the zero one: absent
	fence  int64 // of the latest acquisition; 0: nobody has seen it yet
	floor  int64 // what the fence is at least, while nobody has seen it
	over   bool  // the history is at its end: what happens from now on, nobody sees
	// What follows is told by the calls that have happened, in whatever order, so that two states that differ in
	// nothing else are equal.
	told   int    // answers that told of the record, or that there is none
	past   *text  // tokens and versions that were seen
	places *place // how far groups have come
}

// record is what is stored under the name. It can be compared by ==.
type record struct {
	stored                      storage.State // 0: absent
	attempt                     int
	token                       storage.Token // zero: nobody has seen it yet
	version                     string        // empty: nobody has seen it yet
	attemptID                   string
	earlier                     [storage.KeptAttemptIDs]string
	fingerprint                 string // empty: any fits
	hold, takeover              bool
	lease                       time.Duration
	end                         span // of the lease; zero unless in progress
	checkpoint                  storage.Checkpoint
	reason                      string
	content                     Content // empty until settled
	byOperator, responseDropped bool    // of the settlement
	ending                      span    // when an operator ended the record; zero: never
}

// span is an instant of the store's clock, between two that are included.
type span struct{ from, to time.Time }

func (s span) add(d time.Duration) span { return span{s.from.Add(d), s.to.Add(d)} }

// latest gives the later one of two instants.
func (s span) latest(o span) span { return span{later(s.from, o.from), later(s.to, o.to)} }

func (s span) has(t time.Time) bool { return !t.Before(s.from) && !t.After(s.to) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (s state) equal(o state) bool {
	return s.record == o.record && s.fence == o.fence && s.floor == o.floor && s.over == o.over
}

// standing is where a name stands: the middle column of the contract's table.
type standing int

const (
	absent standing = iota
	live
	abandoned
	uncertain
	released
	settled
)

// standings are those that the name may have at an instant within now: several where nobody can tell whether the lease
// has run out, or the record has ended.
func (s state) standings(now span) (all []standing) {
	if s.stored == 0 || s.ended() && s.ending.mayBeOver(now) {
		all = append(all, absent)
	}
	switch {
	case s.stored == 0 || s.ended() && !s.ending.mayLast(now):
	case s.stored == storage.Released:
		all = append(all, released)
	case s.stored.Settled():
		all = append(all, settled)
	default:
		if s.end.mayLast(now) {
			all = append(all, live)
		}
		if s.end.mayBeOver(now) {
			all = append(all, s.lapsed())
		}
	}
	return all
}

// when narrows down the instant of a call that found the name like this.
func (s state) when(at standing, now span) span {
	switch at {
	case live:
		return span{now.from, earlier(now.to, s.end.to)}
	case abandoned, uncertain:
		return span{later(now.from, s.end.from), now.to}
	case absent:
		return span{later(now.from, s.ending.from), now.to}
	}
	return now
}

// mayLast tells whether an end may be after now, mayBeOver whether it may not: the end is not after it.
func (s span) mayLast(now span) bool   { return now.from.Before(s.to) }
func (s span) mayBeOver(now span) bool { return !now.to.Before(s.from) }

// ended tells that an operator ended the record. Calls that were decided before that still see it.
func (s state) ended() bool { return s.ending != span{} }

func (s state) lapsed() standing {
	if s.hold {
		return uncertain
	}
	return abandoned
}

// shows is the state that callers see of a record that stands so.
func (s state) shows(at standing) storage.State {
	switch at {
	case abandoned:
		return storage.Abandoned
	case uncertain:
		return storage.Uncertain
	}
	return s.stored
}

// fits tells whether the record may belong to the request with this fingerprint.
func (s state) fits(fingerprint string) bool {
	return s.fingerprint == "" || s.fingerprint == fingerprint
}

// owns tells whether a token is that of the latest acquisition. One that nobody has seen is nobody's: callers learn
// tokens from answers, and those come before what is done with them.
func (s state) owns(t storage.Token) bool {
	return s.stored != 0 && t != storage.Token{} && s.token == t
}

func (s state) isStray(attemptID string) bool {
	return attemptID != "" && (attemptID == s.attemptID || slices.Contains(s.earlier[:], attemptID))
}

// text is a list of tokens and versions.
type text struct {
	said string
	rest *text
}

func (t *text) has(said string) bool {
	for ; t != nil; t = t.rest {
		if t.said == said {
			return true
		}
	}
	return false
}

// place is how many calls of a group have happened; the first of a group in the list counts.
type place struct {
	group, done int
	rest        *place
}

// with is the list after a call has happened.
func (p *place) with(call input) *place {
	if call.place == 0 {
		return p
	}
	return &place{call.group, call.place, p}
}

func (p *place) of(group int) int {
	for ; p != nil; p = p.rest {
		if p.group == group {
			return p.done
		}
	}
	return 0
}
