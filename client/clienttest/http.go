package clienttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

var backgroundContext = context.Background()

// maxBody bounds a request, as the service does; a batch may have twice of it.
const maxBody = 4 << 20

// ServeHTTP serves the calls on keys, for tests that want a listener (httptest.NewServer).
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-Id", "fake-"+newToken()[:8])
	w.Header().Set("Reprise-Version", "fake")
	answer, status, no := f.serve(r)
	if no != nil {
		no.write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (f *Fake) serve(r *http.Request) (answer any, status int, no *refusal) {
	path, ok := strings.CutPrefix(r.URL.Path, "/v1/")
	path = strings.TrimPrefix(strings.Replace(path, "admin/keys/", "admin.", 1), "keys/")
	switch {
	case !ok || !calls[path] && path != "batch":
		return nil, 0, &refusal{code: "no_such_call", detail: "there is no such path"}
	case r.Method != http.MethodPost:
		return nil, 0, &refusal{code: "method_not_allowed", detail: "the path takes another method"}
	}
	tenant, ok := tenantOf(r.Header)
	if !ok {
		return nil, 0, &refusal{code: "unauthenticated", detail: "the token is none of clienttest.Token"}
	}
	if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); media != "application/json" {
		return nil, 0, &refusal{code: "unsupported_media_type", detail: "Content-Type: must be application/json"}
	}
	most := maxBody
	if path == "batch" {
		most *= 2
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	switch {
	case err != nil:
		return nil, 0, invalid("body", "could not be read whole")
	case len(body) > most:
		return nil, 0, &refusal{code: "payload_too_large", detail: fmt.Sprintf("the body is over %d bytes; repeat a complete without it", most)}
	case path == "batch":
		return f.batch(tenant, body)
	}
	return f.one(r.Context(), tenant, path, body)
}

// calls are those of one key.
var calls = map[string]bool{wire.CallReserve: true, wire.CallComplete: true, wire.CallRelease: true, wire.CallHeartbeat: true,
	wire.CallLookup: true, "admin.resolve": true, "admin.expire": true}

// one reads and does one call.
func (f *Fake) one(ctx context.Context, tenant, call string, body []byte) (answer any, status int, no *refusal) {
	switch call {
	case wire.CallReserve:
		return do(f, tenant, body, true, func(n name, q wire.ReserveRequest) (any, *refusal) { return f.reserveOrWait(ctx, n, q) })
	case wire.CallComplete:
		return do(f, tenant, body, false, f.complete)
	case wire.CallRelease:
		return do(f, tenant, body, false, f.release)
	case wire.CallHeartbeat:
		return do(f, tenant, body, false, f.heartbeat)
	case wire.CallLookup:
		return do(f, tenant, body, true, f.lookup)
	case "admin.resolve":
		return do(f, tenant, body, true, f.resolve)
	case "admin.expire":
		return do(f, tenant, body, true, f.expire)
	}
	return nil, 0, invalid("call", `must be "reserve", "complete", "release", "heartbeat" or "lookup"`)
}

// do is what all calls have in common: read, check, lock, answer.
func do[Q checked](f *Fake, tenant string, body []byte, strict bool, act func(name, Q) (any, *refusal)) (any, int, *refusal) {
	var q Q
	if no := decode(body, &q, strict); no != nil {
		return nil, 0, no
	}
	if no := check(q); no != nil {
		return nil, 0, no
	}
	k := q.KeyName()
	f.mu.Lock()
	defer f.mu.Unlock()
	answer, no := act(name{tenant, k.Operation, k.Subject, k.Key}, q)
	status := http.StatusOK
	if got, ok := answer.(wire.ReserveAnswer); ok && got.Outcome == wire.OutcomeAcquired {
		status = http.StatusCreated
	}
	return answer, status, no
}

func decode(body []byte, into any, strict bool) *refusal {
	d := json.NewDecoder(bytes.NewReader(body))
	if strict {
		d.DisallowUnknownFields()
	}
	err := d.Decode(into)
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typ):
		return invalid(typ.Field, "must be of another type")
	case err != nil:
		text := strings.TrimPrefix(err.Error(), "json: ")
		if field, ok := strings.CutPrefix(text, "unknown field "); ok {
			return invalid(strings.Trim(field, `"`), "is not a field of this call")
		}
		return invalid("body", "must be one JSON object in UTF-8")
	}
	if _, err := d.Token(); err != io.EOF {
		return invalid("body", "something stands behind the object")
	}
	return nil
}

