package life

import (
	"slices"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

func reserve(stored, present *storage.Record, c storage.Reserve, now time.Time) (storage.Outcome, *storage.Record) {
	if present == nil {
		return storage.OutcomeAcquired, create(stored, c, now)
	}
	state := present.StateAt(now)
	switch {
	case !fits(present, c.Fingerprint):
		return storage.OutcomeFingerprintMismatch, nil
	case present.State == storage.InProgress && repeatsLatest(present, c):
		return storage.OutcomeAcquired, nil
	case state == storage.InProgress:
		return storage.OutcomeInProgress, nil
	case (state == storage.Abandoned || state == storage.Released) && isStray(present, c):
		return storage.OutcomeLeaseLost, nil
	case state == storage.Uncertain:
		return storage.OutcomeUncertain, nil
	case state == storage.Abandoned, state == storage.Released:
		return storage.OutcomeAcquired, acquireAgain(present, c, state == storage.Abandoned, now)
	case present.Response != nil && present.Response.BodyDropped:
		return storage.OutcomeResponseUnavailable, nil
	}
	return storage.OutcomeReplay, nil
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
	blank := &storage.Record{Name: c.Name, CreatedAt: now}
	if stored != nil {
		blank.Fence, blank.Revision = stored.Fence, stored.Revision
	}
	return acquired(blank, c, now)
}

func acquireAgain(r *storage.Record, c storage.Reserve, takeover bool, now time.Time) *storage.Record {
	next := acquired(r, c, now)
	next.EarlierAttemptIDs = withEarlier(r.AttemptID, r.EarlierAttemptIDs)
	next.Takeover = takeover
	return next
}

// acquired sets afresh what every acquisition does.
func acquired(r *storage.Record, c storage.Reserve, now time.Time) *storage.Record {
	next := changed(r, now, true)
	next.State = storage.InProgress
	next.OnLapse = c.OnLapse
	next.Attempt++
	next.Fence = max(r.Fence+1, now.UnixMicro())
	next.Token = c.Token
	next.Holder = c.Holder
	next.AttemptID = c.AttemptID
	next.Fingerprint = c.Fingerprint
	next.Lease, next.Retention = wholeMilliseconds(c.Lease), wholeMilliseconds(c.Retention)
	leaseUntil(next, now.Add(next.Lease))
	return next
}

func withEarlier(latest string, earlier []string) []string {
	if latest == "" {
		return earlier
	}
	kept := append([]string{latest}, earlier...)
	return kept[:min(len(kept), storage.KeptAttemptIDs)]
}
