package apidocs_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/reprise-idempotency/reprise"
)

// service is what the pages are a part of: they link to openapi.yaml beside them.
func service(pages http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/docs", pages)
	mux.Handle("/docs/", pages)
	mux.HandleFunc("/openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(reprise.OpenAPI)
	})
	return mux
}

// Ensure that every link leads somewhere, to an anchor that is there where it names one, and that every page is reached
// from the first; also behind a proxy that puts a prefix before every path, and when a reader writes a slash too many.
func TestLinks(t *testing.T) {
	for _, start := range []string{"/docs", "/docs/", "/tools/reprise/docs", "/tools/reprise/docs/"} {
		handler := service(ours(t))
		if strings.HasPrefix(start, "/tools/reprise") {
			handler = http.StripPrefix("/tools/reprise", handler)
		}
		c := newCrawler(t, handler)
		c.visit(start)
		if want := len(problemCodes(t)) + 6; len(c.seen) != want { // index, API, problems, openapi.yaml, stylesheet, icon
			t.Errorf("from %s: %d addresses are reached, want %d", start, len(c.seen), want)
		}
	}
}

// crawler follows every link as a browser does.
type crawler struct {
	t       *testing.T
	handler http.Handler
	seen    map[string]*html.Node
	anchors map[string]map[string]bool // of each page
}

func newCrawler(t *testing.T, handler http.Handler) *crawler {
	return &crawler{t: t, handler: handler, seen: map[string]*html.Node{}, anchors: map[string]map[string]bool{}}
}

// visit reads a page, and what it links to, once.
func (c *crawler) visit(path string) {
	if _, ok := c.seen[path]; ok {
		return
	}
	w := ask(c.handler, "GET", path)
	if w.Code == http.StatusMovedPermanently {
		c.visit(c.resolve(path, w.Header().Get("Location")).Path)
		return
	}
	c.seen[path] = nil
	if w.Code != http.StatusOK {
		c.t.Errorf("GET %s: status %d, want 200", path, w.Code)
	}
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		return
	}
	page := parsed(c.t, w.Body.String())
	c.seen[path], c.anchors[path] = page, map[string]bool{}
	for _, e := range all(page, "") {
		c.anchors[path][attribute(e, "id")] = true
	}
	for _, e := range all(page, "") {
		for _, name := range []string{"href", "src"} {
			if link := attribute(e, name); link != "" {
				c.follow(path, link)
			}
		}
	}
}

func (c *crawler) follow(from, link string) {
	to := c.resolve(from, link)
	if to.Host != "" {
		return
	}
	c.visit(to.Path)
	if to.Fragment != "" && !c.anchors[to.Path][to.Fragment] {
		c.t.Errorf("%s: %s leads to an anchor that is not there", from, link)
	}
}

func (c *crawler) resolve(from, link string) *url.URL {
	to, err := url.Parse(link)
	if err != nil {
		c.t.Fatalf("%s: %v", from, err)
	}
	return (&url.URL{Path: from}).ResolveReference(to)
}

// rfc is the only other place that pages link to.
var rfc = regexp.MustCompile(`^https://www\.rfc-editor\.org/rfc/rfc[0-9]{3,5}$`)

// Ensure that the pages load nothing from elsewhere and run nothing: no script, no style of an element's own, no form or
// frame, and no address but relative ones and those of RFCs.
func TestPagesAreInert(t *testing.T) {
	c := newCrawler(t, service(ours(t)))
	c.visit("/docs")
	c.seen["missing"] = parsed(t, ask(ours(t), "GET", "/docs/nowhere").Body.String())
	for path, page := range c.seen {
		if page == nil {
			continue
		}
		for _, e := range all(page, "") {
			switch e.Data {
			case "script", "style", "form", "iframe", "object", "embed", "base", "svg", "input", "button":
				t.Errorf("%s has an element %s", path, e.Data)
			}
			for _, a := range e.Attr {
				link := a.Key == "href" || a.Key == "src"
				switch absolute := strings.Contains(a.Val, ":") || strings.HasPrefix(a.Val, "/"); {
				case a.Key == "style", strings.HasPrefix(a.Key, "on"):
					t.Errorf("%s: %s has an attribute %s", path, e.Data, a.Key)
				case link && absolute && !(e.Data == "a" && rfc.MatchString(a.Val)):
					t.Errorf("%s: %s leads to %s", path, e.Data, a.Val)
				}
			}
		}
	}
}

// Ensure that an id names one element of a page, so that an anchor leads to one place.
func TestAnchorsAreUnique(t *testing.T) {
	for _, path := range []string{"/docs", "/docs/api", "/docs/problems", "/docs/problems/uncertain"} {
		seen := map[string]bool{}
		for _, e := range all(read(t, ours(t), path), "") {
			id := attribute(e, "id")
			if id != "" && seen[id] {
				t.Errorf("%s: the id %s is there twice", path, id)
			}
			seen[id] = true
		}
	}
}

// Ensure that the stylesheet and the icon load nothing, and that every class of the pages is in the sheet.
func TestStylesheet(t *testing.T) {
	sheet := ask(ours(t), "GET", "/docs/style.css").Body.String()
	for _, text := range []string{sheet, ask(ours(t), "GET", "/docs/icon.svg").Body.String()} {
		for _, word := range []string{"url(", "@import", "script", "href"} {
			if strings.Contains(text, word) {
				t.Errorf("%q is in what pages load: %.60s", word, text)
			}
		}
	}
	classes := map[string]bool{}
	for _, path := range []string{"/docs", "/docs/api", "/docs/problems", "/docs/problems/uncertain"} {
		for _, e := range all(read(t, ours(t), path), "") {
			for _, class := range strings.Fields(attribute(e, "class")) {
				classes[class] = true
			}
		}
	}
	for class := range classes {
		if !regexp.MustCompile(`\.` + regexp.QuoteMeta(class) + `\b`).MatchString(sheet) {
			t.Errorf("the class %s is not in the stylesheet", class)
		}
	}
}
