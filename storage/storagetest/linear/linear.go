// Package linear judges histories of concurrent calls: is there an order of them, call by call, that explains every
// answer, and in which each call happened between the moment it was sent and the moment it was answered? Porcupine
// searches for the order; the model of what one name may do next is here, once more written from the contract's table.
//
// Names are judged one by one, each from its first call on: it must be new. A name's history should be short, some tens
// of calls: the search can take exponential time in those that were under way together.
//
// # What may have happened
//
// A call without an answer, or one that was answered "the outcome is unknown", may have happened at any time after it
// was sent, or never. A call that was answered "nothing was changed" is to be left out of the history: if it did change
// something, no other call explains that.
//
// Calls of one group, or batch, on one name happen in their order, and others may come between them.
//
// # What is checked
//
// Outcome, token, whether it was a takeover, and of the record that is shown: state, attempt, fence, version, end of the
// lease, fingerprint, on_lapse, checkpoint, reason of the last release, and the content of the settlement wherever it is
// shown. Fences rise over all records of a name; tokens and versions never come back. Each of them is bound by the first
// answer that shows it, so that a call whose answer was lost is held to what others saw of it.
//
// Time is checked as far as callers can know it. Every call is decided at one instant of the store's clock, of which the
// history tells the earliest and the latest: the very instant where an answer tells it, else when the call was sent and
// answered. A lease may be taken for lapsed only if its end is not after the latest, for live only if it is after the
// earliest; and its end must be as long after such an instant as was asked for. Where both are possible, both are tried.
// A record that an operator ended is absent for calls that are decided from that instant on, in the same sense.
//
// # What is not checked
//
// Expiry by retention: no record of a history may end by itself. Sweeping. That the instants of calls, one after the
// other in the order that was found, rise: a call that was decided before another may be written after it, if the other
// changed nothing. The holder's name, times other than the lease's end, and the calls that go over many names.
package linear

import (
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// Op is one call as its caller saw it.
type Op struct {
	Client int // who called; for people
	// Call is what was asked for. A Reserve has no token if its caller did not choose one; a Resolve needs none. Leases
	// are whole milliseconds. Responses are not looked at: see Content.
	Call storage.Call
	// Content stands for what a Complete or a Resolve settles: see ContentOf. Equal ones are the same settlement.
	Content Content
	// Sent and Returned are times of one monotonic clock; Returned does not count for an unfinished call.
	Sent, Returned time.Duration
	// Earliest and Latest bound the instant of the store's clock at which the call was decided, both included. Latest
	// does not count for an unfinished call.
	Earliest, Latest time.Time
	// Group is the same for calls of one group, whose Order tells their places; zero: the call came alone, or has no
	// certain place.
	Group, Order int
	Answer       *Answer // nil: unfinished
	// Bounded tells of an unfinished call that Latest counts all the same: it was decided by then, or never.
	Bounded bool
}

// Answer is what a caller was told.
type Answer struct {
	Outcome  storage.Outcome
	Token    storage.Token // of a lease that was acquired
	Takeover bool          // it was taken over from an abandoned one
	Seen     *Seen         // nil: no record was shown
}

// Seen is a record as an answer shows it.
type Seen struct {
	State       storage.State // derived states included
	Hold        bool
	Attempt     int
	Fence       int64
	Version     string
	Fingerprint string
	LeaseEnd    time.Time          // zero unless in progress, live or not
	Checkpoint  storage.Checkpoint // zero: none
	Reason      string             // of the last release
	Content     Content            // empty unless settled; it is shown by Replay, ResponseUnavailable and Found
}

// AnswerOf is what a store's answer tells. It must have no error.
func AnswerOf(a storage.Answer) *Answer {
	answer := &Answer{Outcome: a.Outcome}
	if a.Record == nil {
		return answer
	}
	if a.Outcome == storage.OutcomeAcquired {
		answer.Token, answer.Takeover = a.Record.Token, a.Record.Takeover
	}
	answer.Seen = seenIn(a.Record, a.Now)
	return answer
}

func seenIn(r *storage.Record, now time.Time) *Seen {
	s := &Seen{State: r.StateAt(now), Hold: r.OnLapse == storage.Hold, Attempt: r.Attempt, Fence: r.Fence,
		Version: r.VersionText(), Fingerprint: r.Fingerprint, Reason: r.LastError}
	if r.State == storage.InProgress {
		s.LeaseEnd = r.LeaseExpiresAt
	}
	if r.Checkpoint != nil {
		s.Checkpoint = *r.Checkpoint
	}
	if r.State.Settled() {
		s.Content = ContentOf(r.State, r.ResourceID, r.Response)
	}
	return s
}
