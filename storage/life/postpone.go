package life

import (
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// Postpone moves the instant that a settled or released record counts its retention from, because writing it took a
// while, and before anybody is told of it. The version stays: it is the same change.
func Postpone(r *storage.Record, by time.Duration) *storage.Record {
	by = by.Truncate(time.Microsecond)
	next := *r
	next.Revision++
	next.UpdatedAt = r.UpdatedAt.Add(by)
	if r.State.Settled() {
		next.SettledAt = r.SettledAt.Add(by)
	}
	endsAt(&next, r.ExpiresAt.Add(by))
	return &next
}