// batch does the calls in their order.
func (f *Fake) batch(tenant string, body []byte) (any, int, *refusal) {
	var q struct {
		Calls []json.RawMessage `json:"calls"`
	}
	if no := decode(body, &q, true); no != nil {
		return nil, 0, no
	}
	if len(q.Calls) == 0 || len(q.Calls) > 256 {
		return nil, 0, invalid("calls", "must have 1 to 256 calls")
	}
	results := make([]wire.BatchResult, len(q.Calls))
	for i, text := range q.Calls {
		answer, status, no := f.batched(tenant, text)
		if no != nil {
			p := no.problem()
			answer, status = p, p.Status
		}
		results[i] = wire.BatchResult{Status: status, Body: answer}
	}
	return wire.BatchAnswer{Results: results}, http.StatusOK, nil
}

func (f *Fake) batched(tenant string, text json.RawMessage) (any, int, *refusal) {
	var fields map[string]json.RawMessage
	var call string
	if json.Unmarshal(text, &fields) != nil || json.Unmarshal(fields["call"], &call) != nil || strings.HasPrefix(call, "admin.") {
		return nil, 0, invalid("call", `must be "reserve", "complete", "release", "heartbeat" or "lookup"`)
	}
	delete(fields, "call")
	if wait := fields["wait"]; len(wait) > 0 && string(wait) != "null" {
		return nil, 0, invalid("wait", "a call of a batch does not wait")
	}
	body, _ := json.Marshal(fields) // it was read from JSON
	return f.one(backgroundContext, tenant, call, body)
}

// refusal is how a call is refused.
type refusal struct {
	code, detail string
	retryAfter   time.Duration
	record       *wire.Record
}

func invalid(field, detail string) *refusal {
	return &refusal{code: "invalid_request", detail: field + ": " + detail}
}

// codes says what HTTP and the advice are for a code.
var codes = map[string]struct {
	status int
	advice string
}{
	"invalid_request":        {400, wire.AdviceFixRequest},
	"unauthenticated":        {401, wire.AdviceFixRequest},
	"not_found":              {404, wire.AdviceNone},
	"no_such_call":           {404, wire.AdviceFixRequest},
	"method_not_allowed":     {405, wire.AdviceFixRequest},
	"in_progress":            {409, wire.AdviceReserveAgain},
	"uncertain":              {409, wire.AdviceOperator},
	"lease_lost":             {409, wire.AdviceReserveAgain},
	"already_completed":      {409, wire.AdviceNone},
	"response_unavailable":   {409, wire.AdviceNone},
	"version_conflict":       {409, wire.AdviceLookAgain},
	"payload_too_large":      {413, wire.AdviceFixRequest},
	"unsupported_media_type": {415, wire.AdviceFixRequest},
	"fingerprint_mismatch":   {422, wire.AdviceNewKey},
	"store_unavailable":      {503, wire.AdviceRepeatCall},
}

func (no refusal) problem() wire.Problem {
	c := codes[no.code]
	p := wire.Problem{Type: "/docs/problems/" + no.code, Title: no.code, Status: c.status, Detail: no.detail, Code: no.code,
		Advice: c.advice, Record: no.record, RequestID: "fake"}
	if no.retryAfter > 0 {
		ms := (no.retryAfter + time.Millisecond - 1).Milliseconds()
		p.RetryAfterMS = &ms
	}
	return p
}

func (no refusal) write(w http.ResponseWriter) {
	p := no.problem()
	p.RequestID = w.Header().Get("X-Request-Id")
	w.Header().Set("Content-Type", "application/problem+json")
	if p.RetryAfterMS != nil {
		w.Header().Set("Retry-After", fmt.Sprint((*p.RetryAfterMS+999)/1000))
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}
