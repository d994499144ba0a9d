package clienttest

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/reprise-idempotency/reprise/client/fingerprint"
	"github.com/reprise-idempotency/reprise/client/wire"
)

// The life of a key: each call gives its answer, or a refusal. The first rule that fits is it.

// at finds the record of a name that is not over. The fake's lock is held by every caller in this file.
func (f *Fake) at(n name) *record {
	if r := f.records[n]; r != nil && !r.over(f.now()) {
		return r
	}
	return nil
}

func (f *Fake) reserve(n name, q wire.ReserveRequest) (any, *refusal) {
	print, id := fingerprintOf(q), value(q.AttemptID)
	r := f.at(n)
	if r == nil {
		r = f.fresh(n)
		return f.acquire(r, q, print, false), nil
	}
	now := f.now()
	latest := id != "" && id == r.attemptIDs[0]
	state := r.derived(now)
	switch {
	case r.fingerprint != "" && r.fingerprint != print:
		return nil, &refusal{code: "fingerprint_mismatch", detail: "the key was used for another request: the fingerprints differ"}
	case r.state == "in_progress" && latest:
		if r.leaseEnd.Sub(now) < r.lease/2 {
			if now.Before(r.leaseEnd) {
				r.updated = now // its end alone moves
			} else {
				r.touch(now)
			}
			r.leaseEnd = now.Add(r.lease)
			f.wake()
		}
		return f.granted(r, r.attempt > 1 && !r.afterRelease), nil
	case state == "in_progress":
		left := r.leaseEnd.Sub(now)
		return nil, r.refuse(now, refusal{code: "in_progress", detail: "another attempt holds the key", retryAfter: min(left, 2*time.Second)})
	case state == "uncertain":
		return nil, r.refuse(now, refusal{code: "uncertain", detail: "an attempt lapsed after its point of no return"})
	case id != "" && (state == "abandoned" || state == "released") && (r.knows(id) || latest):
		return nil, r.refuse(now, refusal{code: "lease_lost", detail: "the lease of this attempt is lost"})
	case state == "abandoned", state == "released":
		return f.acquire(r, q, print, state == "abandoned"), nil
	case r.dropped:
		return nil, r.refuse(now, refusal{code: "response_unavailable", detail: "the work was done, but the body of its response was not kept"})
	}
	return wire.ReserveAnswer{Outcome: wire.OutcomeReplay, Record: r.wire(now, true)}, nil
}

// fresh makes a record where there is none, or none any more: only its fence goes on.
func (f *Fake) fresh(n name) *record {
	r := &record{name: n, created: f.now()}
	if old := f.records[n]; old != nil {
		r.fence = old.fence
	}
	f.records[n] = r
	f.sweep()
	return r
}

// sweep forgets what ended more than a minute ago, when there are twice as many records as it left the last time.
func (f *Fake) sweep() {
	if len(f.records) < max(1024, 2*f.swept) {
		return
	}
	before := f.now().Add(-time.Minute)
	for n, r := range f.records {
		if r.over(before) {
			delete(f.records, n)
		}
	}
	f.swept = len(f.records)
}

func (f *Fake) acquire(r *record, q wire.ReserveRequest, print string, takeover bool) wire.ReserveAnswer {
	now := f.now()
	earlier := r.attemptIDs
	if len(earlier) > 0 && earlier[0] == "" {
		earlier = earlier[1:]
	}
	ids := append([]string{value(q.AttemptID)}, earlier...)
	r.attemptIDs = ids[:min(len(ids), 5)]
	r.afterRelease = !takeover
	r.state, r.fingerprint, r.token = "in_progress", print, newToken()
	r.attempt++
	r.fence = max(r.fence+1, now.UnixMicro())
	r.lease, r.retention = duration(q.Lease, 30*time.Second), duration(q.Retention, 24*time.Hour)
	r.leaseEnd, r.expires = now.Add(r.lease), time.Time{}
	r.hold, r.holder = value(q.OnLapse) == "hold", value(q.Holder)
	r.touch(now)
	f.wake()
	return f.granted(r, takeover)
}

func (f *Fake) granted(r *record, takeover bool) wire.ReserveAnswer {
	lease := f.leaseOf(r, takeover)
	return wire.ReserveAnswer{Outcome: wire.OutcomeAcquired, Record: r.wire(f.now(), false), Lease: &lease}
}

func (f *Fake) leaseOf(r *record, takeover bool) wire.Lease {
	return wire.Lease{Token: r.token, Fence: r.fence, Attempt: r.attempt, ExpiresAt: stamp(r.leaseEnd),
		RemainingMS: r.leaseEnd.Sub(f.now()).Milliseconds(), Takeover: takeover, Checkpoint: r.checkpoint}
}

func (f *Fake) complete(n name, q wire.CompleteRequest) (any, *refusal) {
	r, now := f.at(n), f.now()
	settlement := settlementOf(q)
	switch {
	case r == nil || r.token != q.LeaseToken || r.state == "released":
		return nil, lost(r, now)
	case r.settled() && r.settlement == settlement:
		return wire.RecordAnswer{Record: r.wire(now, false)}, nil
	case r.state != "in_progress":
		return nil, r.refuse(now, refusal{code: "already_completed", detail: "the key is settled already, with another outcome or by an operator"})
	}
	retention := r.retention
	if q.Retention != nil {
		retention = duration(q.Retention, 0)
	}
	r.state, r.settlement = "completed", settlement
	if value(q.Result) == "failed" {
		r.state = "failed"
	}
	r.resourceID = value(q.ResourceID)
	r.keep(q.Response, q.ResponseDropped != nil && *q.ResponseDropped)
	f.settle(r, retention)
	return wire.RecordAnswer{Record: r.wire(f.now(), false)}, nil
}

