package httpapi_test

import "testing"

// requests are pairs of requests, and whether they are the same one.
type requests []struct {
	id   string
	a, b fields
	same bool
}

// jsonBody is a request with a JSON body.
func jsonBody(body string) fields {
	return fields{"method": "POST", "target": "/x", "content_type": "application/json", "body": body}
}

func target(target string) fields { return fields{"method": "POST", "target": target} }

// eachPair reserves with the first, and completes; the second is a replay or a mismatch.
func eachPair(t *testing.T, pairs requests) {
	eachStore(t, func(t *testing.T, s *server) {
		for _, pair := range pairs {
			k := s.as(t, "acme").key(pair.id)
			k.t = t
			k.reserve(fields{"fingerprint": omitted, "request": pair.a}).want(201, "acquired")
			k.complete(respond(fields{"body": pair.id})).want(200, "completed")
			k.reserve(fields{"fingerprint": omitted, "request": pair.a}).want(200, "replay").wantAt("record.response.body", pair.id)
			status, what := 422, "fingerprint_mismatch"
			if pair.same {
				status, what = 200, "replay"
			}
			if a := k.reserve(fields{"fingerprint": omitted, "request": pair.b}); a.status != status || a.what() != what {
				t.Errorf("%s: got %d %s, want %d %s", pair.id, a.status, a.what(), status, what)
			}
		}
	})
}

// Ensure that two amounts which only a float would take for one are two requests.
func TestAmountsAreComparedByTheirText(t *testing.T) {
	eachPair(t, requests{
		{"beyond 2^53", jsonBody(`{"amount":9007199254740993}`), jsonBody(`{"amount":9007199254740992}`), false},
		{"tiny and zero", jsonBody(`{"amount":1e-400}`), jsonBody(`{"amount":0}`), false},
		{"fraction", jsonBody(`{"amount":1.0}`), jsonBody(`{"amount":1}`), false},
		{"exponent", jsonBody(`{"amount":1e2}`), jsonBody(`{"amount":100}`), false},
		{"minus zero", jsonBody(`{"amount":-0}`), jsonBody(`{"amount":0}`), false},
		{"spaces and order", jsonBody(`{"a":1,"b":2}`), jsonBody(" {\"b\" : 2,\n\"a\":1} "), true},
		{"escapes", jsonBody(`{"a":"é/"}`), jsonBody(`{"\u0061":"\u00e9\/"}`), true},
		{"normal forms", jsonBody(`{"a":"é"}`), jsonBody(`{"a":"e\u0301"}`), false},
		{"bytes in base64", jsonBody(`{"a":1}`), merged(jsonBody(`eyJhIjoxfQ==`), fields{"body_encoding": "base64"}), true},
	})
}

// Ensure that a query is part of the request, as it was sent, and that no part runs into the next.
func TestQueriesTellRequestsApart(t *testing.T) {
	eachPair(t, requests{
		{"dry run", target("/x?dry=1"), target("/x"), false},
		{"other order", target("/x?a=1&b=2"), target("/x?b=2&a=1"), false},
		{"order of values", target("/x?a=1&a=2"), target("/x?a=2&a=1"), false},
		{"shifted values", target("/x?a=&a=b&c="), target("/x?a=&b=c&b="), false},
		{"escapes", target("/x?a=%20"), target("/x?a=+"), false},
		{"empty query", target("/x?"), target("/x"), false},
		{"value or none", target("/x?a"), target("/x?a="), false},
		{"same", target("/x?a=1&b=2"), target("/x?a=1&b=2"), true},
		{"method into target", fields{"method": "POST", "target": "/x"}, fields{"method": "POST/x"}, false},
		{"target into body", fields{"target": "/x", "body": "y"}, fields{"target": "/xy", "body": ""}, false},
		{"header into value", fields{"headers": [][2]string{{"ab", "c"}}}, fields{"headers": [][2]string{{"a", "bc"}}}, false},
		{"case of header names", fields{"headers": [][2]string{{"X-A", "1"}}}, fields{"headers": [][2]string{{"x-a", "1"}}}, true},
	})
}

// Ensure that a document which gives a name twice is not taken for the one that a lenient reader makes of it.
func TestDuplicateMembersAreComparedAsBytes(t *testing.T) {
	eachPair(t, requests{
		{"last wins", jsonBody(`{"amount":1,"amount":100}`), jsonBody(`{"amount":100}`), false},
		{"first wins", jsonBody(`{"amount":1,"amount":100}`), jsonBody(`{"amount":1}`), false},
		{"nested", jsonBody(`{"x":{"a":1,"a":2}}`), jsonBody(`{"x":{"a":2}}`), false},
		{"escaped", jsonBody(`{"\u0061":1,"a":2}`), jsonBody(`{"a":2}`), false},
		{"same bytes", jsonBody(`{"a":1,"a":2}`), jsonBody(`{"a":1,"a":2}`), true},
		{"other spaces", jsonBody(`{"a":1,"a":2}`), jsonBody(`{"a":1, "a":2}`), false},
		{"lone surrogate", jsonBody(`{"a":"\ud800"}`), jsonBody(`{"a":"\ufffd"}`), false},
	})
}

// Ensure that every way to a stored response asks for the fingerprint, and that a settlement leaves it as it was.
func TestEveryPathComparesTheFingerprint(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		before := k.lookup().text("record.fingerprint")
		k.complete(fields{"response": response()}).want(200, "completed").wantAt("record.fingerprint", before)
		for _, wrong := range []fields{{}, attempt(1), attempt(2)} {
			a := k.reserve(wrong, fields{"fingerprint": other}).want(422, "fingerprint_mismatch").wantNone("record")
			shows(t, a, mine, false)
		}
		shows(t, k.lookup(fields{"fingerprint": other}).want(422, "fingerprint_mismatch"), mine, false)
		k.lookup(fields{"fingerprint": mine}).want(200, "completed")
		k.reserve().want(200, "replay").wantAt("record.fingerprint", before)
	})
}
