package httpapi

import (
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/storage"
)

// record writes a record, with its response where the call is for that.
func record(r service.Record, withResponse bool) wire.Record {
	w := wire.Record{
		Tenant: r.Tenant, Operation: r.Operation, Subject: r.Subject, Key: r.Key,
		State: r.DerivedState().String(), Attempt: r.Attempt, Fence: r.Fence, Version: r.VersionText(),
		Fingerprint: r.Fingerprint, Holder: r.Holder, OnLapse: r.OnLapse.String(),
		CreatedAt: timeText(r.CreatedAt), UpdatedAt: timeText(r.UpdatedAt),
		Checkpoint: checkpoint(r.Checkpoint), ResourceID: orNil(r.ResourceID), LastError: orNil(r.LastError),
	}
	if r.State == storage.InProgress {
		w.LeaseExpiresAt = timeOrNil(r.LeaseExpiresAt)
	}
	if r.DerivedState() != storage.InProgress && r.DerivedState() != storage.Uncertain {
		w.ExpiresAt = timeOrNil(r.ExpiresAt)
	}
	w.SettledAt = timeOrNil(r.SettledAt)
	if r.Response != nil {
		w.ResponseDropped, w.DroppedHeaders = r.Response.BodyDropped, r.Response.DroppedHeaders
		if withResponse {
			w.Response = response(r.Response)
		}
	}
	return w
}

func response(r *storage.Response) *wire.Response {
	w := &wire.Response{Headers: r.Headers}
	if r.Status != 0 {
		w.Status = &r.Status
	}
	if r.Body != nil {
		body, encoding := textOf(r.Body)
		w.Body, w.BodyEncoding = &body, &encoding
	}
	return w
}

func leaseOf(g service.Grant) wire.Lease {
	return wire.Lease{Token: g.Token.String(), Fence: g.Fence, Attempt: g.Attempt, ExpiresAt: timeText(g.LeaseExpiresAt),
		RemainingMS: max(0, time.Until(g.GoodUntil).Milliseconds()), Takeover: g.Takeover, Checkpoint: checkpoint(g.Checkpoint)}
}

func checkpoint(c *storage.Checkpoint) *wire.Checkpoint {
	if c == nil {
		return nil
	}
	return &wire.Checkpoint{Seq: c.Seq, Data: &c.Data}
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func timeOrNil(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := timeText(t)
	return &s
}
