package clienttest

import (
	"slices"
	"strconv"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

type name struct{ tenant, operation, subject, key string }

// record is what stands under a name.
type record struct {
	name         name
	state        string // as stored: in_progress, completed, failed or released
	fingerprint  string // "" after a release that forgot it
	attempt      int
	fence        int64
	version      int
	token        string   // of the latest acquisition
	attemptIDs   []string // of the latest acquisition, and of up to four before it, newest first
	lease        time.Duration
	retention    time.Duration
	hold         bool
	holder       string
	created      time.Time
	updated      time.Time
	leaseEnd     time.Time
	settledAt    time.Time
	expires      time.Time // zero: not by itself
	checkpoint   *wire.Checkpoint
	resourceID   string
	lastError    string
	response     *wire.Response
	dropped      bool
	droppedRows  []string
	settlement   string // what the token settled, for a repeat; "" when an operator did
	afterRelease bool   // the latest acquisition followed nothing, or a release
}

// derived is the state that callers see.
func (r *record) derived(now time.Time) string {
	if r.state != "in_progress" || now.Before(r.leaseEnd) {
		return r.state
	}
	if r.hold {
		return "uncertain"
	}
	return "abandoned"
}

// over tells that the record has expired: it is absent.
func (r *record) over(now time.Time) bool {
	end := r.expires
	if r.state == "in_progress" && !r.hold {
		end = r.leaseEnd.Add(r.retention)
	}
	return !end.IsZero() && !now.Before(end)
}

func (r *record) settled() bool { return r.state == "completed" || r.state == "failed" }

// touch marks a change.
func (r *record) touch(now time.Time) {
	r.version++
	r.updated = now
}

// knows tells that an id is of an acquisition before the latest.
func (r *record) knows(id string) bool { return slices.Contains(r.attemptIDs[1:], id) }

// wire writes a record as callers see it.
func (r *record) wire(now time.Time, withResponse bool) wire.Record {
	w := wire.Record{
		Tenant: r.name.tenant, Operation: r.name.operation, Subject: r.name.subject, Key: r.name.key,
		State: r.derived(now), Attempt: r.attempt, Fence: r.fence, Version: strconv.FormatInt(r.fence, 36) + "." + strconv.Itoa(r.version),
		Fingerprint: r.fingerprint, Holder: r.holder, OnLapse: onLapse(r.hold),
		CreatedAt: stamp(r.created), UpdatedAt: stamp(r.updated),
		Checkpoint: r.checkpoint, ResourceID: given(r.resourceID), LastError: given(r.lastError),
		ResponseDropped: r.dropped, DroppedHeaders: r.droppedRows,
	}
	switch {
	case r.state != "in_progress":
		w.ExpiresAt = given(stamp(r.expires))
	case w.State == "abandoned":
		w.ExpiresAt = given(stamp(r.leaseEnd.Add(r.retention)))
	}
	if r.state == "in_progress" {
		w.LeaseExpiresAt = given(stamp(r.leaseEnd))
	}
	if r.settled() {
		w.SettledAt = given(stamp(r.settledAt))
	}
	if withResponse {
		w.Response = r.response
	}
	return w
}

func onLapse(hold bool) string {
	if hold {
		return "hold"
	}
	return "retry"
}

func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000000Z") }

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
