package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf8"
)

// shows wants a text to be in an answer, or not, wherever that could be.
func shows(t *testing.T, a *answer, text string, want bool) {
	t.Helper()
	if got := bytes.Contains(a.raw, []byte(text)); got != want {
		t.Errorf("the answer shows %q: %t, want %t\n%.2000s", text, got, want, a.raw)
	}
}

// Ensure that a replay has the very bytes that were given, whatever they are: no database may read them as JSON or as
// text. They travel as text where they are text, else in base64.
func TestReplayHasTheVeryBytes(t *testing.T) {
	bodies := map[string]string{
		"json":        `{"zz":1.0,"a":1,"a":2,"n":9007199254740993, "e":1E2}`,
		"gzip":        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"bad UTF-8":   "\xff\xfe\xc0\x80\xed\xa0\x80",
		"NUL":         "a\x00b",
		"empty":       "",
		"line end":    "a\r\n",
		"BOM":         "\ufeffa",
		"controls":    "\x01\x1f\x7f\u0085\u2028",
		"HTML":        "<b>&amp;</b>",
		"replacement": "\ufffd",
		"emoji":       "👩‍👩‍👧",
	}
	eachStore(t, func(t *testing.T, s *server) {
		for id, body := range bodies {
			k := s.as(t, "acme").key(id)
			live(k)
			k.complete(respond(fields{"body": base64.StdEncoding.EncodeToString([]byte(body)), "body_encoding": "base64"})).want(200, "completed")
			for _, a := range []*answer{k.reserve().want(200, "replay"), k.lookup().want(200, "completed")} {
				if got := bodyOf(t, a); got != body {
					t.Errorf("%s: got %q, want %q", id, got, body)
				}
				wantText := utf8.ValidString(body) && !strings.ContainsRune(body, 0)
				if got := a.text("record.response.body_encoding"); (got == "utf-8") != wantText {
					t.Errorf("%s: travels as %s", id, got)
				}
			}
		}
	})
}

// bodyOf gives the body of the response in a record, decoded.
func bodyOf(t *testing.T, a *answer) string {
	t.Helper()
	body := a.text("record.response.body")
	if a.text("record.response.body_encoding") == "utf-8" {
		return body
	}
	raw, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		t.Fatalf("the body is not base64: %q", body)
	}
	return string(raw)
}

// Ensure that a replay has the header lines that were given, in order, with repeated names and as they were spelt.
func TestReplayHasTheVeryHeaderLines(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		given := [][2]string{{"x-b", "2"}, {"Link", "</1>"}, {"X-A", ""}, {"LINK", "</2>"}, {"link", "</1>"}, {"X-Tab", "a\tb"}, {"X-É", "no"}, {"X-Ü", "ü"}}
		k.complete(respond(fields{"headers": given})).want(200, "completed")
		got := headerLines(k.reserve().want(200, "replay"))
		if want := given[:6]; len(got) != 6 || !equalLines(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func equalLines(a, b [][2]string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}
