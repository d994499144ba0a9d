package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/httpapi"
	"github.com/reprise-idempotency/reprise/storage/storagetest/faultstore"
)

// Ensure that every answer says which version of the service gave it and which request it answers: of every call, good,
// refused or failed, of pages, of what there is not, and of what has another method.
func TestEveryAnswerSaysItsVersionAndRequest(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "# none") })
	eachStore(t, func(t *testing.T, s *server) {
		s = serveAs(t, s.store, service.DefaultLimits(), httpapi.Config{Version: "1.2.3-test", Metrics: metrics})
		k := s.as(t, "acme").key("k")
		ask := func(c caller, want map[string]int) {
			t.Helper()
			for what, status := range want {
				method, path, _ := strings.Cut(what, " ")
				body := ""
				if method == "POST" {
					body = whole(path[strings.LastIndex(path, "/")+1:], unknownToken)
				}
				a := must(c.exchange(method, path, body, http.Header{"X-Request-Id": {"mine-1"}}))
				if a.status != status || a.header.Get("Reprise-Version") != "1.2.3-test" || a.header.Get("X-Request-Id") != "mine-1" {
					t.Errorf("%s: got %d, version %q, request %q; want %d", what, a.status, a.header.Values("Reprise-Version"), a.header.Values("X-Request-Id"), status)
				}
			}
		}
		ask(k.caller, map[string]int{"POST /v1/keys/reserve": 201, "POST /v1/keys/complete": 409, "POST /v1/keys/lookup": 404, "POST /v1/keys/batch": 400,
			"POST /v1/admin/keys/resolve": 404, "POST /v1/admin/keys/expire": 404, "GET /v1/keys": 200, "GET /v1/stats": 200, "GET /v1/admin/audit": 200,
			"GET /v1/keys?limit=0": 400, "GET /livez": 200, "HEAD /readyz": 200, "GET /openapi.yaml": 200, "GET /metrics": 200, "GET /docs": 200, "GET /docs/api": 200,
			"GET /docs/problems/lease_lost": 200, "GET /docs/none": 404, "DELETE /docs": 405, "GET /none": 404, "HEAD /none": 404, "PUT /v1/keys": 405, "GET /v1/keys/batch": 405})
		ask(caller{t: t, url: s.url}, map[string]int{"POST /v1/keys/reserve": 401, "GET /v1/keys": 401, "GET /v1/stats": 401, "POST /v1/admin/keys/resolve": 401})
		ask(s.as(t, "acme", "ops"), map[string]int{"POST /v1/keys/reserve": 403, "GET /v1/keys": 403, "GET /v1/admin/audit": 403})
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		ask(k.caller, map[string]int{"POST /v1/keys/reserve": 503, "GET /v1/keys": 503, "GET /v1/stats": 503, "GET /v1/admin/audit": 503,
			"POST /v1/admin/keys/resolve": 503, "POST /v1/admin/keys/expire": 503, "GET /readyz": 503, "GET /livez": 200})
	})
}

// Ensure that the pages are as they are described, and that they are there for everybody.
func TestPagesAreAsDescribed(t *testing.T) {
	beforeAnyStore(t, func(t *testing.T, s *server) {
		for _, path := range []string{"/docs", "/docs/api", "/docs/problems"} {
			if a := (caller{t: t, url: s.url}).send("GET", path, "", nil); a.status != 200 {
				t.Errorf("%s: %d", path, a.status)
			}
		}
	})
}

// Ensure that what a caller says of their request is only taken for its name where it can be one.
func TestRequestIDIsTheCallersWhereItIsOne(t *testing.T) {
	beforeAnyStore(t, func(t *testing.T, s *server) {
		for id, taken := range map[string]bool{"a": true, "!~": true, x(128): true, x(129): false, "": false, "a b": false, "é": false, "a\tb": false} {
			a := must(s.as(t, "acme").exchange("GET", "/v1/keys", "", http.Header{"X-Request-Id": {id}}))
			if got := a.header.Get("X-Request-Id"); (got == id) != taken || got == "" {
				t.Errorf("%q: the request is named %q", id, got)
			}
		}
	})
}

// Ensure that during an outage those who look and those who repair are told so, and that nothing is said to be done.
func TestOutageOfTheOtherCalls(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		seen := k.standing()
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		for _, a := range []*answer{k.get("/v1/keys"), k.get("/v1/stats"), k.get("/v1/admin/audit"), k.act("resolve", seen, to("completed"), force), k.act("expire", seen)} {
			a.want(503, "store_unavailable").wantAt("retry_after_ms", "1000").wantAt("advice", "repeat_call").wantNone("record")
		}
	})
}

// seen is an observer that counts.
type seen struct {
	mu    sync.Mutex
	calls map[string]int // by name and outcome
	began int
	ended int
	timed int // calls that took time
}

func (o *seen) Called(name, outcome string, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls == nil {
		o.calls = map[string]int{}
	}
	if o.calls[name+" "+outcome]++; took > 0 {
		o.timed++
	}
}

func (o *seen) count(call string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[call]
}

