package clienttest

import (
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// What an operator does: see POST /v1/admin/keys/resolve and expire. There is no audit log.

func (f *Fake) resolve(n name, q wire.ResolveRequest) (any, *refusal) {
	r, now := f.at(n), f.now()
	switch {
	case r == nil:
		return nil, &refusal{code: "not_found", detail: "there is no such key"}
	case r.wire(now, false).Version != q.Version:
		return nil, r.refuse(now, refusal{code: "version_conflict", detail: "version: the key changed since it was looked at; look again"})
	case r.state != "in_progress":
		return nil, r.refuse(now, refusal{code: "already_completed", detail: "the key is settled already, with another outcome or by an operator"})
	case r.derived(now) == "in_progress" && (q.Force == nil || !*q.Force):
		return nil, r.refuse(now, refusal{code: "in_progress", detail: "another attempt holds the key", retryAfter: min(r.leaseEnd.Sub(now), 2*time.Second)})
	}
	r.state, r.settlement = q.To, ""
	if q.To == "released" {
		r.token = newToken() // whoever held it has lost it
		r.lastError = q.Reason
	} else {
		r.resourceID = value(q.ResourceID)
		r.keep(q.Response, false)
	}
	f.settle(r, r.retention)
	return wire.RecordAnswer{Record: r.wire(f.now(), true)}, nil
}

func (f *Fake) expire(n name, q wire.ExpireRequest) (any, *refusal) {
	r, now := f.at(n), f.now()
	switch {
	case r == nil:
		return nil, &refusal{code: "not_found", detail: "there is no such key"}
	case r.wire(now, false).Version != q.Version:
		return nil, r.refuse(now, refusal{code: "version_conflict", detail: "version: the key changed since it was looked at; look again"})
	case r.state == "in_progress":
		return nil, r.refuse(now, refusal{code: "in_progress", detail: "another attempt holds the key", retryAfter: 2 * time.Second})
	}
	r.touch(now)
	r.expires = now
	answer := wire.RecordAnswer{Record: r.wire(now, false)}
	f.wake()
	return answer, nil
}
