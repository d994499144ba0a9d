package apidocs_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"golang.org/x/net/html"

	"github.com/reprise-idempotency/reprise"
	"github.com/reprise-idempotency/reprise/service/apidocs"
)

const version = "1.2.3-test"

// pages are those of openapi.yaml.
var pages = sync.OnceValues(func() (*apidocs.Pages, error) { return apidocs.New(reprise.OpenAPI, version) })

// described is openapi.yaml as another reader reads it.
var described = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(reprise.OpenAPI) })

func ours(t *testing.T) http.Handler {
	t.Helper()
	p, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func description(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// ask sends a request with header lines, given as pairs.
func ask(h http.Handler, method, path string, lines ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(lines); i += 2 {
		r.Header.Add(lines[i], lines[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// read gives a page that is there, taken apart.
func read(t *testing.T, h http.Handler, path string) *html.Node {
	t.Helper()
	w := ask(h, "GET", path)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: status %d, want 200", path, w.Code)
	}
	return parsed(t, w.Body.String())
}

func parsed(t *testing.T, page string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// all gives the elements of a name, in their order; of every name when it is empty.
func all(n *html.Node, name string) (found []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && (name == "" || d.Data == name) {
			found = append(found, d)
		}
	}
	return found
}

// byID gives the element of an id; nil when there is none.
func byID(n *html.Node, id string) *html.Node {
	for _, e := range all(n, "") {
		if attribute(e, "id") == id {
			return e
		}
	}
	return nil
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text gives what a reader reads, with single spaces.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// fieldNames gives the first column of the tables within an element.
func fieldNames(n *html.Node) (names []string) {
	for _, th := range all(n, "th") {
		if attribute(th, "scope") == "row" {
			for _, code := range all(th, "code") {
				names = append(names, text(code))
			}
		}
	}
	return names
}

// problemCodes gives all codes of the description, sorted.
func problemCodes(t *testing.T) (codes []string) {
	t.Helper()
	explained, ok := description(t).Extensions["x-problems"].(map[string]any)
	if !ok {
		t.Fatal("x-problems is no mapping")
	}
	for code := range explained {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}
