package model

import "github.com/reprise-idempotency/reprise/storage"

// resolve goes down the rows of the contract's table; the first that fits is the answer.
func (h *history) resolve(c storage.Resolve, told Told) Expectation {
	now := told.Now
	switch at := h.standing(now); {
	case at == absent:
		return h.unchanged(storage.OutcomeNotFound, now)
	case c.Version != told.Version:
		return h.unchanged(storage.OutcomeVersionConflict, now)
	case at == settled, at == released:
		return h.unchanged(storage.OutcomeAlreadyCompleted, now)
	case at == live && !c.Force:
		return h.unchanged(storage.OutcomeInProgress, now)
	}
	r := h.record
	r.updatedAt = now
	if c.To == storage.Released {
		r.releasedAt = now
		r.lastError = c.By.Reason
		r.latest().token = c.Token // nobody has it: the holder did not release, and is not answered as if it had
		return h.changed(storage.OutcomeResolved, now)
	}
	// Without a hash of a result: no complete of the holder's is a repeat of this settlement.
	as := storage.Complete{Result: c.To, Response: c.Response, ResourceID: c.ResourceID}
	r.settlement = &settlement{at: now, end: now.Add(r.latest().retention), as: as}
	return h.changed(storage.OutcomeResolved, now)
}

// expire ends what is over. What is told is the record as it ended; the next call will find none.
func (h *history) expire(c storage.Expire, told Told) Expectation {
	now := told.Now
	switch at := h.standing(now); {
	case at == absent:
		return h.unchanged(storage.OutcomeNotFound, now)
	case c.Version != told.Version:
		return h.unchanged(storage.OutcomeVersionConflict, now)
	case at == live, at == abandoned, at == uncertain:
		return h.unchanged(storage.OutcomeInProgress, now)
	}
	h.record.updatedAt = now
	ended := h.view(now)
	ended.Expires = now
	h.record.endedAt = now
	return Expectation{Outcome: storage.OutcomeExpired, Record: ended, NewVersion: true}
}