func (o *seen) Began() { o.mu.Lock(); o.began++; o.mu.Unlock() }
func (o *seen) Ended() { o.mu.Lock(); o.ended++; o.mu.Unlock() }

// Ensure that an observer is told of every call by its name and its end, those of a batch one by one, and of nothing that is
// no call; and that it is told of no end that is not among all there are.
func TestObserverIsToldOfEveryCall(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		o := &seen{}
		s = serveAs(t, s.store, service.DefaultLimits(), httpapi.Config{Observer: o})
		k := s.as(t, "acme").key("k")
		live(k)
		k.reserve(attempt(2))
		k.reserve(attempt(2), fields{"wait": "1ms"})
		k.heartbeat()
		k.complete()
		k.reserve()
		k.release()
		k.lookup()
		k.expire(fields{"version": "1.1"})
		k.list()
		k.get("/v1/stats")
		k.get("/v1/admin/audit", "limit", "x")
		k.batch(calling("lookup", k.name), calling("reserve", k.name), `{"call":"x"}`, `1`)
		k.post("batch", `{}`)
		k.send("PUT", "/v1/keys/reserve", "", nil)
		caller{t: t, url: s.url}.get("/v1/keys")
		k.send("GET", "/livez", "", nil)
		k.send("GET", "/none", "", nil)
		s.until(t, "all requests are over", func() bool { o.mu.Lock(); defer o.mu.Unlock(); return o.ended == o.began })
		want := map[string]int{"reserve acquired": 1, "reserve in_progress": 2, "heartbeat ok": 1, "complete ok": 1, "reserve replay": 1, "release already_completed": 1,
			"lookup ok": 3, "expire version_conflict": 1, "list ok": 1, "stats ok": 1, "audit invalid_request": 1, "batch ok": 1, "reserve invalid_request": 1,
			" invalid_request": 2, "batch invalid_request": 1, "reserve method_not_allowed": 1, "list unauthenticated": 1}
		if !maps.Equal(o.calls, want) {
			t.Errorf("told are %v\nwant     %v", o.calls, want)
		}
		if o.began != 17 || o.timed != 17 {
			t.Errorf("%d requests began, and %d took time; want 17", o.began, o.timed)
		}
		for call := range o.calls {
			if _, outcome, _ := strings.Cut(call, " "); !slices.Contains(httpapi.Outcomes(), outcome) {
				t.Errorf("%s is not among all outcomes", outcome)
			}
		}
	})
}

// Ensure that the outcomes of which observers are told, the problems that the description explains and those that it has
// schemas for are the same, with the same status and advice.
func TestOutcomesAreTheDescribedProblems(t *testing.T) {
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	explained := doc.Extensions["x-problems"].(map[string]any)
	codes := slices.Sorted(maps.Keys(explained))
	want := append([]string{"acquired", "replay", "ok", "canceled"}, codes...)
	got := httpapi.Outcomes()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("outcomes are\n%v\nwant\n%v", got, want)
	}
	described := map[string]bool{}
	for name, schema := range doc.Components.Schemas {
		if code, status, advice, ok := problemIn(schema.Value); ok {
			described[code] = true
			is := fmt.Sprint(explained[code].(map[string]any)["status"], " ", explained[code].(map[string]any)["advice"])
			if fmt.Sprint(status, " ", advice) != is {
				t.Errorf("%s says %v %v, and x-problems %s", name, status, advice, is)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(described)); !slices.Equal(got, codes) {
		t.Errorf("there are schemas for\n%v\nwant\n%v", got, codes)
	}
}

// problemIn gives what the schema of a problem fixes.
func problemIn(s *openapi3.Schema) (code string, status, advice any, ok bool) {
	for _, part := range s.AllOf {
		if c := part.Value.Properties["code"]; c != nil && len(c.Value.Enum) == 1 {
			return c.Value.Enum[0].(string), part.Value.Properties["status"].Value.Enum[0], part.Value.Properties["advice"].Value.Enum[0], true
		}
	}
	return "", nil, nil, false
}

// Ensure that a caller who hangs up while the store works, or while they wait, is neither logged nor counted as a fault of the
// service.
func TestHangingUpIsNoFault(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		var log logged
		o := &seen{}
		faults := faultstore.New(s.store)
		s = serveAs(t, faults, service.DefaultLimits(), httpapi.Config{Observer: o, Log: log.at(levelDebug)})
		k := s.as(t, "acme").key("k")
		live(k)
		s.waits(k, attempt(2)).hangUp()
		s.until(t, "the waiter is counted", func() bool { return o.count("reserve canceled") == 1 })

		slow := faults.Arm(faultstore.Fault{Kind: faultstore.Lookup, Effect: faultstore.Hold})
		ctx, hangUp := context.WithCancel(noContext)
		body := string(must(json.Marshal(k.name)))
		go func() { _, _ = k.exchangeIn(ctx, "POST", "/v1/keys/lookup", strings.NewReader(body), body, nil) }()
		<-slow.Fired()
		hangUp()
		s.until(t, "the lookup is counted", func() bool { return o.count("lookup canceled") == 1 })
		for _, line := range log.all() {
			if line.text("level") == "ERROR" {
				t.Errorf("logged: %s", line.raw)
			}
		}
	})
}
