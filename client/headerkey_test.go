package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/client"
)

// Ensure that a quoted and a bare value name the same key, and that nothing else is guessed.
func TestParseKey(t *testing.T) {
	for _, test := range []struct {
		values []string
		want   string // "" for an error
	}{
		{[]string{"8e03978e"}, "8e03978e"},
		{[]string{`"8e03978e"`}, "8e03978e"},
		{[]string{" \t8e03978e \t"}, "8e03978e"},
		{[]string{`"a\"b"`}, `a"b`},
		{[]string{`"a\\b"`}, `a\b`},
		{[]string{`"a, b"`}, "a, b"},
		{[]string{`"a;p=1"`}, "a;p=1"},
		{[]string{`a\b`}, `a\b`},
		{[]string{"order:1/2+3=4%"}, "order:1/2+3=4%"},
		{[]string{strings.Repeat("x", 255)}, strings.Repeat("x", 255)},
		{[]string{`"` + strings.Repeat(`\"`, 255) + `"`}, strings.Repeat(`"`, 255)},
		{[]string{"a", "b"}, ""},
		{[]string{"a", "a"}, ""},
		{[]string{"a, b"}, ""},
		{[]string{"a,b"}, ""},
		{[]string{"a b"}, ""},
		{[]string{"a;p=1"}, ""},
		{[]string{`"a";p=1`}, ""},
		{[]string{`"a"b"`}, ""},
		{[]string{`"abc`}, ""},
		{[]string{`abc"`}, ""},
		{[]string{`"`}, ""},
		{[]string{`""`}, ""},
		{[]string{""}, ""},
		{[]string{"  "}, ""},
		{[]string{`"é"`}, ""},
		{[]string{"é"}, ""},
		{[]string{"\xff"}, ""},
		{[]string{"\"a\tb\""}, ""},
		{[]string{"\"a\x00\""}, ""},
		{[]string{`"a\n"`}, ""},
		{[]string{`"a\`}, ""},
		{[]string{strings.Repeat("x", 256)}, ""},
	} {
		got, err := client.ParseKey(test.values)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q gives %q, %v; want %q", test.values, got, err, test.want)
		}
	}
	if _, err := client.ParseKey(nil); !errors.Is(err, client.ErrNoKey) {
		t.Errorf("no line gives %v", err)
	}
}

// FuzzParseKey ensures that a key is 1 to 255 bytes of printable ASCII, and that quoting it gives the same.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"a", `"a"`, `"a\"b\\"`, `"a";p=1`, "a,b", "\xff", `"`, ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, err := client.ParseKey([]string{value})
		if err != nil {
			return
		}
		if len(key) < 1 || len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q gives %q", value, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := client.ParseKey([]string{quoted}); err != nil || again != key {
			t.Errorf("%q gives %q, and %q %q, %v", value, key, quoted, again, err)
		}
	})
}
