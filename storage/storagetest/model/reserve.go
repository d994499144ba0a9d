package model

import (
	"slices"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// reserve goes down the rows of the contract's table; the first that fits is the answer.
func (h *history) reserve(c storage.Reserve, told Told) Expectation {
	now := told.Now
	at := h.standing(now)
	if at == absent {
		h.record = &record{createdAt: now}
		return h.acquire(c, false, now)
	}
	r, l := h.record, h.record.latest()
	inProgress := at == live || at == abandoned || at == uncertain
	ofLatest := c.AttemptID != "" && c.AttemptID == l.attemptID
	ofEarlier := c.AttemptID != "" && slices.Contains(r.earlierAttemptIDs(), c.AttemptID)
	switch {
	case !r.fits(c.Fingerprint):
		return h.unchanged(storage.OutcomeFingerprintMismatch, now)
	case inProgress && ofLatest:
		return h.acquireAgain(told)
	case at == live:
		return h.unchanged(storage.OutcomeInProgress, now)
	case at == abandoned && ofEarlier, at == released && (ofEarlier || ofLatest):
		return h.unchanged(storage.OutcomeLeaseLost, now)
	case at == abandoned:
		return h.acquire(c, true, now)
	case at == uncertain:
		return h.unchanged(storage.OutcomeUncertain, now)
	case at == released:
		return h.acquire(c, false, now)
	case r.settlement.as.Response != nil && r.settlement.as.Response.BodyDropped:
		return h.unchanged(storage.OutcomeResponseUnavailable, now)
	default:
		return h.unchanged(storage.OutcomeReplay, now)
	}
}

// acquire begins a new turn. All that a reserve sets is set afresh; what the record has learned stays.
func (h *history) acquire(c storage.Reserve, takeover bool, now time.Time) Expectation {
	h.fence = max(h.fence+1, now.UnixMicro())
	r := h.record
	r.updatedAt = now
	r.fingerprint = c.Fingerprint
	r.releasedAt = time.Time{}
	r.acquisitions = append(r.acquisitions, &acquisition{
		token:     c.Token,
		fence:     h.fence,
		attemptID: c.AttemptID,
		holder:    c.Holder,
		lease:     c.Lease,
		retention: c.Retention,
		end:       now.Add(c.Lease),
		hold:      c.OnLapse == storage.Hold,
		takeover:  takeover,
	})
	return h.changed(storage.OutcomeAcquired, now)
}

// acquireAgain answers the repeat of the reserve that made the latest acquisition. The store may move the end of its
// lease, also of one that ran out: never back, and never past that of a fresh one.
func (h *history) acquireAgain(told Told) Expectation {
	r, l := h.record, h.record.latest()
	end := earlier(later(told.LeaseEnd, l.end), later(l.end, told.Now.Add(l.lease)))
	if end.Equal(l.end) {
		return h.unchanged(storage.OutcomeAcquired, told.Now)
	}
	l.end = end
	r.updatedAt = told.Now
	return h.changed(storage.OutcomeAcquired, told.Now)
}

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
