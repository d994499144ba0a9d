package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-idempotency/reprise/storage"
)

// Ensure that the lines of one connection, one moment or one person are left out, those that Connection names too, and
// every other line is kept as it is and in its order.
func TestWhichHeaderLinesAreKept(t *testing.T) {
	keep := [][2]string{{"Content-Type", "application/json; charset=utf-8"}, {"Location", "/orders/1"}, {"Link", "<a>; rel=x"},
		{"link", "<b>; rel=y"}, {"ETag", `"ы"`}, {"X-Empty", ""}, {"X-Tab", "a\tb"}}
	lines := [][2]string{{"Set-Cookie", "a=b"}, {"set-cookie2", "x"}, {"Authorization", "x"}, {"Connection", "close, X-Hop , x-Other"},
		{"X-Hop", "1"}, {"X-OTHER", "2"}, {"Keep-Alive", "5"}, {"TE", "trailers"}, {"Trailer", "T"}, {"Transfer-Encoding", "chunked"},
		{"Upgrade", "h2c"}, {"Proxy-Authenticate", "Basic"}, {"PROXY-ANYTHING", "x"}, {"Date", "now"}, {"Content-Length", "3"}}
	kept, dropped := keptHeaders(slices.Concat(lines[:3], keep, lines[3:]), 64, 16<<10)
	if d := cmp.Diff(keep, kept); d != "" || dropped != nil {
		t.Errorf("kept (- want, + got):\n%s\ndropped %v, want none", d, dropped)
	}
}

// Ensure that a line which is none, or is over a limit, is dropped and named, and costs no other line.
func TestWhichHeaderLinesAreDropped(t *testing.T) {
	fits := [2]string{"A", "1"}
	for name, c := range map[string]struct {
		line  [2]string
		named string
	}{
		"line feed":                          {[2]string{"X", "a\nSet-Cookie: b"}, "X"},
		"carriage return":                    {[2]string{"X", "a\r"}, "X"},
		"NUL":                                {[2]string{"X", "\x00"}, "X"},
		"delete":                             {[2]string{"X", "\x7f"}, "X"},
		"bytes that are none":                {[2]string{"X", "\xff"}, "X"},
		"no name":                            {[2]string{"", "1"}, "(not a field name)"},
		"a name with a colon":                {[2]string{"a:b", "1"}, "(not a field name)"},
		"a name with a space":                {[2]string{"a b", "1"}, "(not a field name)"},
		"a name beyond ASCII":                {[2]string{"é", "1"}, "(not a field name)"},
		"a name that lower case makes ASCII": {[2]string{"X-To\u212Aen", "1"}, "(not a field name)"},
		"too large":                          {[2]string{"Large", strings.Repeat("x", 200)}, "Large"},
		"a very long name":                   {[2]string{strings.Repeat("x", 300), "1"}, "(not a field name)"},
	} {
		kept, dropped := keptHeaders([][2]string{c.line, fits}, 64, 100)
		if !slices.Equal(kept, [][2]string{fits}) || !slices.Equal(dropped, []string{c.named}) {
			t.Errorf("%s: got kept %v, dropped %v; want %v kept and %q dropped", name, kept, dropped, fits, c.named)
		}
	}
}

// Ensure that the limits are kept to the line and to the byte, and the list of what was dropped stays short.
func TestHeaderLimits(t *testing.T) {
	var many [][2]string
	for i := range 300 {
		many = append(many, [2]string{fmt.Sprint("H", i), "v"})
	}
	kept, dropped := keptHeaders(many, 64, 16<<10)
	if len(kept) != 64 || kept[63][0] != "H63" || len(dropped) != maxDroppedNames || dropped[0] != "H64" {
		t.Errorf("got %d kept and %d dropped", len(kept), len(dropped))
	}
	exact := [][2]string{{"A", strings.Repeat("x", 49)}, {"B", strings.Repeat("y", 49)}}
	if kept, dropped := keptHeaders(exact, 64, 100); len(kept) != 2 || dropped != nil {
		t.Errorf("exactly 100 bytes: got kept %v, dropped %v", kept, dropped)
	}
	if kept, dropped := keptHeaders(exact, 64, 99); len(kept) != 1 || !slices.Equal(dropped, []string{"B"}) {
		t.Errorf("one byte over: got kept %v, dropped %v", kept, dropped)
	}
}

// Ensure that whatever differs between two settlements tells them apart, wherever it stands.
func TestResultHashTellsSettlementsApart(t *testing.T) {
	status := func(n int) *int { return &n }
	seen := map[string]string{}
	for name, c := range map[string]struct {
		result   storage.State
		resource string
		response *Response
	}{
		"nothing":                 {storage.Completed, "", nil},
		"failed":                  {storage.Failed, "", nil},
		"a resource":              {storage.Completed, "r", nil},
		"an empty response":       {storage.Completed, "", &Response{}},
		"a status":                {storage.Completed, "", &Response{Status: status(201)}},
		"another status":          {storage.Completed, "", &Response{Status: status(202)}},
		"an empty body":           {storage.Completed, "", &Response{Body: []byte{}}},
		"a body":                  {storage.Completed, "", &Response{Body: []byte("b")}},
		"another body":            {storage.Completed, "", &Response{Body: []byte("c")}},
		"a dropped body":          {storage.Completed, "", &Response{BodyDropped: true}},
		"a line":                  {storage.Completed, "", &Response{Headers: [][2]string{{"a", "bc"}}}},
		"a line of another value": {storage.Completed, "", &Response{Headers: [][2]string{{"a", "bd"}}}},
		"a line cut elsewhere":    {storage.Completed, "", &Response{Headers: [][2]string{{"ab", "c"}}}},
		"two lines":               {storage.Completed, "", &Response{Headers: [][2]string{{"a", "b"}, {"c", "d"}}}},
		"two lines, turned":       {storage.Completed, "", &Response{Headers: [][2]string{{"c", "d"}, {"a", "b"}}}},
		"a line that is the body": {storage.Completed, "", &Response{Headers: [][2]string{{"b", ""}}}},
	} {
		hash := string(resultHash(c.result, c.resource, c.response))
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[hash] = name
	}
}

// Ensure that a body over the limit is dropped and marked, one of exactly the limit is kept, and the hash is that of
// what was given.
func TestBodyLimit(t *testing.T) {
	s := New(nil, DefaultLimits(), nil)
	for size, kept := range map[int]bool{0: true, 1 << 20: true, 1<<20 + 1: false} {
		got, err := s.storable(&Response{Body: make([]byte, size)})
		if err != nil || got.BodyDropped == kept || (got.Body != nil) != kept {
			t.Errorf("%d bytes: got dropped %v, %v; want kept %v", size, got.BodyDropped, err, kept)
		}
	}
}

// Ensure that limits which contradict themselves are named, all at once.
func TestLimitsAreValidated(t *testing.T) {
	if err := DefaultLimits().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	l := DefaultLimits()
	l.Lease.Min, l.Retention.Default, l.Key, l.Body = 0, l.Retention.Max+1, 2000, -1
	err := l.Validate()
	for _, field := range []string{"limits.lease_default", "limits.retention_default", "limits.key", "limits.response_body"} {
		if err == nil || !strings.Contains(err.Error(), field+":") {
			t.Errorf("%s is not named: %v", field, err)
		}
	}
}
