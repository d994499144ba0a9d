package life

import (
	"slices"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

func reserve(stored, present *storage.Record, c storage.Reserve, now time.Time) (storage.Outcome, *storage.Record) {
	if present == nil {
		return storage.Acquired, create(stored, c, now)
	}
	state := present.StateAt(now)
	switch {
	case !fits(present, c.Fingerprint):
		return storage.FingerprintMismatch, nil
	case present.State == storage.InProgress && repeatsLatest(present, c):
		return storage.Acquired, nil
	case state == storage.InProgress:
		return storage.Busy, nil
	case (state == storage.Abandoned || state == storage.Released) && isStray(present, c):
		return storage.LeaseLost, nil
	case state == storage.Uncertain:
		return storage.Held, nil
	case state == storage.Abandoned, state == storage.Released:
		return storage.Acquired, acquireAgain(present, c, state == storage.Abandoned, now)
	case present.Response != nil && present.Response.BodyDropped:
		return storage.ResponseUnavailable, nil
	}
	return storage.Replayed, nil
}

// fits tells whether a request belongs to the record. After a release with Forget the record has no fingerprint, and
// any fits.
func fits(r *storage.Record, fingerprint string) bool {
	return r.Fingerprint == "" || r.Fingerprint == fingerprint
}

// repeatsLatest tells that the answer to the latest acquisition was lost and its caller asks again.
func repeatsLatest(r *storage.Record, c storage.Reserve) bool {
	return c.AttemptID != "" && c.AttemptID == r.AttemptID
}

// isStray tells that the call is a late duplicate of an acquisition that is over. (The latest one, while abandoned, was
// answered before.)
func isStray(r *storage.Record, c storage.Reserve) bool {
	return c.AttemptID != "" && (c.AttemptID == r.AttemptID || slices.Contains(r.EarlierAttemptIDs, c.AttemptID))
}

// create makes attempt 1. Of an expired row only the fence and the count of its writes go on.
func create(stored *storage.Record, c storage.Reserve, now time.Time) *storage.Record {
	next := &storage.Record{Name: c.Name, CreatedAt: now}
	if stored != nil {
		next.Fence, next.Revision = stored.Fence, stored.Revision
	}
	acquire(next, c, now)
	return next
}

func acquireAgain(r *storage.Record, c storage.Reserve, takeover bool, now time.Time) *storage.Record {
	next := *r
	next.EarlierAttemptIDs = withEarlier(r.AttemptID, r.EarlierAttemptIDs)
	next.Takeover = takeover
	acquire(&next, c, now)
	return &next
}

// acquire writes what every acquisition sets afresh.
func acquire(r *storage.Record, c storage.Reserve, now time.Time) {
	r.State = storage.InProgress
	r.OnLapse = c.OnLapse
	r.Attempt++
	r.Fence = max(r.Fence+1, now.UnixMicro())
	r.Token = c.Token
	r.Holder = c.Holder
	r.AttemptID = c.AttemptID
	r.Fingerprint = c.Fingerprint
	r.Lease, r.Retention = kept(c.Lease), kept(c.Retention)
	r.UpdatedAt = now
	r.Revision++
	r.Version++
	leaseUntil(r, now.Add(r.Lease))
}

func withEarlier(latest string, earlier []string) []string {
	if latest == "" {
		return earlier
	}
	kept := append([]string{latest}, earlier...)
	return kept[:min(len(kept), storage.KeptAttemptIDs)]
}
