package model

import (
	"bytes"
	"cmp"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// owned is where the name stands for who shows this token. To all but the latest holder it is as good as absent.
func (h *history) owned(token storage.Token, now time.Time) standing {
	at := h.standing(now)
	if at == absent || h.record.latest().token != token {
		return absent
	}
	return at
}

func (h *history) complete(c storage.Complete, now time.Time) Expectation {
	switch h.owned(c.Token, now) {
	case live, abandoned, uncertain:
		r := h.record
		r.updatedAt = now
		r.settlement = &settlement{at: now, end: now.Add(cmp.Or(c.Retention, r.latest().retention)), as: c}
		return h.changed(storage.OutcomeSettled, now)
	case settled:
		stored := h.record.settlement.as.ResultHash
		if len(stored) > 0 && bytes.Equal(stored, c.ResultHash) { // without a hash nobody can tell that it is the same
			return h.unchanged(storage.OutcomeSettled, now)
		}
		return h.unchanged(storage.OutcomeAlreadyCompleted, now)
	}
	return h.unchanged(storage.OutcomeLeaseLost, now)
}

func (h *history) release(c storage.Release, now time.Time) Expectation {
	switch h.owned(c.Token, now) {
	case live, abandoned, uncertain:
		r := h.record
		r.updatedAt = now
		r.releasedAt = now
		r.lastError = c.Reason
		if c.Forget {
			r.fingerprint = ""
			r.checkpoint = nil
		}
		return h.changed(storage.OutcomeReleased, now)
	case released:
		return h.unchanged(storage.OutcomeReleased, now)
	case settled:
		return h.unchanged(storage.OutcomeAlreadyCompleted, now)
	}
	return h.unchanged(storage.OutcomeLeaseLost, now)
}

// heartbeat extends the lease, also one that ran out. Only one that does no more than that, to a live lease, leaves the
// version as it is.
func (h *history) heartbeat(c storage.Heartbeat, now time.Time) Expectation {
	at := h.owned(c.Token, now)
	if at != live && at != abandoned && at != uncertain {
		return h.unchanged(storage.OutcomeLeaseLost, now)
	}
	r, l := h.record, h.record.latest()
	more := at != live // than extending a live lease
	if c.Hold && !l.hold {
		l.hold = true
		more = true
	}
	if c.Checkpoint != nil && (r.checkpoint == nil || c.Checkpoint.Seq > r.checkpoint.Seq) {
		r.checkpoint = c.Checkpoint
		more = true
	}
	if end := now.Add(cmp.Or(c.Lease, l.lease)); end.After(l.end) {
		l.end = end
		r.updatedAt = now
	}
	if more {
		r.updatedAt = now
	}
	return Expectation{Outcome: storage.OutcomeRenewed, Record: h.view(now), NewVersion: more}
}

func (h *history) lookup(c storage.Lookup, now time.Time) Expectation {
	switch {
	case h.standing(now) == absent:
		return h.unchanged(storage.OutcomeNotFound, now)
	case c.Fingerprint != "" && !h.record.fits(c.Fingerprint):
		return h.unchanged(storage.OutcomeFingerprintMismatch, now)
	}
	return h.unchanged(storage.OutcomeFound, now)
}
