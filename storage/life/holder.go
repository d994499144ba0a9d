package life

import (
	"bytes"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

func complete(r *storage.Record, c storage.Complete, now time.Time) (storage.Outcome, *storage.Record) {
	switch {
	case r == nil || !r.Token.Equal(c.Token):
		return storage.LeaseLost, nil
	case owns(r, c.Token):
		return storage.Settled, settle(r, c, now)
	case r.State.Settled() && r.ResultHash != nil && bytes.Equal(r.ResultHash, c.ResultHash):
		return storage.Settled, nil
	case r.State.Settled():
		return storage.AlreadyCompleted, nil
	}
	return storage.LeaseLost, nil
}

func settle(r *storage.Record, c storage.Complete, now time.Time) *storage.Record {
	next := changed(r, now)
	next.State = c.Result
	next.SettledAt = now
	next.Response = c.Response
	next.ResourceID = c.ResourceID
	next.ResultHash = c.ResultHash
	if c.Retention > 0 {
		next.Retention = kept(c.Retention)
	}
	endsAt(next, now.Add(next.Retention))
	return next
}

func release(r *storage.Record, c storage.Release, now time.Time) (storage.Outcome, *storage.Record) {
	switch {
	case r == nil || !r.Token.Equal(c.Token):
		return storage.LeaseLost, nil
	case owns(r, c.Token):
		return storage.GivenBack, giveBack(r, c, now)
	case r.State == storage.Released:
		return storage.GivenBack, nil
	}
	return storage.AlreadyCompleted, nil
}

func giveBack(r *storage.Record, c storage.Release, now time.Time) *storage.Record {
	next := changed(r, now)
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
		return storage.LeaseLost, nil
	}
	return storage.Renewed, renew(r, c, now)
}

// renew makes everything at least as strong as it was: a later end, a higher checkpoint, Hold instead of Retry.
func renew(r *storage.Record, c storage.Heartbeat, now time.Time) *storage.Record {
	next := changed(r, now)
	seen := !now.Before(r.LeaseExpiresAt) // a lapsed record comes back to life: callers can see that
	if c.Checkpoint != nil && (r.Checkpoint == nil || c.Checkpoint.Seq > r.Checkpoint.Seq) {
		next.Checkpoint, seen = c.Checkpoint, true
	}
	if c.Hold && r.OnLapse != storage.Hold {
		next.OnLapse, seen = storage.Hold, true
	}
	lease := kept(c.Lease)
	if lease == 0 {
		lease = r.Lease
	}
	if end := now.Add(lease); end.After(r.LeaseExpiresAt) {
		leaseUntil(next, end)
	} else if !seen {
		return nil
	}
	if !seen {
		next.Version--
	}
	return next
}

func lookup(r *storage.Record, c storage.Lookup) storage.Outcome {
	switch {
	case r == nil:
		return storage.Absent
	case c.Fingerprint != "" && !fits(r, c.Fingerprint):
		return storage.FingerprintMismatch
	}
	return storage.Found
}
