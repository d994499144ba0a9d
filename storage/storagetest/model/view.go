package model

import (
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// View is what a caller can tell of a record at an instant.
type View struct {
	Name              storage.Name
	State             storage.State // derived states included
	OnLapse           storage.OnLapse
	Attempt           int
	Fence             int64
	Token             storage.Token
	Takeover          bool
	Holder            string
	AttemptID         string
	EarlierAttemptIDs []string
	Fingerprint       string
	CreatedAt         time.Time
	UpdatedAt         time.Time
	LeaseEnd          time.Time // zero unless it is in progress, live or not: to others the end of a lease says nothing
	SettledAt         time.Time
	Expires           time.Time // zero: not by itself
	Checkpoint        *storage.Checkpoint
	ResourceID        string
	LastError         string
	Response          *storage.Response
	ResultHash        []byte
}

// view is the record as the history has it at now; nil when it is absent.
func (h *history) view(now time.Time) *View {
	at := h.standing(now)
	if at == absent {
		return nil
	}
	r, l := h.record, h.record.latest()
	v := &View{
		Name:              h.name,
		State:             r.state(at),
		Attempt:           len(r.acquisitions),
		Fence:             l.fence,
		Token:             l.token,
		Takeover:          l.takeover,
		Holder:            l.holder,
		AttemptID:         l.attemptID,
		EarlierAttemptIDs: r.earlierAttemptIDs(),
		Fingerprint:       r.fingerprint,
		CreatedAt:         r.createdAt,
		UpdatedAt:         r.updatedAt,
		Checkpoint:        r.checkpoint,
		LastError:         r.lastError,
	}
	if l.hold {
		v.OnLapse = storage.Hold
	}
	if at == live || at == abandoned || at == uncertain {
		v.LeaseEnd = l.end
	}
	if end, ends := r.end(); ends {
		v.Expires = end
	}
	if s := r.settlement; s != nil {
		v.SettledAt = s.at
		v.ResourceID = s.as.ResourceID
		v.Response = s.as.Response
		v.ResultHash = s.as.ResultHash
	}
	return v
}

func (r *record) state(at standing) storage.State {
	switch at {
	case live:
		return storage.InProgress
	case abandoned:
		return storage.Abandoned
	case uncertain:
		return storage.Uncertain
	case released:
		return storage.Released
	}
	return r.settlement.as.Result
}

// ViewOf is what a caller can tell at now of a record that a store gave; nil when it gave none.
func ViewOf(r *storage.Record, now time.Time) *View {
	if r == nil {
		return nil
	}
	v := &View{
		Name:              r.Name,
		State:             r.StateAt(now),
		OnLapse:           r.OnLapse,
		Attempt:           r.Attempt,
		Fence:             r.Fence,
		Token:             r.Token,
		Takeover:          r.Takeover,
		Holder:            r.Holder,
		AttemptID:         r.AttemptID,
		EarlierAttemptIDs: r.EarlierAttemptIDs,
		Fingerprint:       r.Fingerprint,
		CreatedAt:         r.CreatedAt,
		UpdatedAt:         r.UpdatedAt,
		SettledAt:         r.SettledAt,
		Checkpoint:        r.Checkpoint,
		ResourceID:        r.ResourceID,
		LastError:         r.LastError,
		Response:          r.Response,
		ResultHash:        r.ResultHash,
	}
	if r.State == storage.InProgress {
		v.LeaseEnd = r.LeaseExpiresAt
	}
	if end, ends := r.Expires(); ends {
		v.Expires = end
	}
	return v
}
