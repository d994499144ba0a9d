package httpapi_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// Ensure that each call of those who look or repair needs its own scope, and that no other scope, nor all others together,
// stand for it.
func TestEachCallNeedsItsScope(t *testing.T) {
	needs := map[string]auth.Scope{"list": auth.KeysRead, "stats": auth.KeysRead, "audit": auth.KeysAdmin, "resolve": auth.KeysAdmin, "expire": auth.KeysAdmin}
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		seen := k.standing()
		calls := map[string]func(k *key) *answer{
			"list":    func(k *key) *answer { return k.get("/v1/keys") },
			"stats":   func(k *key) *answer { return k.get("/v1/stats") },
			"audit":   func(k *key) *answer { return k.get("/v1/admin/audit") },
			"resolve": func(k *key) *answer { return k.act("resolve", seen, to("completed")) },
			"expire":  func(k *key) *answer { return k.act("expire", seen) },
		}
		for call, scope := range needs {
			var others []auth.Scope
			for _, other := range auth.Scopes() {
				if other != scope {
					others = append(others, other)
				}
			}
			names := "the token lacks the scope " + string(scope)
			calls[call](k.by(s.as(t, "acme", others...))).want(403, "forbidden").wantAt("detail", names).wantNone("record")
			nobody := k.by(s.as(t, "acme"))
			nobody.token = bearer(t, "acme")
			calls[call](nobody).want(403, "forbidden").wantAt("detail", names)
			if a := calls[call](k.by(s.as(t, "acme", scope))); a.status == 403 || a.status >= 500 {
				t.Errorf("%s with %s: %d %s", call, scope, a.status, a.raw)
			}
		}
		k.lookup().want(200, "in_progress").wantAt("record.version", seen["version"].(string))
	})
}

// Ensure that another tenant's keys take the scope ops beside the one of the call, that ops takes nothing of a tenant's own
// away, and that it alone opens nothing.
func TestOtherTenantsTakeOps(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		theirs := s.as(t, "globex").key("theirs")
		live(theirs)
		live(s.as(t, "acme").key("ours"))
		paths := map[string]auth.Scope{"/v1/keys": auth.KeysRead, "/v1/stats": auth.KeysRead, "/v1/admin/audit": auth.KeysAdmin}
		for path, scope := range paths {
			for _, c := range []struct {
				scopes []auth.Scope
				tenant string
				status int
			}{
				{[]auth.Scope{scope}, "acme", 200}, {[]auth.Scope{scope}, "globex", 403}, {[]auth.Scope{scope}, "nobody", 403},
				{[]auth.Scope{scope, auth.Ops}, "acme", 200}, {[]auth.Scope{scope, auth.Ops}, "globex", 200}, {[]auth.Scope{scope, auth.Ops}, "nobody", 200},
				{[]auth.Scope{auth.Ops}, "acme", 403}, {[]auth.Scope{auth.Ops}, "globex", 403},
				{[]auth.Scope{scope, auth.Ops}, "", 400}, {[]auth.Scope{scope}, "", 400},
			} {
				a := s.as(t, "acme", c.scopes...).get(path, "tenant", c.tenant)
				if a.status != c.status {
					t.Errorf("%s of tenant %q with %v: got %d %s, want %d", path, c.tenant, c.scopes, a.status, a.raw, c.status)
				}
			}
		}
		ops := s.as(t, "acme", auth.KeysRead, auth.Ops)
		for tenant, want := range map[string]string{"globex": "[theirs]", "acme": "[ours]", "nobody": "[]"} {
			a := ops.list("tenant", tenant)
			if got := fmt.Sprint(keysOf(a, "key")); got != want {
				t.Errorf("the list of %s has %s, want %s", tenant, got, want)
			}
		}
		ops.get("/v1/stats", "tenant", "globex").wantAt("states.in_progress.count", "1").wantAt("states.in_progress.oldest.key", "theirs")

		seen := theirs.standing()
		for _, call := range operatorCalls {
			admin := theirs.by(s.as(t, "acme", auth.KeysAdmin, auth.KeysRead, auth.KeysWrite))
			admin.act(call, seen, force, to("completed"), fields{"tenant": "globex"}, without(call)).want(403, "forbidden").wantNone("record")
			onlyOps := theirs.by(s.as(t, "acme", auth.Ops, auth.KeysRead, auth.KeysWrite))
			onlyOps.act(call, seen, force, to("completed"), fields{"tenant": "globex"}, without(call)).want(403, "forbidden").wantNone("record")
		}
		theirs.lookup().want(200, "in_progress").wantAt("record.version", seen["version"].(string))
	})
}

