package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// Ensure that the calls of a batch happen one after the other in their order, also when they are about one key, and that
// those about other keys between them change nothing of that.
func TestBatchHappensInItsOrder(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		k, other := c.key("k"), c.key("another")
		reserve := func(k *key, n int) string { return calling("reserve", k.name, fields{"fingerprint": mine}, attempt(n)) }
		lookup := func(k *key) string { return calling("lookup", k.name) }
		b := c.batch(lookup(k), reserve(k, 1), lookup(k), reserve(other, 1), reserve(k, 2), reserve(k, 1), lookup(other)).results()
		b[0].want(404, "not_found")
		b[1].want(201, "acquired").wantAt("record.attempt", "1")
		b[2].want(200, "in_progress").wantAt("record.version", b[1].text("record.version"))
		b[3].want(201, "acquired").wantAt("record.key", "another")
		b[4].want(409, "in_progress")
		b[5].want(201, "acquired").wantAt("lease.token", b[1].text("lease.token"))
		b[6].want(200, "in_progress").wantAt("record.key", "another")

		token := fields{"lease_token": b[1].text("lease.token")}
		settle := calling("complete", k.name, token, fields{"response": response()})
		b = c.batch(calling("heartbeat", k.name, token, fields{"checkpoint": checkpoint(1)}), lookup(k), calling("release", k.name, token), reserve(k, 1),
			settle, reserve(k, 2), lookup(k)).results()
		b[0].want(200, "in_progress").wantAt("lease.checkpoint.seq", "1")
		b[1].want(200, "in_progress").wantAt("record.checkpoint.seq", "1")
		b[2].want(200, "released")
		b[3].want(409, "lease_lost")
		b[4].want(409, "lease_lost")
		b[5].want(201, "acquired").wantAt("record.attempt", "2").wantAt("lease.checkpoint.seq", "1")
		b[6].want(200, "in_progress").wantAt("record.attempt", "2")

		token = fields{"lease_token": b[5].text("lease.token")}
		settle = calling("complete", k.name, token, fields{"response": response()})
		b = c.batch(settle, lookup(k), reserve(k, 3), settle, calling("complete", k.name, token), calling("release", k.name, token), calling("heartbeat", k.name, token)).results()
		b[0].want(200, "completed").wantNone("record.response")
		b[1].want(200, "completed").wantAt("record.response.body", `{"id": 1.0}`)
		b[2].want(200, "replay").wantAt("record.response.body", `{"id": 1.0}`)
		b[3].want(200, "completed").wantAt("record.version", b[0].text("record.version"))
		b[4].want(409, "already_completed")
		b[5].want(409, "already_completed")
		b[6].want(409, "lease_lost")
		k.lookup().want(200, "completed").wantAt("record.version", b[0].text("record.version"))
	})
}

// Ensure that in a batch of the largest number of calls each has its own result, in its own place, whatever the others come
// to.
func TestLargestBatch(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		held := c.key("held")
		live(held)
		var calls []string
		for i := range 256 {
			calls = append(calls, []string{
				calling("reserve", c.key(fmt.Sprint("k-", i)).name, fields{"fingerprint": mine}),
				calling("reserve", held.name, fields{"fingerprint": other}),
				calling("lookup", c.key("absent").name),
				calling("heartbeat", held.name, fields{"lease_token": held.lease}),
				calling("reserve", c.key("k").name),
			}[i%5])
		}
		for i, r := range c.batch(calls...).results() {
			switch i % 5 {
			case 0:
				r.want(201, "acquired").wantAt("record.key", fmt.Sprint("k-", i))
			case 1:
				r.want(422, "fingerprint_mismatch")
			case 2:
				r.want(404, "not_found")
			case 3:
				r.want(200, "in_progress").wantAt("record.key", "held")
			case 4:
				names("fingerprint")(held, r.want(400, "invalid_request"))
			}
		}
		if n := s.db.rows(t); n != 1+52 {
			t.Errorf("%d rows, want 53", n)
		}
	})
}

