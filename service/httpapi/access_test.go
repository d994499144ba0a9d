package httpapi_test

import (
	"bytes"
	"testing"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// Ensure that no scope includes another: who may write may not look, and who may look may not write.
func TestScopesIncludeNoOther(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		writer := s.as(t, "acme", auth.KeysWrite).key("k")
		live(writer)
		writer.heartbeat().want(200, "in_progress")
		writer.complete(fields{"response": response()}).want(200, "completed")
		writer.reserve().want(200, "replay").wantAt("record.response.body", `{"id": 1.0}`) // a replay needs no other scope
		writer.lookup().want(403, "forbidden").wantNone("record")

		reader := s.as(t, "acme", auth.KeysRead).key("k")
		reader.lookup().want(200, "completed")
		for _, call := range []func(...fields) *answer{reader.reserve, reader.complete, reader.release, reader.heartbeat} {
			call().want(403, "forbidden").wantNone("record")
		}
		s.as(t, "acme", auth.KeysBody).key("k").lookup().want(403, "forbidden")
	})
}

// Ensure that lookup shows the body of a stored response only to a token with keys:body; everybody else sees the rest of
// it, and the stored one stays whole.
func TestLookupShowsNoBodyWithoutTheScope(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		completed(k)
		for range 2 {
			a := s.as(t, "acme", auth.KeysRead).key("k").lookup().want(200, "completed").wantAt("record.response.status", "201").
				wantNone("record.response.body").wantNone("record.response.body_encoding").wantNone("record.response_dropped")
			shows(t, a, "X-Order", true)
			k.lookup().wantAt("record.response.body", `{"id": 1.0}`)
		}
	})
}

// Ensure that another tenant's key looks exactly like one that there is not, in every call: the same bytes, but for the
// request id, and the same headers.
func TestOtherTenantsKeysLookAbsent(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		theirs := s.as(t, "globex").key("theirs")
		completed(theirs)
		held := s.as(t, "globex").key("held")
		live(held)
		for _, token := range []string{theirs.lease, held.lease} {
			for _, call := range []string{"lookup", "complete", "release", "heartbeat"} {
				f := fields{"lease_token": token}
				if call == "lookup" {
					f = fields{"fingerprint": other} // which would be a mismatch for its owner
				}
				us := s.as(t, "acme")
				absent := us.call(call, us.key("never-made").name, f)
				for _, k := range []*key{theirs, held} {
					if got := us.call(call, k.name, f); !bytes.Equal(withoutID(got), withoutID(absent)) || masked(got) != masked(absent) {
						t.Errorf("%s: got %s %s, want as for none: %s", call, got.raw, masked(got), absent.raw)
					}
				}
			}
		}
		s.as(t, "acme").key("theirs").reserve(fields{"fingerprint": other}).want(201, "acquired").wantAt("record.attempt", "1")
		theirs.reserve().want(200, "replay")
		held.heartbeat().want(200, "in_progress")
	})
}

// withoutID gives the bytes of an answer without its request id.
func withoutID(a *answer) []byte {
	return bytes.ReplaceAll(a.raw, []byte(a.header.Get("X-Request-Id")), []byte("ID"))
}

// Ensure that a mismatch shows neither the record, nor the stored fingerprint, nor the response.
func TestMismatchShowsNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		for id, state := range map[string]func(*key){"live": live, "completed": completed, "released": released} {
			k := s.as(t, "acme").key(id)
			state(k)
			for _, a := range []*answer{k.reserve(fields{"fingerprint": other}), k.lookup(fields{"fingerprint": other})} {
				a.want(422, "fingerprint_mismatch").wantNone("record").wantAt("advice", "new_key")
				for _, secret := range []string{mine, "holder-1", "attempt-1", "X-Order", k.lease} {
					shows(t, a, secret, false)
				}
			}
		}
	})
}

// Ensure that the token of a lease is shown to its holder alone: no record and no problem has it.
func TestLeaseTokenIsShownToItsHolderAlone(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		token := k.lease
		for _, a := range []*answer{k.reserve(attempt(2)), k.reserve(fields{"fingerprint": other}), k.lookup(),
			k.heartbeat(fields{"lease_token": unknownToken}), k.complete(), k.complete(fields{"result": "failed"}), k.reserve(), k.lookup()} {
			shows(t, a, token, false)
		}
	})
}
