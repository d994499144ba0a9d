package httpapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"
)

// Ensure that the judge is worth something: an answer that differs from the description in any one way is noticed, at
// every level, and so is a request that was taken although it does not fit.
func TestDescriptionIsExact(t *testing.T) {
	good := busyMessage()
	if err := good.check(); err != nil {
		t.Fatalf("the answer that the others are made of: %v", err)
	}
	for id, change := range map[string]func(m *message){
		"status":                   func(m *message) { m.status = 418 },
		"content type":             func(m *message) { m.got.Set("Content-Type", "application/json") },
		"no request id":            func(m *message) { m.got.Del("X-Request-Id") },
		"no service version":       func(m *message) { m.got.Del("Reprise-Version") },
		"other request id":         func(m *message) { m.got.Set("X-Request-Id", "another") },
		"may be cached":            func(m *message) { m.got.Set("Cache-Control", "max-age=1") },
		"no Retry-After":           func(m *message) { m.got.Del("Retry-After") },
		"Retry-After too long":     func(m *message) { m.got.Set("Retry-After", "3") },
		"unknown header":           func(m *message) { m.got.Set("X-Secret", "x") },
		"unknown field":            in(func(p fields) { p["zz"] = 1 }),
		"unknown field of record":  inRecord(func(r fields) { r["zz"] = 1 }),
		"response in a problem":    inRecord(func(r fields) { r["response"] = fields{} }),
		"other code":               in(func(p fields) { p["code"] = "uncertain" }),
		"other title":              in(func(p fields) { p["title"] = "Another title" }),
		"other advice":             in(func(p fields) { p["advice"] = "none" }),
		"other status in the body": in(func(p fields) { p["status"] = 400 }),
		"no record":                in(func(p fields) { delete(p, "record") }),
		"no version":               inRecord(func(r fields) { delete(r, "version") }),
		"unknown state":            inRecord(func(r fields) { r["state"] = "expired" }),
		"time without micro":       inRecord(func(r fields) { r["created_at"] = "2026-07-01T12:00:00Z" }),
		"time that is none":        inRecord(func(r fields) { r["created_at"] = "2026-02-30T12:00:00.000000Z" }),
		"fence over 2^53":          inRecord(func(r fields) { r["fence"] = json.Number("9007199254740993") }),
		"null":                     inRecord(func(r fields) { r["resource_id"] = nil }),
		"request with a tenant":    func(m *message) { m.body = []byte(`{"operation":"o","key":"k","fingerprint":"f","tenant":"t"}`) },
		"request with neither":     func(m *message) { m.body = []byte(`{"operation":"o","key":"k"}`) },
		"request with both": func(m *message) {
			m.body = []byte(`{"operation":"o","key":"k","fingerprint":"f","request":{"body":"x"}}`)
		},
		"request without key": func(m *message) { m.body = []byte(`{"operation":"o","fingerprint":"f"}`) },
	} {
		m := busyMessage()
		if change(&m); m.check() == nil {
			t.Errorf("%s: not noticed", id)
		}
	}
}

// busyMessage is a reserve that found the key held.
func busyMessage() message {
	return message{method: http.MethodPost, path: "/v1/keys/reserve", status: 409,
		sent: http.Header{"Content-Type": {"application/json"}}, body: []byte(`{"operation":"o","key":"k","fingerprint":"f","request":null}`),
		got: http.Header{"Content-Type": {"application/problem+json"}, "X-Request-Id": {"id-1"}, "Reprise-Version": {"1.4.0"}, "Cache-Control": {"no-store"},
			"X-Content-Type-Options": {"nosniff"}, "Retry-After": {"2"}, "Date": {"x"}},
		answer: []byte(`{"type":"/docs/problems/in_progress","title":"Another attempt is in progress","status":409,"detail":"d","code":"in_progress","advice":"reserve_again",
			"retry_after_ms":2000,"request_id":"id-1","record":{"tenant":"t","operation":"o","subject":"","key":"k","state":"in_progress",
			"attempt":1,"fence":1,"version":"1.1","fingerprint":"f","holder":"","on_lapse":"retry","created_at":"2026-07-01T12:00:00.000000Z",
			"updated_at":"2026-07-01T12:00:00.000000Z","lease_expires_at":"2026-07-01T12:00:30.000000Z"}}`)}
}

// in changes the body of an answer.
func in(change func(p fields)) func(m *message) {
	return func(m *message) {
		p := fields(decoded(m.answer).(map[string]any))
		change(p)
		m.answer = must(json.Marshal(p))
	}
}

func inRecord(change func(r fields)) func(m *message) {
	return in(func(p fields) { change(p["record"].(map[string]any)) })
}

// Ensure that the description has every call of this service, and no other.
func TestDescriptionHasEveryCall(t *testing.T) {
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/docs", "/docs/api", "/docs/problems", "/docs/problems/{code}", "/livez", "/metrics", "/openapi.yaml", "/readyz",
		"/v1/admin/audit", "/v1/admin/keys/expire", "/v1/admin/keys/resolve", "/v1/keys", "/v1/keys/batch", "/v1/keys/complete",
		"/v1/keys/heartbeat", "/v1/keys/lookup", "/v1/keys/release", "/v1/keys/reserve", "/v1/stats"}
	if got := slices.Sorted(maps.Keys(doc.Paths.Map())); !slices.Equal(got, want) {
		t.Errorf("paths are %v, want %v", got, want)
	}
}
