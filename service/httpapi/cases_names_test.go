package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// Ensure that every key is itself, because names travel in the body: none is decoded, cut or redirected on its way.
func TestNamesInTheBodyAreNeverDecoded(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		keys := []string{"a/b", "a%2Fb", "a%252Fb", "100%", "100%25", "ы", "%D1%8B", "%d1%8b", "..", ".", "/", "//x", "a b", "a+b", "a%20b", "?x=1", "#", `\`, `"`}
		eachItself(t, s, "key", keys)
		a := s.as(t, "acme").send(http.MethodPost, "/v1/keys//x", "{}", nil)
		a.want(404, "no_such_call")
	})
}

// Ensure that case, spaces and Unicode normalisation tell keys apart, in every part of a name.
func TestNamesAreComparedByteByByte(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		names := []string{"Abc", "abc", "a", "a ", " a", "a\u00a0", "é", "e\u0301", "ａ", "ß", "ss", "ı", "i", "İ", "\u200ba", "1", "01"}
		for _, part := range []string{"key", "subject", "operation"} {
			eachItself(t, s, part, names)
		}
	})
}

// eachItself reserves, completes and looks up keys that differ in one part alone.
func eachItself(t *testing.T, s *server, part string, values []string) {
	t.Helper()
	keys := make([]*key, len(values))
	for i, value := range values {
		keys[i] = s.as(t, "acme").key("same")
		keys[i].name["operation"] = "by " + part
		keys[i].name[part] = value
		keys[i].reserve().want(201, "acquired").wantAt("record."+part, value).wantAt("record.attempt", "1")
		keys[i].complete(respond(fields{"body": value})).want(200, "completed")
	}
	for i, value := range values {
		keys[i].lookup().want(200, "completed").wantAt("record."+part, value).wantAt("record.response.body", value)
		keys[i].reserve().want(200, "replay").wantAt("record.response.body", value)
	}
}

// Ensure that text which one database refuses and another cuts is refused by name, the same on each: NUL, other
// control characters, lone surrogates and bytes that are no UTF-8. Nothing is stripped, nothing stored.
func TestOddTextIsRefusedAndNeverStripped(t *testing.T) {
	odd := map[string]string{"NUL": `a\u0000b`, "escape": `a\u001bb`, "C1": `a\u0085b`, "high surrogate": `a\ud800b`,
		"low surrogate": `a\udc00b`, "bad UTF-8": "a\xffb", "overlong NUL": "a\xc0\x80b"}
	eachStore(t, func(t *testing.T, s *server) {
		for _, field := range []string{"operation", "subject", "key", "holder", "attempt_id", "fingerprint"} {
			for id, text := range odd {
				body := string(must(json.Marshal(merged(fields{"operation": "o", "key": "k", "fingerprint": mine}, fields{field: "REPLACED"}))))
				a := s.as(t, "acme").post("reserve", strings.ReplaceAll(body, "REPLACED", "12345678"+text))
				if a.want(400, "invalid_request"); !strings.HasPrefix(a.text("detail"), field+": ") {
					t.Errorf("%s in %s: the detail %q does not name it", id, field, a.text("detail"))
				}
			}
		}
		if n := s.db.rows(t); n != 0 {
			t.Errorf("%d rows were stored", n)
		}
	})
}

// Ensure that a response with odd text is taken: the body comes back byte by byte, a header line that is none is
// dropped and named.
func TestOddTextInAResponseIsKeptOrDropped(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		k.heartbeat(fields{"checkpoint": fields{"seq": 1, "data": "a\x00b"}}).want(200, "in_progress").wantAt("record.checkpoint.data", "a\x00b")
		k.complete(respond(fields{"body": "a\x00b", "headers": [][2]string{{"X-Nul", "a\x00b"}, {"X-Fine", "ы"}, {"a b", "c"}}})).want(200, "completed")
		a := k.reserve().want(200, "replay").wantAt("record.response.body_encoding", "base64").
			wantAt("record.response.body", base64.StdEncoding.EncodeToString([]byte("a\x00b")))
		if got := headerLines(a); len(got) != 1 || got[0] != [2]string{"X-Fine", "ы"} {
			t.Errorf("kept lines: %q", got)
		}
	})
}

// Ensure that a header with a byte that is no ASCII, which net/http takes, cannot become a request id.
func TestRequestIDIsVisibleASCII(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		for _, id := range []string{"a\xffb", "a b", "ы", "", strings.Repeat("x", 129)} {
			a := s.as(t, "acme").send(http.MethodGet, "/livez", "", http.Header{"X-Request-Id": {id}})
			if got := a.header.Get("X-Request-Id"); got == id || got == "" {
				t.Errorf("request id %q was taken as %q", id, got)
			}
		}
		own := "trace-1/" + strings.Repeat("~", 120)
		if got := s.as(t, "acme").send(http.MethodGet, "/livez", "", http.Header{"X-Request-Id": {own}}).header.Get("X-Request-Id"); got != own {
			t.Errorf("the caller's own request id came back as %q", got)
		}
	})
}

// Ensure that the limits of names are those of bytes, also for text that does not compress: an index has a limit that
// other text slips under.
func TestLongNamesAreRefusedBeforeTheStoreSeesThem(t *testing.T) {
	random := func(n int) string {
		b := make([]byte, n)
		source := rand.NewChaCha8([32]byte{1})
		_, _ = source.Read(b)
		return base64.StdEncoding.EncodeToString(b)[:n]
	}
	cases := []struct {
		part, value string
		inside      bool
	}{
		{"key", random(255), true}, {"key", random(256), false}, {"key", random(4000), false},
		{"key", strings.Repeat("a", 8000), false}, {"key", strings.Repeat("é", 127), true}, {"key", strings.Repeat("é", 255), false},
		{"operation", random(200), true}, {"operation", random(4000), false}, {"subject", random(200), true}, {"subject", random(4000), false},
	}
	eachStore(t, func(t *testing.T, s *server) {
		for _, c := range cases {
			k := s.as(t, "acme").key("k-" + c.part)
			k.name[c.part] = c.value
			if c.inside {
				k.reserve().want(201, "acquired").wantAt("record."+c.part, c.value)
				continue
			}
			names(c.part)(k, k.reserve().want(400, "invalid_request"))
		}
		whole := s.as(t, "acme").key(random(255))
		whole.name["operation"], whole.name["subject"] = random(200), random(200)
		whole.reserve().want(201, "acquired")
	})
}

// Ensure that no request without a key or an operation is stored: all of them would share one record.
func TestEmptyOrMissingNamesAreRefused(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		for _, part := range []string{"key", "operation"} {
			for _, value := range []any{omitted, "", nil, 0, false, []string{"k"}} {
				k := s.as(t, "acme").key("k")
				names(part)(k, k.reserve(fields{part: value}).want(400, "invalid_request"))
			}
		}
		if n := s.db.rows(t); n != 0 {
			t.Errorf("%d rows were stored", n)
		}
		k := s.as(t, "acme").key("   ") // blank is not empty, and not trimmed
		k.reserve().want(201, "acquired").wantAt("record.key", "   ")
	})
}
