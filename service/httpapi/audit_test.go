package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// operator is somebody with a name, who may do everything to the keys of every tenant.
func (s *server) operator(t *testing.T, tenant, name string) caller {
	t.Helper()
	return caller{t: t, url: s.url, token: signed(jwt.SigningMethodHS256, tokens.HS256Secret,
		jwt.MapClaims{"tenant_id": tenant, "sub": name, "scope": "keys:read keys:body keys:admin ops"})}
}

// standingOf gives where a record stands, as the audit log says it.
func standingOf(a *answer) string {
	return fmt.Sprint(a.text("record.state"), " ", a.text("record.version"), " ", a.text("record.attempt"), " ", a.text("record.fence"))
}

func standingIn(act any, name string) string {
	return fmt.Sprint(textAt(act, name+".state"), " ", textAt(act, name+".version"), " ", textAt(act, name+".attempt"), " ", textAt(act, name+".fence"))
}

// Ensure that the audit log says of each act who did it, when, from where, in which request, to which key and why, and where
// the key stood before and after; the newest first.
func TestAuditSaysWhatOperatorsDid(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		uncertain(k)
		before := k.await("uncertain")
		maria := k.by(s.operator(t, "acme", "maria@example.com"))
		body := fmt.Sprintf(`{"operation":"POST /v1/orders","subject":"customer-42","key":"k","to":"failed","version":%q,"reason":"line one\nline two"}`, before.text("record.version"))
		resolved := maria.send(http.MethodPost, "/v1/admin/keys/resolve", body, http.Header{"X-Request-Id": {"ticket-4711"}}).want(200, "failed")
		expired := k.expire().want(200, "failed")

		acts := maria.get("/v1/admin/audit").items("acts")
		if len(acts) != 2 {
			t.Fatalf("%d acts, want 2", len(acts))
		}
		for i, want := range []map[string]string{
			{"action": "expire", "actor": "somebody with a token of acme without sub", "reason": why, "request_id": expired.header.Get("X-Request-Id")},
			{"action": "resolve", "actor": "maria@example.com", "reason": "line one\nline two", "request_id": "ticket-4711"},
		} {
			want["tenant"], want["operation"], want["subject"], want["key"], want["address"] = "acme", "POST /v1/orders", "customer-42", "k", "127.0.0.1"
			for field, value := range want {
				if got := textAt(acts[i], field); got != value {
					t.Errorf("act %d: %s is %q, want %q", i, field, got, value)
				}
			}
		}
		for _, c := range []struct{ what, got, want string }{
			{"before the resolve", standingIn(acts[1], "before"), standingOf(before)},
			{"after the resolve", standingIn(acts[1], "after"), standingOf(resolved)},
			{"before the expire", standingIn(acts[0], "before"), standingOf(resolved)},
			{"after the expire", standingIn(acts[0], "after"), standingOf(expired)},
			{"time of the resolve", textAt(acts[1], "at"), resolved.text("record.settled_at")},
			{"time of the expire", textAt(acts[0], "at"), expired.text("record.updated_at")},
		} {
			if c.got != c.want {
				t.Errorf("%s: got %s, want %s", c.what, c.got, c.want)
			}
		}
		if first, second := textAt(acts[0], "id"), textAt(acts[1], "id"); first == "" || first == second {
			t.Errorf("the acts have the ids %q and %q", first, second)
		}
	})
}

// Ensure that an act which was refused, for whatever reason, is not in the audit log, and that one which was repeated is in it
// once.
func TestRefusedActsAreNotInTheAudit(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k, done := s.as(t, "acme").key("live"), s.as(t, "acme").key("done")
		live(k)
		completed(done)
		k.resolve().want(409, "in_progress")
		k.resolve(force, fields{"version": "1.1"}).want(409, "version_conflict")
		k.resolve(force, to("another")).want(400, "invalid_request")
		k.resolve(force, fields{"reason": ""}).want(400, "invalid_request")
		k.resolve(force, fields{"key": "absent"}).want(404, "not_found")
		k.expire().want(409, "in_progress")
		done.resolve(force).want(409, "already_completed")
		done.expire(fields{"version": "1.1"}).want(409, "version_conflict")
		seen := k.standing()
		without := k.by(s.as(t, "acme", "keys:write", "keys:read", "ops"))
		without.act("resolve", seen, to("completed"), force).want(403, "forbidden")
		without.act("expire", seen).want(403, "forbidden")
		if acts := k.get("/v1/admin/audit").items("acts"); len(acts) != 0 {
			t.Errorf("the audit log has %d acts, want none: %v", len(acts), acts)
		}
		k.resolve(seen, force).want(200, "completed")
		k.resolve(seen, force).want(409, "version_conflict")
		if acts := k.get("/v1/admin/audit").items("acts"); len(acts) != 1 {
			t.Errorf("the audit log has %d acts, want one: %v", len(acts), acts)
		}
	})
}

