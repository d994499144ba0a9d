package life

import (
	"bytes"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

func complete(r *storage.Record, c storage.Complete, now time.Time) (storage.Outcome, *storage.Record) {
	switch {
	case r == nil || !r.Token.Equal(c.Token):
		return storage.OutcomeLeaseLost, nil
	case owns(r, c.Token):
		return storage.OutcomeSettled, settle(r, c, now)
	case r.State.Settled() && r.ResultHash != nil && bytes.Equal(r.ResultHash, c.ResultHash):
		return storage.OutcomeSettled, nil
	case r.State.Settled():
		return storage.OutcomeAlreadyCompleted, nil
	}
	return storage.OutcomeLeaseLost, nil
}

func settle(r *storage.Record, c storage.Complete, now time.Time) *storage.Record {
	next := changed(r, now, true)
	next.State = c.Result
	next.SettledAt = now
	next.Response = c.Response
	next.ResourceID = c.ResourceID
	next.ResultHash = c.ResultHash
	if c.Retention > 0 {
		next.Retention = wholeMilliseconds(c.Retention)
	}
	endsAt(next, now.Add(next.Retention))
	return next
}

func release(r *storage.Record, c storage.Release, now time.Time) (storage.Outcome, *storage.Record) {
	switch {
	case r == nil || !r.Token.Equal(c.Token):
		return storage.OutcomeLeaseLost, nil
	case owns(r, c.Token):
		return storage.OutcomeReleased, giveBack(r, c, now)
	case r.State == storage.Released:
		return storage.OutcomeReleased, nil
	}
	return storage.OutcomeAlreadyCompleted, nil
}

func giveBack(r *storage.Record, c storage.Release, now time.Time) *storage.Record {
	next := changed(r, now, true)
	next.State = storage.Released
	next.LastError = c.Reason
	if c.Forget {
		next.Fingerprint, next.Checkpoint = "", nil
	}
	endsAt(next, now.Add(next.Retention))
	return next
}

func heartbeat(r *storage.Record, c storage.Heartbeat, now time.Time) (storage.Outcome, *storage.Record) {
	if r == nil || !owns(r, c.Token) {
		return storage.OutcomeLeaseLost, nil
	}
	return storage.OutcomeRenewed, renew(r, c, now)
}

// renew makes everything at least as strong as it was: a later end, a higher checkpoint, Hold instead of Retry. Callers
// see more than a later end when the lease was over, or one of the others changed.
func renew(r *storage.Record, c storage.Heartbeat, now time.Time) *storage.Record {
	progress := c.Checkpoint != nil && (r.Checkpoint == nil || c.Checkpoint.Seq > r.Checkpoint.Seq)
	holds := c.Hold && r.OnLapse != storage.Hold
	revived := !now.Before(r.LeaseExpiresAt)
	lease := wholeMilliseconds(c.Lease)
	if lease == 0 {
		lease = r.Lease
	}
	end := now.Add(lease)
	later := end.After(r.LeaseExpiresAt)
	if !progress && !holds && !later {
		return nil
	}
	next := changed(r, now, progress || holds || revived)
	if progress {
		next.Checkpoint = c.Checkpoint
	}
	if holds {
		next.OnLapse = storage.Hold
	}
	if later {
		leaseUntil(next, end)
	}
	return next
}
