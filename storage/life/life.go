// Package life is the life of a key: the one table that says what a call on a record comes to. It is pure. It neither
// reads a clock nor touches a database; every backend asks it, so that no two can differ.
//
// In each function the first case that fits is the answer; the order is part of the rule.
package life

import (
	"fmt"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// Decide answers one call. stored is the row as it is, nil when there is none; an expired one counts as absent, but
// its fence is carried on. now is the store's clock. next is the row as it must become, nil when nothing changes;
// stored itself is never modified.
func Decide(stored *storage.Record, call storage.Call, now time.Time) (answer storage.Answer, next *storage.Record) {
	present := stored
	if stored != nil && stored.ExpiredAt(now) {
		present = nil
	}
	var outcome storage.Outcome
	switch c := call.(type) {
	case storage.Reserve:
		outcome, next = reserve(stored, present, c, now)
	case storage.Complete:
		outcome, next = complete(present, c, now)
	case storage.Release:
		outcome, next = release(present, c, now)
	case storage.Heartbeat:
		outcome, next = heartbeat(present, c, now)
	case storage.Lookup:
		outcome = lookup(present, c)
	case storage.Resolve:
		outcome, next = resolve(present, c, now)
	case storage.Expire:
		outcome, next = expire(present, c, now)
	default:
		panic(fmt.Sprintf("life: no rule for a %T", call))
	}
	answer = storage.Answer{Outcome: outcome, Record: present, Now: now}
	if next != nil {
		answer.Record = next
	}
	return answer, next
}

// changed starts a change: a copy of the record with a new revision and, where callers can see the change, a new
// version.
func changed(r *storage.Record, now time.Time, visible bool) *storage.Record {
	next := *r
	next.UpdatedAt = now
	next.Revision++
	if visible {
		next.Version++
	}
	return &next
}

// endsAt sets the record's own end, and with it the hour before which no sweeper looks.
func endsAt(r *storage.Record, end time.Time) {
	r.ExpiresAt = end
	r.SweepHour = storage.SweepHourOf(end)
}

// leaseUntil moves the lease's end; the end of a record in progress follows it.
func leaseUntil(r *storage.Record, end time.Time) {
	r.LeaseExpiresAt = end
	endsAt(r, end.Add(r.Retention))
}

// wholeMilliseconds gives a duration as it is stored: rounded up, so that nobody gets less than was asked for.
func wholeMilliseconds(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// owns is the one rule of ownership: a token is good until another acquisition, a settlement, a release, a resolution
// or the record's end. The end of the lease only allows others to take over.
func owns(r *storage.Record, t storage.Token) bool {
	return r.State == storage.InProgress && r.Token.Equal(t)
}
