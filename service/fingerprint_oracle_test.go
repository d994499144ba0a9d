package service_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-idempotency/reprise/client/fingerprint"
)

// The canonical form of a JSON body is written by hand in the client, which
// uses the standard library alone. The tests in this file hold it against an
// implementation of RFC 8785 by other authors. They stand here because here the
// module may have the dependency.

// jcsOracle canonicalises with jsontext, told to keep the text of numbers.
// Jsontext allows a depth of 10,000, so the documents here stay below our limit
// of 512, or are known to be deeper.
func jcsOracle(body []byte) (canonical []byte, ok bool) {
	value := jsontext.Value(bytes.Clone(body))
	err := value.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		return nil, false
	}
	return value, true
}

// compareWithOracle returns whether the body was accepted.
func compareWithOracle(t *testing.T, body []byte) bool {
	t.Helper()
	want, wantOK := jcsOracle(body)
	got, ok := fingerprint.Canonical(body)
	if ok != wantOK || !bytes.Equal(got, want) {
		t.Errorf("%q:\n got %q, %v\nwant %q, %v", body, got, ok, want, wantOK)
	}
	return ok
}

// For documents chosen by hand, around every rule, both implementations accept
// the same ones and write the same bytes.
func TestFingerprintOracleCorpus(t *testing.T) {
	for _, body := range []string{
		// structure
		``, ` `, `{}`, ` { } `, `[]`, "[\t\r\n]", `{"a":[]}`, `[[],{}]`, `[1,]`, `[,1]`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{:1}`, `[1 2]`, `{"a":1 "b":2}`,
		`[}`, `{]`, `[`, `{`, `]`, `{"a":1`, `[]]`, `{}{}`, `1 2`, "1\x00", "\v1", "\f1", "\u00a01", "\ufeff1", `{a:1}`, `{'a':1}`, `/**/1`,
		// literals and numbers
		`true`, `false`, `null`, `tru`, `truee`, `True`, `NaN`, `-Infinity`, `0`, `-0`, `00`, `01`, `-`, `-01`, `+1`, `.1`, `1.`, `1.0`, `1.e1`, `1e`, `1E+`, `1e5`, `1E+05`, `-0.0e-0`,
		`9007199254740993`, `1e-400`, `1e400`, `0x1`, `1_0`, `123456789012345678901234567890.123456789`,
		// strings
		`""`, `"a`, `"\"`, `"\u"`, `"\u12"`, `"\u12G4"`, `"\x"`, `"\'"`, `"\/\b\f\n\r\t\"\\"`, `"\u002f\u0008\u000C\u000a\u000D\u0009\u0022\u005c"`, `"\u0000\u001f\u007f\u0080\u2028\u2029\ufffd\ufffe\uffff"`,
		"\"\x1f\"", "\"\n\"", "\"\x7f\"", "\"<>&'\u2028\"", `"\ud83d\ude00"`, `"\uD83D\uDE00"`, "\"😀\"", `"\ud83d"`, `"\ude00"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\ud83d\n"`, `"\ud83d\u0061"`, `"\ud83dx"`,
		"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xed\xa0\xbd\xed\xb8\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "\"e\u0301\"", "\"\u00e9\"",
		// names
		`{"b":1,"a":2}`, `{"a":1,"a":1}`, `{"a":1,"\u0061":1}`, `{"a":1,"b":1,"a":1}`, `{"x":{"a":1,"a":1}}`, `{"":1,"":2}`, `{"":1,"a":2}`, `{"a":{"a":{"a":1}}}`, `{"\ud83d":1}`, "{\"\xff\":1}", `{"\n":1,"\u000A":2}`,
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`, "{\"\uffff\":1,\"\ue000\":2,\"\U00010000\":3,\"\ud7ff\":4}", `{"a\\":1,"a\"":2,"a\n":3,"a ":4,"a\u0000":5,"a":6,"aa":7}`,
		`{"c":{"b":{"d":1,"c":2},"a":{"y":1,"z":2}},"b":[{"y":1,"x":2},{"x":1},{"b":[{"b":1,"a":{}}],"a":1}],"a":{}}`,
		// depth
		strings.Repeat("[", 512) + strings.Repeat("]", 512), strings.Repeat(`{"b":`, 511) + `{"b":1,"a":2}` + strings.Repeat(`,"a":0}`, 511),
	} {
		compareWithOracle(t, []byte(body))
	}
}

// Beyond 512 levels the two differ, and ours gives up.
func TestFingerprintOracleDepth(t *testing.T) {
	body := []byte(strings.Repeat("[", 513) + strings.Repeat("]", 513))
	if _, ok := jcsOracle(body); !ok {
		t.Error("jsontext refuses 513 levels: this test and the comment on jcsOracle are out of date")
	}
	if _, ok := fingerprint.Canonical(body); ok {
		t.Error("513 levels are accepted")
	}
}

// For random documents, many of them slightly broken, both implementations
// accept the same ones and write the same bytes.
func TestFingerprintOracleRandom(t *testing.T) {
	const documents = 10_000
	accepted := 0
	for seed := range uint64(documents) {
		g := jsonGenerator{rand.New(rand.NewPCG(seed, 8785))}
		body := []byte(g.value(6))
		if seed%2 == 1 {
			body = g.damage(body)
		}
		if compareWithOracle(t, body) {
			accepted++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if accepted < documents/3 || accepted > documents*9/10 {
		t.Errorf("%d of %d documents are valid: the generator tests one side only", accepted, documents)
	}
}

// jsonGenerator writes JSON with random spelling. Its alphabet is small, so that
// two names in an object are often the same, or the same but for an escape.
type jsonGenerator struct{ *rand.Rand }

func (g jsonGenerator) value(depth int) string {
	kind := g.IntN(8)
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return g.pick("true", "false", "null")
	case 1:
		return g.number()
	case 2, 3:
		return g.text(4)
	case 4:
		return g.list("[", "]", func() string { return g.value(depth - 1) })
	default:
		return g.list("{", "}", func() string {
			return g.text(6) + g.space() + ":" + g.space() + g.value(depth-1)
		})
	}
}

func (g jsonGenerator) list(first, last string, element func() string) string {
	n := g.IntN(5)
	if g.IntN(20) == 0 {
		n = g.IntN(60) // long lists take other ways through sorting
	}
	elements := make([]string, n)
	for i := range elements {
		elements[i] = g.space() + element() + g.space()
	}
	return first + strings.Join(elements, ",") + g.space() + last
}

func (g jsonGenerator) number() string {
	return g.pick("", "-") + g.pick("0", "1", "10", "9007199254740993", fmt.Sprint(g.Uint64())) +
		g.pick("", "", ".0", ".50", fmt.Sprintf(".%d", g.Uint32())) + g.pick("", "", "e5", "E+05", "e-400", "E400")
}

func (g jsonGenerator) text(most int) string {
	var out strings.Builder
	out.WriteByte('"')
	for range g.IntN(most + 1) {
		out.WriteString(g.pick("a", "b", "A", "0", " ", "/", "\x7f", "é", "€", "\ud7ff", "\ue000", "\ufb33", "\uffff", "😀", "\U00010000",
			`\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`, `\u0000`, `\u000A`, `\u001f`, `\u0022`, `\u005C`, `\u0061`, `\u007f`,
			`\u00E9`, `\ud7ff`, `\uE000`, `\uFFFF`, `\ud83d\ude00`, `\uD800\uDC00`))
	}
	out.WriteByte('"')
	return out.String()
}

func (g jsonGenerator) space() string { return g.pick("", "", "", "", " ", "\n", "\t\r\n  ") }

func (g jsonGenerator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

// damage changes one place: a byte or an escape put in, taken out, or replaced.
func (g jsonGenerator) damage(body []byte) []byte {
	at := g.IntN(len(body))
	end := at + g.IntN(2)
	insert := g.pick("", "", `"`, `\`, ",", ":", "{", "}", "[", "]", "0", "-", ".", "e", "u", " ", "\x00", "\t", "\xff", "\xed\xa0\x80",
		`\ud83d`, `\ude00`, `\x`, "\u2028", "a", "\ufeff")
	return slices.Concat(body[:at], []byte(insert), body[end:])
}