// without takes away what a call of an operator does not know.
func without(call string) fields {
	if call == "expire" {
		return fields{"to": omitted, "force": omitted}
	}
	return nil
}

// Ensure that what a tenant sees is the same, byte by byte, whether other tenants have keys and operators' acts or not.
func TestOtherTenantsChangeNothingThatIsSeen(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		us := s.as(t, "acme")
		k := us.key("k")
		live(k)
		k.resolve(force).want(200, "completed")
		first := us.key("first")
		live(first)
		live(us.key("second"))
		cursor := us.list("limit", "1").text("next_cursor")
		ask := func() (all [][]byte) {
			for _, a := range []*answer{us.list(), us.list("limit", "1"), us.list("cursor", cursor), us.list("key_prefix", "theirs"), us.list("state", "in_progress"),
				us.list("state", "uncertain"), us.get("/v1/stats"), us.get("/v1/stats", "operation", "another"), us.get("/v1/admin/audit"),
				us.get("/v1/admin/audit", "operation", "POST /v1/orders"), us.get("/v1/keys", "tenant", "globex"), us.get("/v1/admin/audit", "tenant", "globex"),
				us.get("/v1/keys", "cursor", "x"), us.key("theirs").act("expire", fields{"version": "1.1"}),
				us.key("theirs").act("resolve", fields{"version": "1.1"}, to("completed"), force)} {
				raw := bytes.ReplaceAll(withoutID(a), []byte(a.text("as_of")), nil)
				all = append(all, raw)
			}
			return all
		}
		before := ask()
		for _, tenant := range []string{"globex", "acme2"} {
			s.settle(t, tenant)
			theirs := s.as(t, tenant).key("theirs")
			uncertain(theirs)
			theirs.await("uncertain")
			theirs.resolve().want(200, "completed")
		}
		for i, after := range ask() {
			if !bytes.Equal(before[i], after) {
				t.Errorf("answer %d was\n%s\nand is\n%s", i, before[i], after)
			}
		}
	})
}

// Ensure that nobody sees the body of a response without keys:body: not in what an operator is answered, nor in a list, nor
// in the audit log; and nobody at all sees a lease token, or the response in a list.
func TestOperatorsSeeNoBodyWithoutTheScope(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		owner := s.as(t, "acme").key("resolved")
		live(owner)
		done := s.as(t, "acme").key("done")
		completed(done)
		blind, seeing := s.as(t, "acme", auth.KeysAdmin, auth.KeysRead), s.as(t, "acme", auth.KeysAdmin, auth.KeysRead, auth.KeysBody)
		resolved := owner.by(blind).resolve(force, respond(response())).want(200, "completed")
		expired := done.by(blind).expire().want(200, "completed")
		for _, a := range []*answer{resolved, expired} {
			a.wantAt("record.response.status", "201").wantNone("record.response.body").wantNone("record.response.body_encoding")
		}
		again := s.as(t, "acme").key("again")
		completed(again)
		again.by(seeing).expire().want(200, "completed").wantAt("record.response.body", `{"id": 1.0}`)
		for _, c := range []caller{blind, seeing} {
			for _, a := range []*answer{c.list(), c.get("/v1/admin/audit"), c.get("/v1/stats"), resolved, expired} {
				for _, hidden := range []string{`{\"id\"`, owner.lease, done.lease} {
					shows(t, a, hidden, false)
				}
			}
			shows(t, c.list(), `"response":`, false)
		}
		owner.reserve().want(200, "replay").wantAt("record.response.body", `{"id": 1.0}`)
	})
}
