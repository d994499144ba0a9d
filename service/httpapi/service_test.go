package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise"
	"github.com/reprise-idempotency/reprise/storage"
)

// Ensure that null is the same as leaving a field out, for every optional field of every call.
func TestNullIsTheSameAsOmitted(t *testing.T) {
	none := func(names ...string) fields {
		f := fields{}
		for _, name := range names {
			f[name] = nil
		}
		return f
	}
	eachStore(t, func(t *testing.T, s *server) {
		tell := func(key string, nulls map[string]fields) (told []string) {
			k := s.as(t, "acme").key("k")
			k.name["subject"] = omitted
			k.name["operation"] = key
			request := fields{"fingerprint": omitted, "request": merged(fields{"method": "POST"}, nulls["request"])}
			for _, a := range []*answer{k.reserve(nulls["reserve"], request), k.heartbeat(nulls["heartbeat"]), k.release(nulls["release"]),
				k.reserve(nulls["reserve"], request), k.complete(nulls["complete"], respond(merged(fields{"status": 200}, nulls["response"]))), k.lookup(nulls["lookup"])} {
				told = append(told, strings.ReplaceAll(masked(a), key, "OPERATION"))
			}
			return told
		}
		omitting := tell("omitted", nil)
		null := tell("null", map[string]fields{
			"reserve":   none("subject", "fingerprint", "attempt_id", "lease", "retention", "on_lapse", "holder", "wait"),
			"request":   none("target", "headers", "content_type", "body", "body_encoding"),
			"heartbeat": none("subject", "lease", "checkpoint", "on_lapse"),
			"release":   none("subject", "reason", "forget"),
			"complete":  none("subject", "result", "response_dropped", "resource_id", "retention"),
			"response":  none("headers", "body", "body_encoding"),
			"lookup":    none("subject", "fingerprint"),
		})
		for i := range omitting {
			if omitting[i] != null[i] {
				t.Errorf("call %d: omitted gives\n%s\nnull gives\n%s", i, omitting[i], null[i])
			}
		}
		k := s.as(t, "acme").key("no response")
		live(k)
		k.complete(fields{"response": nil}).want(200, "completed")
		k.reserve().want(200, "replay").wantNone("record.response")
	})
}

// Ensure that a caller who meets a live lease is told to wait for what is left of it, at most 2 s, rounded up.
func TestRetryAfterIsWhatIsLeft(t *testing.T) {
	for _, c := range []struct {
		left       time.Duration
		ms, header string
	}{
		{time.Microsecond, "1", "1"}, {1500 * time.Microsecond, "2", "1"}, {time.Second, "1000", "1"}, {1001 * time.Millisecond, "1001", "2"},
		{2 * time.Second, "2000", "2"}, {2001 * time.Millisecond, "2000", "2"}, {time.Hour, "2000", "2"},
	} {
		busy := answers(func(calls []storage.Call) []storage.Answer {
			now := time.Now()
			r := &storage.Record{Name: calls[0].On(), State: storage.InProgress, Attempt: 1, Fence: 1, LeaseExpiresAt: now.Add(c.left)}
			return []storage.Answer{{Outcome: storage.OutcomeInProgress, Record: r, Now: now}}
		})
		a := serve(t, busy, tokens).as(t, "acme").key("k").reserve().want(409, "in_progress").wantAt("retry_after_ms", c.ms)
		if got := a.header.Get("Retry-After"); got != c.header {
			t.Errorf("%s left: Retry-After %s, want %s", c.left, got, c.header)
		}
	}
}

// Ensure that a lease is given out with at least half of it left, also to a repeat that comes when it is over.
func TestLeaseHasAtLeastHalfLeft(t *testing.T) {
	const lease = time.Second
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		reserve := func() {
			t.Helper()
			a := k.reserve(attempt(1), fields{"lease": lease.String()}).want(201, "acquired")
			if left := time.Duration(a.number("lease.remaining_ms")) * time.Millisecond; left < lease/2 || left > lease {
				t.Errorf("%s left of %s", left, lease)
			}
		}
		reserve()
		k.await("abandoned")
		reserve()
		reserve()
	})
}

