package fingerprint

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/quick"
)

func jsonRequest(body string) Request {
	return Request{Method: "POST", Target: "/v1/orders", ContentType: "application/json", Body: []byte(body)}
}

// A fingerprint has the form that is promised, so that it fits its column and
// passes its own check.
func TestForm(t *testing.T) {
	for _, r := range []Request{{}, jsonRequest(`{}`), jsonRequest(`{`)} {
		got := Of(r)
		if len(got) != 67 || !strings.HasPrefix(got, "v1:") || strings.Trim(got[3:], "0123456789abcdef") != "" {
			t.Errorf("Of(%+v) is %q", r, got)
		}
		if err := Validate(got); err != nil {
			t.Errorf("Validate refuses %q: %v", got, err)
		}
	}
}

// Every field counts: changing any one of them changes the fingerprint.
func TestEveryFieldCounts(t *testing.T) {
	base := Request{
		Method: "POST", Target: "/a", Headers: [][2]string{{"x", "1"}},
		ContentType: "text/plain", Body: []byte("b"),
	}
	changes := map[string]func(*Request){
		"method":       func(r *Request) { r.Method = "PATCH" },
		"target":       func(r *Request) { r.Target = "/a?" },
		"header name":  func(r *Request) { r.Headers = [][2]string{{"y", "1"}} },
		"header value": func(r *Request) { r.Headers = [][2]string{{"x", "2"}} },
		"no header":    func(r *Request) { r.Headers = nil },
		"content type": func(r *Request) { r.ContentType = "text/html" },
		"body":         func(r *Request) { r.Body = []byte("c") },
		"no body":      func(r *Request) { r.Body = nil },
	}
	for name, change := range changes {
		changed := base
		change(&changed)
		if Of(changed) == Of(base) {
			t.Errorf("%s: the fingerprint did not change", name)
		}
	}
}

// Absent and empty are the same in every field.
func TestAbsentIsEmpty(t *testing.T) {
	empty := Request{Headers: [][2]string{}, Body: []byte{}}
	if Of(empty) != Of(Request{}) {
		t.Error("an empty body or an empty list of headers differs from an absent one")
	}
}

// No byte can move from one part to the next: wherever a text is cut into
// fields, another cut is another request.
func TestPartsAreFramed(t *testing.T) {
	const text = "MTCNVBJ\x00\x00\x00\x01"
	seen := map[string][4]string{}
	for a := range len(text) + 1 {
		for b := a; b <= len(text); b++ {
			for c := b; c <= len(text); c++ {
				cut := [4]string{text[:a], text[a:b], text[b:c], text[c:]}
				got := Of(Request{
					Method: cut[0], Target: cut[1], Headers: [][2]string{{"n", cut[2]}}, Body: []byte(cut[3]),
				})
				if other, twice := seen[got]; twice {
					t.Fatalf("%q and %q have one fingerprint", other, cut)
				}
				seen[got] = cut
			}
		}
	}
}

