package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Ensure that header lines which belong to one connection, one moment or one person are not stored, and not counted as
// lost either.
func TestSomeHeadersAreNeverStored(t *testing.T) {
	never := []string{"Set-Cookie", "set-cookie2", "Authorization", "Proxy-Authenticate", "PROXY-AUTHORIZATION", "Proxy-Anything", "Connection",
		"Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Date", "Content-Length", "X-Hop"}
	eachStore(t, func(t *testing.T, s *server) {
		given := [][2]string{{"X-First", "1"}}
		for _, name := range never {
			given = append(given, [2]string{name, "secret"})
		}
		given = append(given, [2]string{"connection", "close, X-Hop"}, [2]string{"Cookie-Like", "kept"})
		k := s.as(t, "acme").key("k")
		live(k)
		k.complete(respond(fields{"headers": given})).want(200, "completed").wantNone("record.dropped_headers")
		a := k.reserve().want(200, "replay").wantNone("record.dropped_headers")
		if got, want := headerLines(a), [][2]string{{"X-First", "1"}, {"Cookie-Like", "kept"}}; !equalLines(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		shows(t, k.lookup(), "secret", false)
	})
}

// Ensure that complete is taken whatever its header lines are: those that are none are dropped, and named once.
func TestHeaderLinesThatAreNoneAreDroppedAndNamed(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		given := [][2]string{{"X-Split", "a\r\nSet-Cookie: b"}, {"X-Split", "a\nb"}, {"", "empty"}, {"X Space", "a"}, {"X-Ok", "a"}, {"X-Bell", "\a"},
			{strings.Repeat("X", 20<<10), "long name"}}
		a := k.complete(respond(fields{"headers": given})).want(200, "completed")
		dropped, _ := at(a.json, "record.dropped_headers")
		if got, want := fmt.Sprint(dropped), "[X-Split (not a field name) X-Bell]"; got != want {
			t.Errorf("dropped %s, want %s", got, want)
		}
		if got := headerLines(k.reserve().want(200, "replay")); !equalLines(got, [][2]string{{"X-Ok", "a"}}) {
			t.Errorf("kept %q", got)
		}
	})
}

// Ensure that what was done is never run again because its body was not kept: the answer says so, with all that there is
// but the body, and stays the same.
func TestResponseUnavailableShowsWhatWasKept(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		droppedAsTooLarge(k)
		for range 2 {
			a := k.reserve(attempt(2)).want(409, "response_unavailable").wantAt("record.state", "completed").wantAt("advice", "none").
				wantAt("record.resource_id", "order-1").wantAt("record.response.status", "201").wantAt("record.response_dropped", "true").
				wantNone("record.response.body").wantNone("retry_after_ms")
			if got := headerLines(a); len(got) != 2 || got[1] != [2]string{"X-Order", "1"} {
				t.Errorf("header lines: %q", got)
			}
		}
	})
}

// Ensure that complete, release and heartbeat take a request with fields that they do not know, at every level.
func TestLaterCallsTakeUnknownFields(t *testing.T) {
	unknown := fields{"trace": fields{"a": []any{1, nil, "x"}}, "Operation": "another", "leaseToken": 1}
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		k.heartbeat(unknown, fields{"checkpoint": merged(checkpoint(1), unknown)}).want(200, "in_progress").wantAt("record.checkpoint.seq", "1")
		k.release(unknown).want(200, "released")
		k.reserve(attempt(2)).want(201, "acquired")
		k.complete(unknown, respond(merged(response(), unknown))).want(200, "completed").wantAt("record.operation", "POST /v1/orders")
		k.reserve().want(200, "replay").wantAt("record.response.body", `{"id": 1.0}`)
	})
}

// Ensure that half of a surrogate pair, or bytes that are no UTF-8, in a response do not lose the record: what cannot be
// decoded is dropped and marked, all else is kept, and a repeat is answered alike.
func TestCompleteTakesUndecodableResponses(t *testing.T) {
	complete := func(k *key, response string) *answer {
		name := string(must(json.Marshal(merged(k.name, fields{"lease_token": k.lease, "resource_id": "order \ufffd"}))))
		body := name[:len(name)-1] + `,"response":` + response + `}`
		k.post("complete", body).want(200, "completed")
		return k.post("complete", body).want(200, "completed").wantAt("record.resource_id", "order \ufffd")
	}
	eachStore(t, func(t *testing.T, s *server) {
		for _, half := range []string{`\ud83d`, `\udc00`, `\ud800\u0041`, "\xff", "\xed\xa0\x80"} {
			k := s.as(t, "acme").key("body " + half)
			k.name["key"] = fmt.Sprintf("body %x", half)
			live(k)
			complete(k, `{"status":200,"headers":[["X-Ok","\ufffd"]],"body":"cut `+half+`"}`).wantAt("record.response_dropped", "true").wantNone("record.dropped_headers")
			a := k.reserve().want(409, "response_unavailable").wantAt("record.response.status", "200")
			if got := headerLines(a); !equalLines(got, [][2]string{{"X-Ok", "\ufffd"}}) {
				t.Errorf("kept lines %q", got)
			}

			k.name["key"] = fmt.Sprintf("header %x", half)
			live(k)
			complete(k, `{"headers":[["X-Bad","`+half+`"],["X-Ok","1"]],"body":"whole \ufffd"}`).wantNone("record.response_dropped")
			a = k.reserve().want(200, "replay").wantAt("record.response.body", "whole \ufffd")
			names, _ := at(a.json, "record.dropped_headers")
			if got := headerLines(a); !equalLines(got, [][2]string{{"X-Ok", "1"}}) || fmt.Sprint(names) != "[X-Bad]" {
				t.Errorf("kept lines %q, dropped %v", got, names)
			}
		}
	})
}

// Ensure that an undecodable name, token or resource id is refused even where the response is undecodable too: only the
// response is free.
func TestCompleteRefusesUndecodableNames(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		for _, field := range []string{"key", "operation", "lease_token", "resource_id"} {
			for _, first := range []bool{true, false} {
				bad, response := `"`+field+`":"a\ud800"`, `"response":{"body":"\ud800"}`
				rest := merged(k.name, fields{"lease_token": k.lease}, fields{field: omitted})
				body := string(must(json.Marshal(rest)))
				parts := []string{bad, response}
				if !first {
					slices.Reverse(parts)
				}
				a := k.post("complete", body[:len(body)-1]+","+strings.Join(parts, ",")+"}").want(400, "invalid_request")
				names(field)(k, a)
			}
		}
		k.lookup().want(200, "in_progress")
	})
}

// Ensure that a body in base64 may have line ends, as some encoders write them.
func TestBase64MayHaveLineEnds(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		k.complete(respond(fields{"body": "YWJj\r\nYWJj\n", "body_encoding": "base64"})).want(200, "completed")
		k.reserve().want(200, "replay").wantAt("record.response.body", "abcabc")
	})
}
