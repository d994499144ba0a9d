package life

import (
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

func resolve(r *storage.Record, c storage.Resolve, now time.Time) (storage.Outcome, *storage.Record) {
	switch {
	case r == nil:
		return storage.OutcomeNotFound, nil
	case r.VersionText() != c.Version:
		return storage.OutcomeVersionConflict, nil
	case r.State != storage.InProgress:
		return storage.OutcomeAlreadyCompleted, nil
	case r.StateAt(now) == storage.InProgress && !c.Force:
		return storage.OutcomeInProgress, nil
	}
	return storage.OutcomeResolved, settleFor(r, c, now)
}

// settleFor settles without a hash of the result: no complete of the holder is a repeat of it. A release takes a token
// that nobody has, so that the holder's own is lost, and is not answered as if it had released.
func settleFor(r *storage.Record, c storage.Resolve, now time.Time) *storage.Record {
	if c.To == storage.Released {
		next := giveBack(r, storage.Release{Reason: c.By.Reason}, now)
		next.Token = c.Token
		return next
	}
	return settle(r, storage.Complete{Result: c.To, Response: c.Response, ResourceID: c.ResourceID}, now)
}

func expire(r *storage.Record, c storage.Expire, now time.Time) (storage.Outcome, *storage.Record) {
	switch {
	case r == nil:
		return storage.OutcomeNotFound, nil
	case r.VersionText() != c.Version:
		return storage.OutcomeVersionConflict, nil
	case r.State == storage.InProgress:
		return storage.OutcomeInProgress, nil
	}
	// The hour to be swept stays: until the promised time the row keeps the fence, which must not fall.
	next := changed(r, now, true)
	next.ExpiresAt = now
	return storage.OutcomeExpired, next
}