// settlementOf is what makes a repeated complete the same: the result, the resource id, and the response in bytes.
func settlementOf(q wire.CompleteRequest) string {
	dropped := q.ResponseDropped != nil && *q.ResponseDropped
	parts := []any{value(q.Result) == "failed", value(q.ResourceID), dropped}
	if r := q.Response; r != nil {
		body := decoded(r.Body, r.BodyEncoding)
		parts = append(parts, r.Status, r.Headers, body != nil && !dropped)
		if body != nil && !dropped {
			parts = append(parts, []byte(*body)) // base64 in JSON
		}
	} else if dropped {
		parts = append(parts, nil, nil, false)
	}
	text, _ := json.Marshal(parts)
	return string(text)
}

// settle ends an acquisition.
func (f *Fake) settle(r *record, retention time.Duration) {
	now := f.now()
	r.settledAt, r.expires = now, now.Add(retention)
	r.touch(now)
	f.wake()
}

func (f *Fake) release(n name, q wire.ReleaseRequest) (any, *refusal) {
	r, now := f.at(n), f.now()
	switch {
	case r == nil || r.token != q.LeaseToken:
		return nil, lost(r, now)
	case r.state == "released":
		return wire.RecordAnswer{Record: r.wire(now, false)}, nil
	case r.state != "in_progress":
		return nil, r.refuse(now, refusal{code: "already_completed", detail: "the key is settled already, with another outcome or by an operator"})
	}
	r.state, r.lastError = "released", value(q.Reason)
	if q.Forget != nil && *q.Forget {
		r.fingerprint, r.checkpoint = "", nil
	}
	f.settle(r, r.retention)
	return wire.RecordAnswer{Record: r.wire(f.now(), false)}, nil
}

func (f *Fake) heartbeat(n name, q wire.HeartbeatRequest) (any, *refusal) {
	r, now := f.at(n), f.now()
	if r == nil || r.token != q.LeaseToken || r.state != "in_progress" {
		return nil, lost(r, now)
	}
	lease := r.lease
	if q.Lease != nil {
		lease = duration(q.Lease, 0)
	}
	live := r.derived(now) == "in_progress"
	if end := now.Add(lease); end.After(r.leaseEnd) {
		r.leaseEnd = end
	}
	changed := !live
	if value(q.OnLapse) == "hold" && !r.hold {
		r.hold, changed = true, true
	}
	if c := q.Checkpoint; c != nil && (r.checkpoint == nil || c.Seq > r.checkpoint.Seq) {
		r.checkpoint, changed = c, true
	}
	r.updated = now
	if changed {
		r.touch(now)
	}
	return wire.HeartbeatAnswer{Record: r.wire(now, false), Lease: f.leaseOf(r, r.attempt > 1 && !r.afterRelease)}, nil
}

func (f *Fake) lookup(n name, q wire.LookupRequest) (any, *refusal) {
	r := f.at(n)
	switch {
	case r == nil:
		return nil, &refusal{code: "not_found", detail: "there is no such key"}
	case q.Fingerprint != nil && r.fingerprint != "" && *q.Fingerprint != r.fingerprint:
		return nil, &refusal{code: "fingerprint_mismatch", detail: "the key was used for another request: the fingerprints differ"}
	}
	return wire.RecordAnswer{Record: r.wire(f.now(), true)}, nil
}

// lost refuses a token that is not the one that counts. The record is shown, as the service does, when there is one.
func lost(r *record, now time.Time) *refusal {
	no := refusal{code: "lease_lost", detail: "the lease is lost: another attempt acquired the key, it was settled or released, has expired, or there is none of this name"}
	if r == nil {
		return &no
	}
	return r.refuse(now, no)
}

func (r *record) refuse(now time.Time, no refusal) *refusal {
	w := r.wire(now, no.code == "response_unavailable")
	no.record = &w
	return &no
}

func fingerprintOf(q wire.ReserveRequest) string {
	if q.Fingerprint != nil {
		return *q.Fingerprint
	}
	q.Request.Body = decoded(q.Request.Body, q.Request.BodyEncoding)
	return fingerprint.Of(fingerprint.Request{
		Method: value(q.Request.Method), Target: value(q.Request.Target), Headers: q.Request.Headers,
		ContentType: value(q.Request.ContentType), Body: []byte(value(q.Request.Body)),
	})
}

func newToken() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// duration reads what was validated before.
func duration(text *string, missing time.Duration) time.Duration {
	if text == nil {
		return missing
	}
	d, _ := parseDuration(*text)
	return d
}

func parseDuration(text string) (time.Duration, bool) {
	for _, unit := range []struct {
		end string
		is  time.Duration
	}{{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}} {
		digits, ok := cutDigits(text, unit.end)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		return time.Duration(n) * unit.is, err == nil && n <= int64(100*24*time.Hour/unit.is)
	}
	return 0, false
}