// Ensure that every kind of answer forbids caches to keep it, and names the request as the caller did.
func TestAnswersAreNotCachedAndNamed(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		for _, r := range []struct{ method, path, body string }{
			{"POST", "/v1/keys/reserve", whole("reserve", "")}, {"POST", "/v1/keys/lookup", "{}"}, {"POST", "/v1/keys/x", ""},
			{"GET", "/v1/keys/lookup", ""}, {"GET", "/livez", ""}, {"GET", "/readyz", ""},
		} {
			a := c.send(r.method, r.path, r.body, http.Header{"X-Request-Id": {"mine-1"}})
			if a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Request-Id") != "mine-1" {
				t.Errorf("%s %s: %v", r.method, r.path, a.header)
			}
			if b := c.send(r.method, r.path, r.body, nil); b.header.Get("X-Request-Id") == "" {
				t.Errorf("%s %s: no request id was made", r.method, r.path)
			}
		}
		if first, second := c.send("GET", "/livez", "", nil), c.send("GET", "/livez", "", nil); first.header.Get("X-Request-Id") == second.header.Get("X-Request-Id") {
			t.Error("two requests have one id")
		}
	})
}

// Ensure that a store that is down grants nothing and is told as an outage, which readiness shows and liveness does not.
func TestOutageGrantsNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		k.send("GET", "/readyz", "", nil).wantAt("status", "ready")
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		for _, call := range []func(...fields) *answer{k.reserve, k.complete, k.release, k.heartbeat, k.lookup} {
			call().want(503, "store_unavailable").wantAt("retry_after_ms", "1000").wantAt("advice", "repeat_call").wantNone("record").wantNone("lease")
		}
		k.send("GET", "/readyz", "", nil).want(503, "store_unavailable")
		if a := k.send("GET", "/livez", "", nil); a.status != 200 {
			t.Errorf("liveness: %d %s", a.status, a.raw)
		}
	})
}

// Ensure that a service which goes down is not ready, and answers all the same.
func TestDrainingAnswersButIsNotReady(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		s.api.Drain()
		k := s.as(t, "acme").key("k")
		k.send("GET", "/readyz", "", nil).want(503, "store_unavailable").wantNone("retry_after_ms")
		k.send("GET", "/livez", "", nil).wantAt("status", "live")
		k.reserve().want(201, "acquired")
	})
}

// Ensure that the service hands out the very description that these tests hold it to, to anybody.
func TestDescriptionIsServed(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		a := caller{t: t, url: s.url}.send("GET", "/openapi.yaml", "", nil)
		if a.status != 200 || a.header.Get("Content-Type") != "application/yaml" || !bytes.Equal(a.raw, reprise.OpenAPI) {
			t.Errorf("%d %s, %d bytes", a.status, a.header.Get("Content-Type"), len(a.raw))
		}
	})
}

// fake is a store that answers as a test says.
type fake struct {
	storage.Store // nil: nothing else is asked
	answer        func(calls []storage.Call) []storage.Answer
}

func (f fake) Apply(_ context.Context, calls []storage.Call) []storage.Answer { return f.answer(calls) }
func (f fake) Ready(context.Context) error                                    { panic("the secret cause") }
func (f fake) Close() error                                                   { return nil }

func answers(answer func(calls []storage.Call) []storage.Answer) fake { return fake{answer: answer} }

func fails(err error) fake {
	return answers(func([]storage.Call) []storage.Answer { return []storage.Answer{{Err: err}} })
}

// Ensure that a fault is told without its cause, a panic too, and that an unconfirmed change is not called a failure.
func TestFaultsAreToldWithoutTheirCause(t *testing.T) {
	secret := errors.New("the secret cause")
	for _, c := range []struct {
		id     string
		store  fake
		status int
		what   string
	}{
		{"panic", answers(func([]storage.Call) []storage.Answer { panic("the secret cause") }), 500, "internal"},
		{"other error", fails(secret), 500, "internal"},
		{"no outcome", answers(func([]storage.Call) []storage.Answer { return make([]storage.Answer, 1) }), 500, "internal"},
		{"unavailable", fails(errors.Join(storage.ErrUnavailable, secret)), 503, "store_unavailable"},
		{"unconfirmed", fails(errors.Join(storage.ErrOutcomeUnknown, secret)), 503, "outcome_unknown"},
	} {
		t.Run(c.id, func(t *testing.T) {
			k := serve(t, c.store, tokens).as(t, "acme").key("k")
			for _, call := range []func(...fields) *answer{k.reserve, k.complete, k.release, k.heartbeat, k.lookup} {
				a := call().want(c.status, c.what).wantAt("advice", "repeat_call")
				shows(t, a, "secret", false)
			}
			if c.id == "panic" {
				shows(t, k.send("GET", "/readyz", "", nil), "secret", false)
			}
		})
	}
}