// Ensure that each call of a batch needs its own scope, and that a lookup in it shows no body without keys:body.
func TestBatchNeedsTheScopesOfItsCalls(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		owner := s.as(t, "acme").key("k")
		completed(owner)
		token := fields{"lease_token": owner.lease}
		calls := []string{calling("reserve", owner.name, fields{"fingerprint": mine}), calling("complete", owner.name, token, fields{"response": response()}),
			calling("release", owner.name, token), calling("heartbeat", owner.name, token), calling("lookup", owner.name)}
		for _, c := range []struct {
			scopes []auth.Scope
			want   []string
			body   bool
		}{
			{everyScope, []string{"200 replay", "200 completed", "409 already_completed", "409 lease_lost", "200 completed"}, true},
			{[]auth.Scope{auth.KeysWrite}, []string{"200 replay", "200 completed", "409 already_completed", "409 lease_lost", "403 forbidden"}, false},
			{[]auth.Scope{auth.KeysRead}, []string{"403 forbidden", "403 forbidden", "403 forbidden", "403 forbidden", "200 completed"}, false},
			{[]auth.Scope{auth.KeysRead, auth.KeysBody}, []string{"403 forbidden", "403 forbidden", "403 forbidden", "403 forbidden", "200 completed"}, true},
			{[]auth.Scope{auth.KeysBody, auth.KeysAdmin, auth.Ops}, []string{"403 forbidden", "403 forbidden", "403 forbidden", "403 forbidden", "403 forbidden"}, false},
		} {
			results := s.as(t, "acme", c.scopes...).batch(calls...).results()
			for i, r := range results {
				if got := fmt.Sprint(r.status, " ", r.what()); got != c.want[i] {
					t.Errorf("%v: call %d got %s, want %s", c.scopes, i, got, c.want[i])
				}
			}
			if _, got := at(results[4].json, "record.response.body"); got != c.body {
				t.Errorf("%v: lookup shows the body: %t", c.scopes, got)
			}
		}
	})
}

// Ensure that in a batch another tenant's key looks exactly like one that there is not.
func TestBatchShowsNoOtherTenantsKeys(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		theirs := s.as(t, "globex").key("theirs")
		completed(theirs)
		us := s.as(t, "acme")
		token := fields{"lease_token": theirs.lease}
		ask := func(name fields) *answer {
			return us.batch(calling("lookup", name), calling("complete", name, token), calling("release", name, token), calling("heartbeat", name, token))
		}
		got, absent := ask(theirs.name), ask(us.key("never").name)
		if string(withoutID(got)) != string(withoutID(absent)) {
			t.Errorf("got %s, want as for none: %s", got.raw, absent.raw)
		}
		us.batch(calling("reserve", theirs.name, fields{"fingerprint": other})).result(0).want(201, "acquired").wantAt("record.attempt", "1")
	})
}

// Ensure that a lease is given out with at least half of it left in a batch too, also to a repeat that comes when it is
// over; and that none is given out that a later call of the same batch gave up.
func TestBatchGivesNoLeaseThatIsNearlyOver(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k, other := s.as(t, "acme").key("k"), s.as(t, "acme").key("another")
		abandoned(k)
		abandoned(other)
		k.await("abandoned")
		other.await("abandoned")
		again := func(k *key) string { return calling("reserve", k.name, fields{"fingerprint": mine}, attempt(1)) }
		b := k.batch(again(k), again(other), calling("release", other.name, fields{"lease_token": other.lease})).results()
		b[0].want(201, "acquired").wantAt("lease.token", k.lease).wantAt("record.state", "in_progress")
		if left := b[0].number("lease.remaining_ms"); left < 125 || left > 250 {
			t.Errorf("%d ms are left of 250", left)
		}
		if b[1].status == 201 {
			t.Errorf("a lease was given out that was given up: %s", b[1].raw)
		}
		b[2].want(200, "released")
		other.lookup().want(200, "released")
	})
}

// Ensure that during an outage each call of a batch is told so, and none is granted.
func TestOutageInABatch(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		b := k.batch(calling("reserve", k.name, fields{"fingerprint": mine}), calling("lookup", k.name), calling("reserve", k.name)).results()
		for _, r := range b[:2] {
			r.want(503, "store_unavailable").wantAt("retry_after_ms", "1000").wantAt("advice", "repeat_call").wantNone("record")
		}
		b[2].want(400, "invalid_request")
	})
}

// Ensure that a batch is read by whoever has a token, whatever its scopes, and by nobody else.
func TestBatchNeedsAToken(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		body := `{"calls":[` + calling("lookup", fields{"operation": "o", "key": "k"}) + `]}`
		caller{t: t, url: s.url}.send(http.MethodPost, "/v1/keys/batch", body, nil).want(401, "unauthenticated")
		c := s.as(t, "acme")
		c.token = bearer(t, "acme")
		c.send(http.MethodPost, "/v1/keys/batch", body, nil).result(0).want(403, "forbidden")
	})
}
