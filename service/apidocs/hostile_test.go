package apidocs_test

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/reprise-idempotency/reprise/service/apidocs"
)

// hostile is text that would be something else if it were taken for HTML, in each place where text can be.
const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"><a href='javascript:alert(3)'>&lt;b&gt;`

// places are where a description has text.
var places = []string{"About.", "Keys.", "Do it", "Does it.", "It is wrong", "It is done.", "Names it.", "How large.", "A part.", "Its parts.",
	"title: Bad", "advice: none", "meaning: It is bad.", "action: Mend it.", "wrong}", "/v1/thing:", "type: integer, minimum", "        thing:", "application/json:\n            schema"}

// Ensure that text of the description is text on the pages, wherever it stands: no element, attribute or address is made
// of it.
func TestTextIsText(t *testing.T) {
	plain, err := apidocs.New([]byte(small), version)
	if err != nil {
		t.Fatal(err)
	}
	quoted := strings.ReplaceAll(hostile, "'", "''")
	for _, place := range places {
		key, value, isPair := strings.Cut(place, ": ")
		changed := "'" + quoted + "'"
		switch {
		case place == "/v1/thing:":
			changed = "'/" + quoted + "':"
		case place == "        thing:":
			changed = "        '" + quoted + "':"
		case strings.HasPrefix(place, "application/json:"):
			changed = strings.Replace(place, "application/json", "'"+quoted+"'", 1)
		case place == "type: integer, minimum":
			changed = "type: '" + quoted + "', minimum"
		case place == "It is wrong":
			changed = `"` + strings.ReplaceAll(hostile, `"`, `\"`) + `"` + " #"
		case place == "wrong}":
			changed += "}"
		case isPair && value != "":
			changed = key + ": " + changed
		}
		p, err := apidocs.New(replaced(t, place, changed), version)
		if err != nil {
			t.Errorf("%s: %v", place, err)
			continue
		}
		shown := false
		for _, path := range []string{"/docs", "/docs/api", "/docs/problems", "/docs/problems/bad"} {
			got, want := read(t, p, path), read(t, plain, path)
			if a, b := skeleton(got), skeleton(want); a != b {
				t.Errorf("%s: %s has other elements:\n%s\nwithout the text:\n%s", place, path, a, b)
			}
			shown = shown || strings.Contains(text(got), "<script>alert(1)</script>")
		}
		if !shown {
			t.Errorf("%s: the text is on no page", place)
		}
	}
}

// skeleton gives the elements of a page with the names of their attributes, and where links lead, but not what was told:
// marks within the text, and anchors by the name of a field.
func skeleton(page *html.Node) string {
	var b strings.Builder
	for _, e := range all(page, "") {
		b.WriteString(e.Data)
		for _, a := range e.Attr {
			b.WriteString(" " + a.Key)
			if a.Key == "href" && !strings.HasPrefix(a.Val, "#thing-") && !strings.HasPrefix(a.Val, "#type-") {
				b.WriteString("=" + a.Val)
			}
		}
		b.WriteString("\n")
	}
	return codeMarks.ReplaceAllString(b.String(), "")
}

var codeMarks = regexp.MustCompile(`(?m)^a href=problems/bad\ncode\n`)

// Ensure that the little Markdown of descriptions becomes elements, and that a mark which is none stays text.
func TestMarkup(t *testing.T) {
	const about = "'One `code` and *stress*, **Weight.** Proxy-* and 2 * 3 * 4, RFC 9457.\n\n\n" +
		"    - a\n\n    - b\n\n\n    | h | k |\n\n    |---|---|\n\n    | `x` | y |'"
	p, err := apidocs.New(replaced(t, "About.", about), version)
	if err != nil {
		t.Fatal(err)
	}
	section := byID(read(t, p, "/docs/api"), "about")
	for element, want := range map[string]string{"code": "code", "em": "stress", "strong": "Weight.", "a": "RFC 9457", "li": "a", "th": "h", "td": "x"} {
		if found := all(section, element); len(found) == 0 || text(found[0]) != want {
			t.Errorf("the first %s of %q is not %q", element, text(section), want)
		}
	}
	if got := text(section); !strings.Contains(got, "Proxy-* and 2 * 3 * 4,") || strings.Contains(got, "---") {
		t.Errorf("the text is %q", got)
	}
	if got := attribute(all(section, "a")[0], "href"); got != "https://www.rfc-editor.org/rfc/rfc9457" {
		t.Errorf("the link leads to %s", got)
	}
}
