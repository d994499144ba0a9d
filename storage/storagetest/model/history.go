package model

import (
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// history is all that ever happened to one name.
type history struct {
	name   storage.Name
	fence  int64   // the highest that was ever given out: it outlives the records
	record *record // the latest one, which may have expired since; nil when there never was one
}

// record is one record from its first acquisition to its expiry.
type record struct {
	createdAt    time.Time
	updatedAt    time.Time
	fingerprint  string // empty: any fits
	checkpoint   *storage.Checkpoint
	lastError    string
	acquisitions []*acquisition // oldest first, never empty
	releasedAt   time.Time      // of the latest acquisition; zero while it was not given back
	settlement   *settlement    // nil until settled
	endedAt      time.Time      // by an operator, before its time; zero when none did
}

// acquisition is one holder's turn.
type acquisition struct {
	token     storage.Token
	fence     int64
	attemptID string
	holder    string
	lease     time.Duration
	retention time.Duration
	end       time.Time // of the lease
	hold      bool
	takeover  bool
}

// settlement is the final outcome, by the holder of the latest acquisition, or by an operator during it.
type settlement struct {
	at  time.Time
	end time.Time // of the record
	as  storage.Complete
}

// standing is where a name stands at an instant: the middle column of the contract's table.
type standing int

const (
	absent standing = iota
	live
	abandoned
	uncertain
	released
	settled
)

func (h *history) standing(now time.Time) standing {
	r := h.record
	if r == nil {
		return absent
	}
	if end, ends := r.end(); ends && over(end, now) {
		return absent
	}
	switch l := r.latest(); {
	case r.settlement != nil:
		return settled
	case !r.releasedAt.IsZero():
		return released
	case !over(l.end, now):
		return live
	case l.hold:
		return uncertain
	default:
		return abandoned
	}
}

// over is the one boundary: over when the end is now or was before.
func over(end, now time.Time) bool { return end.Compare(now) <= 0 }

// end is when the record expires by itself. One that is held in progress does not: live or uncertain.
func (r *record) end() (at time.Time, ends bool) {
	l := r.latest()
	switch {
	case !r.endedAt.IsZero():
		return r.endedAt, true
	case r.settlement != nil:
		return r.settlement.end, true
	case !r.releasedAt.IsZero():
		return r.releasedAt.Add(l.retention), true
	case l.hold:
		return time.Time{}, false
	default:
		return l.end.Add(l.retention), true
	}
}

func (r *record) latest() *acquisition { return r.acquisitions[len(r.acquisitions)-1] }

// earlierAttemptIDs are those that are kept of the acquisitions before the latest: the last four that had one, the
// latest first.
func (r *record) earlierAttemptIDs() []string {
	var ids []string
	for i := len(r.acquisitions) - 2; i >= 0 && len(ids) < 4; i-- {
		if id := r.acquisitions[i].attemptID; id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// fits tells whether the record may belong to the request with this fingerprint.
func (r *record) fits(fingerprint string) bool {
	return r.fingerprint == "" || r.fingerprint == fingerprint
}

// unchanged is an outcome with the record as it stood before.
func (h *history) unchanged(outcome storage.Outcome, now time.Time) Expectation {
	return Expectation{Outcome: outcome, Record: h.view(now)}
}

// changed is an outcome with the record as it now stands, changed in a way that callers must notice.
func (h *history) changed(outcome storage.Outcome, now time.Time) Expectation {
	return Expectation{Outcome: outcome, Record: h.view(now), NewVersion: true}
}