// A header line is no pair of others, and a body is no header: for any texts,
// moving one to another place is another request.
func TestMovedTexts(t *testing.T) {
	property := func(a, b string) bool {
		requests := []Request{
			{Method: a, Target: b},
			{Headers: [][2]string{{a, b}}},
			{Headers: [][2]string{{a, b}, {a, b}}},
			{Headers: [][2]string{{a, ""}, {b, ""}}},
			{Headers: [][2]string{{"", a}, {"", b}}},
			{Target: a, Body: []byte(b)},
			{Method: a, Body: []byte(b)},
		}
		var prints []string
		for _, r := range requests {
			prints = append(prints, Of(r))
		}
		slices.Sort(prints)
		return a == "" || b == "" || lowerASCII(a) == lowerASCII(b) || len(slices.Compact(prints)) == len(requests)
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

// The order of lines counts within a name and not between names, so that a
// request that went through a map of headers is still the same.
func TestHeaderOrder(t *testing.T) {
	lines := [][2]string{{"B", "1"}, {"a", "1"}, {"b", "2"}, {"A", "2"}, {"c", ""}}
	want := Of(Request{Headers: lines})
	for _, same := range [][][2]string{
		{{"a", "1"}, {"a", "2"}, {"b", "1"}, {"b", "2"}, {"c", ""}},
		{{"C", ""}, {"b", "1"}, {"B", "2"}, {"a", "1"}, {"a", "2"}},
	} {
		if Of(Request{Headers: same}) != want {
			t.Errorf("%q differs from %q", same, lines)
		}
	}
	for _, other := range [][][2]string{
		{{"b", "2"}, {"a", "1"}, {"b", "1"}, {"a", "2"}, {"c", ""}},
		{{"b", "1"}, {"a", "1"}, {"b", "2"}, {"a", "2"}},
		{{"b", "1"}, {"a", "1"}, {"b", "2"}, {"a", "2"}, {"c", ""}, {"c", ""}},
	} {
		if Of(Request{Headers: other}) == want {
			t.Errorf("%q does not differ from %q", other, lines)
		}
	}
	if lines[0] != [2]string{"B", "1"} || lines[4] != [2]string{"c", ""} {
		t.Errorf("the caller's headers were changed to %q", lines)
	}
}

// Lines of one name keep their order however many there are: sorting a long
// list takes another way than sorting a short one.
func TestManyHeaderLines(t *testing.T) {
	var mixed, sorted [][2]string
	for i := range 100 {
		mixed = append(mixed, [2]string{"B", strconv.Itoa(i)}, [2]string{"a", strconv.Itoa(i)})
	}
	for _, name := range []string{"a", "b"} {
		for i := range 100 {
			sorted = append(sorted, [2]string{name, strconv.Itoa(i)})
		}
	}
	if Of(Request{Headers: mixed}) != Of(Request{Headers: sorted}) {
		t.Error("the order within a name was lost, or the order between names counts")
	}
}

// A body that is not strictly valid is itself and nothing that a lenient reader
// would make of it.
func TestRawIsNeverCanonical(t *testing.T) {
	duplicate := `{"a":1,"a":2}`
	for _, lenient := range []string{`{"a":1}`, `{"a":2}`, `{"a":2,"a":1}`, `{"a":1, "a":2}`} {
		if Of(jsonRequest(duplicate)) == Of(jsonRequest(lenient)) {
			t.Errorf("%s has the fingerprint of %s", duplicate, lenient)
		}
	}
}

// The content type decides about JSON as documented, and is hashed as
// documented.
func TestContentType(t *testing.T) {
	for _, test := range []struct {
		value, normal string
		isJSON        bool
	}{
		{"", "", false},
		{"application/json", "application/json", true},
		{" Application/JSON\t", "application/json", true},
		{"application/json;charset=UTF-8", "application/json", true},
		{`application/json ; charset="utf-8" `, "application/json", true},
		{"application/json; charset=utf-16", "application/json;charset=utf-16", true},
		{"application/json; charset=utf-8; v=1", "application/json;charset=utf-8; v=1", true},
		{"application/vnd.api+JSON; v=1", "application/vnd.api+json;v=1", true},
		{"application/json-seq", "application/json-seq", false},
		{"application/x-ndjson", "application/x-ndjson", false},
		{"text/json", "text/json", false},
		{"application/jsonp", "application/jsonp", false},
		{"application/json, application/json", "application/json, application/json", false},
		{"text/plain; x=application/json", "text/plain;x=application/json", false},
		{"Text/Plain; Charset=UTF-8", "text/plain;Charset=UTF-8", false},
		{"multipart/form-data; boundary=Ab", "multipart/form-data;boundary=Ab", false},
		{"application/\u212ason", "application/\u212ason", false},
	} {
		normal, isJSON := normalContentType(test.value)
		if normal != test.normal || isJSON != test.isJSON {
			t.Errorf("%q is hashed as %q, JSON: %v; want %q, %v", test.value, normal, isJSON, test.normal, test.isJSON)
		}
	}
}

// Many computations at once do not disturb each other through the memory that
// they share in turns, and what one request left there is not in the next one.
func TestConcurrentUse(t *testing.T) {
	bodies := []string{
		`{"b":1,"a":2}`, `{"a":`, `[{"z":[{"y":1,"x":2}],"a":0}]`, ``, `"text"`,
		`{"` + strings.Repeat("n", 100_000) + `":1,"a":2}`,
	}
	var want []string
	for _, body := range bodies {
		want = append(want, Of(jsonRequest(body)))
	}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 200 {
				n := (i*7 + worker) % len(bodies)
				if got := Of(jsonRequest(bodies[n])); got != want[n] {
					t.Errorf("body %d: %s, want %s", n, got, want[n])
				}
			}
		})
	}
	group.Wait()
}

// A caller's own fingerprint is accepted by its length and its bytes alone.
func TestValidate(t *testing.T) {
	for _, valid := range []string{"!", "~", "evt_1", strings.Repeat("x", 128), "v1:", `"{}\`} {
		if err := Validate(valid); err != nil {
			t.Errorf("Validate(%q) is %v", valid, err)
		}
	}
	for _, invalid := range []string{"", " ", "a b", "a\n", "\x00", "\x7f", "é", "\x80", strings.Repeat("x", 129)} {
		err := Validate(invalid)
		if err == nil {
			t.Errorf("Validate(%q) accepts it", invalid)
		} else if len(invalid) > 1 && strings.Contains(err.Error(), invalid) {
			t.Errorf("Validate(%q) repeats it: %v", invalid, err)
		}
	}
}