// Ensure that the audit log is found by operation, subject and key, page after page, and that a key that was used anew keeps
// what was done before.
func TestAuditFilters(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		var want []string
		for _, operation := range []string{"one", "two"} {
			for _, subject := range []string{"", "customer"} {
				for _, name := range []string{"a", "b"} {
					k := c.key(name)
					k.name["operation"], k.name["subject"] = operation, subject
					for i := range 2 {
						k.reserve(attempt(i+1)).want(201, "acquired")
						k.resolve(force, fields{"reason": fmt.Sprint("resolve ", i)}).want(200, "completed")
						k.expire(fields{"reason": fmt.Sprint("expire ", i)}).want(200, "completed")
						want = append(want, fmt.Sprint("resolve ", i), fmt.Sprint("expire ", i))
					}
				}
			}
		}
		slices.Reverse(want)
		for _, f := range []struct {
			parameters []string
			count      int
		}{
			{nil, 32},
			{[]string{"operation", "one"}, 16},
			{[]string{"operation", "one", "subject", ""}, 8},
			{[]string{"operation", "one", "key", "a"}, 8},
			{[]string{"operation", "two", "subject", "customer", "key", "b"}, 4},
			{[]string{"operation", "two", "subject", "another"}, 0},
			{[]string{"operation", "o"}, 0},
		} {
			for _, limit := range []string{"1", "3", "4", "200"} {
				got := c.pages("/v1/admin/audit", "acts", "reason", append(f.parameters, "limit", limit)...)
				if !slices.Equal(got, want[:f.count]) && f.count > 0 || len(got) != f.count {
					t.Errorf("%q in pages of %s: got %q, want %d", f.parameters, limit, got, f.count)
				}
			}
		}
		if got := c.get("/v1/admin/audit", "limit", "32"); len(got.items("acts")) != 32 || got.text("next_cursor") != "" {
			t.Errorf("a page of exactly all has %d acts, next %q", len(got.items("acts")), got.text("next_cursor"))
		}
	})
}

// Ensure that what an operator does with another tenant's key is in that tenant's log, under the operator's name, and not in
// their own.
func TestAuditOfAnotherTenant(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		theirs := s.as(t, "globex").key("k")
		live(theirs)
		seen := theirs.standing()
		ops := theirs.by(s.operator(t, "acme", "maria"))
		inTheirs := fields{"tenant": "globex"}
		ops.act("resolve", seen, to("completed"), force).want(404, "not_found")
		ops.act("resolve", seen, to("completed"), force, inTheirs, respond(response())).want(200, "completed").wantAt("record.tenant", "globex").
			wantAt("record.response.body", `{"id": 1.0}`)
		theirs.reserve().want(200, "replay").wantAt("record.response.body", `{"id": 1.0}`)
		act := theirs.get("/v1/admin/audit").items("acts")
		if len(act) != 1 || textAt(act[0], "actor") != "maria of acme" || textAt(act[0], "tenant") != "globex" {
			t.Errorf("their log has %v", act)
		}
		if own := ops.get("/v1/admin/audit").items("acts"); len(own) != 0 {
			t.Errorf("the operator's own log has %v", own)
		}
		if got := ops.get("/v1/admin/audit", "tenant", "globex").items("acts"); len(got) != 1 {
			t.Errorf("the operator sees %v", got)
		}
		seen = theirs.standing()
		ops.act("expire", seen, inTheirs).want(200, "completed")
		theirs.lookup().want(404, "not_found")
		if got := ops.get("/v1/admin/audit", "tenant", strings.Repeat("g", 200)).items("acts"); len(got) != 0 {
			t.Errorf("a tenant that nobody knows has %v", got)
		}
	})
}
