package fingerprint

import (
	"strings"
	"testing"
)

// Canonical writes the documented form: one spelling for structure and strings,
// and numbers as they were.
func TestCanonical(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{" {\t\"a\" :\r\n1 , \"b\" : [ ] } ", `{"a":1,"b":[]}`},
		{`{"b":2,"a":1}`, `{"a":1,"b":2}`},
		{`{"b":{"d":4,"c":3},"a":1}`, `{"a":1,"b":{"c":3,"d":4}}`},
		{`{"a":{"d":4,"c":3},"b":1}`, `{"a":{"c":3,"d":4},"b":1}`},
		{`[{"a":[{"c":1,"b":2},{"b":1}],"b":{}},{"b":1,"a":[{"z":1,"y":2}]}]`,
			`[{"a":[{"b":2,"c":1},{"b":1}],"b":{}},{"a":[{"y":2,"z":1}],"b":1}]`},
		{`{"c":{"b":{"d":1,"c":2},"a":{"y":1,"z":2}},"b":{"y":1,"x":2},"a":{}}`,
			`{"a":{},"b":{"x":2,"y":1},"c":{"a":{"y":1,"z":2},"b":{"c":2,"d":1}}}`},
		{`{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
		{`{"B":1,"a":2,"A":3}`, `{"A":3,"B":1,"a":2}`},
		{`"\u0041\/\u00e9\ud83d\ude00\u2028"`, "\"A/é😀\u2028\""},
		{`"\u0000\u0008\u0009\u000A\u000b\u000C\u000D\u001F\u0020\u0022\u005C\u007f"`, `"\u0000\b\t\n\u000b\f\r\u001f \"\\` + "\x7f\""},
		{`9007199254740993`, `9007199254740993`},
		{`[1,1.0,1e0,1E0,1E+0,-0,0,1e-400,0.10,-1.5E-7]`, `[1,1.0,1e0,1E0,1E+0,-0,0,1e-400,0.10,-1.5E-7]`},
		{`[true, false, null]`, `[true,false,null]`},
		{nested(MaxDepth), nested(MaxDepth)},
	} {
		got, ok := Canonical([]byte(test.body))
		if !ok || string(got) != test.want {
			t.Errorf("Canonical(%q) is %q, %v; want %q", test.body, got, ok, test.want)
		}
	}
}

func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// Names are sorted by UTF-16 code units of what they spell. The list is in
// order, and each pair is tried both ways, spelled with and without escapes.
func TestNameOrder(t *testing.T) {
	names := []string{
		``, `\u0000`, `\u0000a`, `\u0001`, `\b`, `\t`, `\n`, `\u000b`, `\f`, `\r`, `\u001f`, ` `, `!`, `\"`, `#`, `0`,
		`A`, `[`, `\\`, `\\\\`, `]`, `a`, `a\u0000`, `a\n`, `a\"`, `aa`, `aé`, `b`, "\x7f", "\u0080", `é`, "\u07ff",
		"\u0800", "\u20ac", "\ud7ff", "\U00010000", "\U0001f600", "\U0010ffff", "\ue000", "\uefff", "\uf000", "\ufb33", "\uffff",
	}
	for i, low := range names {
		for _, high := range names[i+1:] {
			want := `{"` + low + `":1,"` + high + `":2}`
			for _, body := range []string{want, `{"` + high + `":2,"` + low + `":1}`} {
				if got, ok := Canonical([]byte(body)); !ok || string(got) != want {
					t.Errorf("Canonical(%q) is %q, %v; want %q", body, got, ok, want)
				}
			}
		}
		if _, ok := Canonical([]byte(`{"` + low + `":1,"x y":0,"` + low + `":2}`)); ok {
			t.Errorf("the name %q is accepted twice", low)
		}
	}
}

// What is not strictly valid JSON has no canonical form: lenient readers see
// different things in it.
func TestNotStrictlyValid(t *testing.T) {
	for _, body := range []string{
		"", " ", "{", "[", "}", "]", `"`, `"a`, `"\`, `"\"`, `"\u`, `"\u00`, `"\u000`, `"\u000"`, `"\u00g0"`, `"\x"`, `"\'"`,
		`{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":}`, `{"a"}`, `{"a",1}`, `{a:1}`, `{1:1}`, `{,}`, `{"a":1 "b":2}`, `{"a":1,,"b":2}`,
		`[1,]`, `[,1]`, `[1 2]`, `[1}`, `{"a":1]`, `[]]`, `{}{}`, `1 2`, `1,`, `nul`, `nulll`, `tru`, `True`, `NaN`, `Infinity`, `undefined`,
		`01`, `-`, `-01`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `0x10`, `1_000`, `--1`, `1e1.5`, `00`, `-a`,
		"\"\t\"", "\"\n\"", "\"\x00\"", "\"\x1f\"", "\v1", "\f1", "\u00a01", "\u20281", "1\x00", "'a'", "/**/1", "//\n1",
		"\xef\xbb\xbf1", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "\xff",
		`"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\udc00\ud800"`, `"\ud800a"`, `"\ud800\n"`, `"\ud800\u0061"`, `"\ud800\`, `"\ud800\udc0"`,
		`{"\ud800":1}`, `{"\udc00":1}`,
		`{"a":1,"a":1}`, `{"a":1,"\u0061":2}`, `{"\n":1,"\u000a":2}`, `{"/":1,"\/":2}`, `{"😀":1,"\ud83d\ude00":2}`, `{"":1,"":2}`,
		`{"b":1,"a":2,"b":3}`, `{"c":1,"b":2,"a":3,"b":4}`, `{"x":{"a":1,"a":2}}`, `[[{"x":[{"a":1,"b":0,"a":2}]}]]`,
		nested(MaxDepth + 1), strings.Repeat(`{"a":`, MaxDepth+1) + `1` + strings.Repeat(`}`, MaxDepth+1),
	} {
		if got, ok := Canonical([]byte(body)); ok || got != nil {
			t.Errorf("Canonical(%q) is %q, %v", body, got, ok)
		}
	}
}

// One name in two objects, or the same name in other case or in another
// normalisation form, is no duplicate.
func TestNotDuplicates(t *testing.T) {
	for _, body := range []string{`[{"a":1},{"a":1}]`, `{"a":{"a":{"a":1}}}`, `{"A":1,"a":2}`, "{\"e\u0301\":1,\"\u00e9\":2}", `{"a":1,"a ":2}`} {
		if _, ok := Canonical([]byte(body)); !ok {
			t.Errorf("Canonical refuses %q", body)
		}
	}
}

// The result is the caller's: it stays as it is when the function is called
// again, and the body is not written to.
func TestCanonicalMemory(t *testing.T) {
	body := []byte(`{ "b":1, "a":2 }`)
	first, _ := Canonical(body)
	if _, ok := Canonical([]byte(`{"zzzzz":[1,2,3]}`)); !ok {
		t.Fatal("refused")
	}
	if string(first) != `{"a":2,"b":1}` || string(body) != `{ "b":1, "a":2 }` {
		t.Errorf("the result is %q and the body %q", first, body)
	}
}
