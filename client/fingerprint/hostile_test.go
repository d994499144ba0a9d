package fingerprint

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// hostile returns documents of about the given size, each the worst case of a
// step that could have been quadratic. All are valid but the duplicates.
func hostile(size int) map[string][]byte {
	object := func(n int, name func(i int) string) []byte {
		var b bytes.Buffer
		b.WriteByte('{')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"%s":%d`, name(i), i%10)
		}
		b.WriteByte('}')
		return b.Bytes()
	}
	nest := func(open, inner, end string) []byte {
		return []byte(strings.Repeat(open, MaxDepth-2) + inner + strings.Repeat(end, MaxDepth-2))
	}
	shared := strings.Repeat("x", 1000)
	return map[string][]byte{
		"many members in reverse":     object(size/12, func(i int) string { return fmt.Sprintf("%07d", 9999999-i) }),
		"many members in order":       object(size/12, func(i int) string { return fmt.Sprintf("%07d", i) }),
		"one name many times":         object(size/6, func(int) string { return "a" }),
		"long names, late difference": object(size/1012, func(i int) string { return fmt.Sprintf("%s%07d", shared, 9999999-i) }),
		"names of escapes": object(size/36, func(i int) string {
			return fmt.Sprintf(`\u0001\u0001\u000%x\u000%x\u000%x`, 15-i>>8&15, 15-i>>4&15, 15-i&15) + fmt.Sprint(i)
		}),
		"a large value deep down":  nest(`{"b":`, `"`+strings.Repeat("v", size)+`"`, `,"a":0}`),
		"many small unsorted":      []byte(`[` + strings.Repeat(`{"b":0,"a":0},`, size/14) + `0]`),
		"many deep unsorted":       nest(`{"b":`, `[`+strings.Repeat(`{"b":0,"a":0},`, size/14)+`0]`, `,"a":0}`),
		"empty objects":            []byte(`[` + strings.Repeat(`{},`, size/3) + `0]`),
		"brackets only":            []byte(strings.Repeat(`[`, size)),
		"braces only":              []byte(strings.Repeat(`{"":`, size/4)),
		"a long string of escapes": []byte(`"` + strings.Repeat(`\ud83d\ude00`, size/12) + `"`),
		"a long number":            []byte(strings.Repeat("9", size)),
		"whitespace":               []byte(strings.Repeat(" ", size) + "0"),
	}
}

// A hostile document of a MiB must cost no more than a large honest one: with
// a quadratic step anywhere, this test would run for hours.
func TestHostileDocuments(t *testing.T) {
	invalid := map[string]bool{"one name many times": true, "brackets only": true, "braces only": true}
	for name, body := range hostile(1 << 20) {
		canonical, ok := Canonical(body)
		if ok == invalid[name] {
			t.Errorf("%s: Canonical says ok = %v", name, ok)
		}
		if len(canonical) > len(body) {
			t.Errorf("%s: canonical form has %d bytes, the body %d", name, len(canonical), len(body))
		}
	}
}
