package fingerprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// speller writes one random document many times: the seed of the structure is
// the same each time, the seed of the spelling is not.
type speller struct {
	structure, spelling *rand.Rand
	out                 strings.Builder
}

func spell(structure, spelling uint64) string {
	s := speller{structure: rand.New(rand.NewPCG(structure, 1)), spelling: rand.New(rand.NewPCG(spelling, 2))}
	s.out.WriteString(s.space() + s.value(5) + s.space())
	return s.out.String()
}

func (s *speller) space() string {
	return strings.Repeat(" \t\r\n", 2)[:s.spelling.IntN(3)]
}

func (s *speller) value(depth int) string {
	kind := s.structure.IntN(7)
	if depth == 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		return []string{"true", "false", "null"}[s.structure.IntN(3)]
	case 1:
		return []string{"0", "-0", "1.0", "1", "1e-400", "9007199254740993", "-1.5E+7"}[s.structure.IntN(7)]
	case 2:
		return s.text()
	case 3:
		elements := make([]string, s.structure.IntN(5))
		for i := range elements {
			elements[i] = s.space() + s.value(depth-1) + s.space()
		}
		return "[" + strings.Join(elements, ",") + s.space() + "]"
	default:
		members := make([]string, s.structure.IntN(8))
		for i := range members {
			name := s.text()
			name = name[:len(name)-1] + fmt.Sprint(i) + `"` // no name twice
			members[i] = s.space() + name + s.space() + ":" + s.space() + s.value(depth-1)
		}
		s.spelling.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return "{" + strings.Join(members, ",") + s.space() + "}"
	}
}

// text spells each code point as itself or as an escape.
func (s *speller) text() string {
	alphabet := []rune("aaab\x00\n\"\\/\x1f\x7fé€\ud7ff\ue000\ufb33\uffff😀\U00010000")
	var out strings.Builder
	out.WriteByte('"')
	for range s.structure.IntN(5) {
		r := alphabet[s.structure.IntN(len(alphabet))]
		must := r < 0x20 || r == '"' || r == '\\'
		switch {
		case !must && s.spelling.IntN(2) == 0:
			out.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&out, `\u%04X\u%04x`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		case s.spelling.IntN(2) == 0 && strings.ContainsRune("\"\\/", r):
			out.WriteString(`\` + string(r))
		case s.spelling.IntN(2) == 0:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\u%04X`, r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// All spellings of one document have one canonical form, and documents of
// another meaning have another.
func TestSpellings(t *testing.T) {
	meaning := map[string]any{}
	for structure := range uint64(1000) {
		first := spell(structure, 0)
		want, ok := Canonical([]byte(first))
		if !ok {
			t.Fatalf("refused: %s", first)
		}
		for spelling := range uint64(5) {
			body := spell(structure, spelling+1)
			if got, ok := Canonical([]byte(body)); !ok || !bytes.Equal(got, want) {
				t.Fatalf("Canonical(%q)\n is %q, %v,\nand for %q\n is %q", body, got, ok, first, want)
			}
		}
		value := decode(t, []byte(first))
		if other, seen := meaning[string(want)]; seen && !reflect.DeepEqual(value, other) {
			t.Fatalf("two documents are %q", want)
		}
		meaning[string(want)] = value
	}
}

func decode(t *testing.T, text []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // compares the text of numbers
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("encoding/json refuses %q: %v", text, err)
	}
	return value
}

// checkCanonical holds what must be true of every body.
func checkCanonical(t *testing.T, body []byte) {
	t.Helper()
	before := bytes.Clone(body)
	form, ok := Canonical(body)
	if !bytes.Equal(before, body) {
		t.Fatalf("the body was changed from %q to %q", before, body)
	}
	if !ok {
		return
	}
	if !utf8.Valid(body) || !json.Valid(body) {
		t.Fatalf("accepted, though not valid: %q", body)
	}
	if len(form) > len(body) {
		t.Fatalf("%q is longer than %q", form, body)
	}
	if again, ok := Canonical(form); !ok || !bytes.Equal(again, form) {
		t.Fatalf("the canonical form of %q is %q, %v", form, again, ok)
	}
	if !reflect.DeepEqual(decode(t, body), decode(t, form)) {
		t.Fatalf("%q does not mean what %q means", form, body)
	}
}

// Whatever the body: if it has a canonical form, the form is valid, means the
// same, and is its own canonical form.
func FuzzCanonical(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.request(f).Body)
	}
	for seed := range uint64(20) {
		f.Add([]byte(spell(seed, seed)))
	}
	f.Fuzz(checkCanonical)
}

// Whatever the bodies: as JSON they have one fingerprint exactly when they have
// one canonical form, or none and the same bytes.
func FuzzOf(f *testing.F) {
	f.Add([]byte(`{"b":1,"a":2}`), []byte(`{"a":2,"b":1}`))
	f.Add([]byte(`{"a":1,"a":2}`), []byte(`{"a":2}`))
	f.Add([]byte(`9007199254740993`), []byte(`9007199254740992`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		formA, okA := Canonical(a)
		formB, okB := Canonical(b)
		same := okA == okB && bytes.Equal(formA, formB) && (okA || bytes.Equal(a, b))
		if got := Of(jsonRequest(string(a))) == Of(jsonRequest(string(b))); got != same {
			t.Errorf("%q and %q: one fingerprint is %v, want %v", a, b, got, same)
		}
	})
}
