package apidocs_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise"
	"github.com/reprise-idempotency/reprise/service/apidocs"
)

const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var contentTypes = map[string]string{
	"/docs":                    "text/html; charset=utf-8",
	"/docs/api":                "text/html; charset=utf-8",
	"/docs/problems":           "text/html; charset=utf-8",
	"/docs/problems/uncertain": "text/html; charset=utf-8",
	"/docs/style.css":          "text/css; charset=utf-8",
	"/docs/icon.svg":           "image/svg+xml",
}

// Ensure that every page has the headers that keep a browser from loading or guessing anything, and may be cached.
func TestHeaders(t *testing.T) {
	for path, contentType := range contentTypes {
		w := ask(ours(t), "GET", path)
		for name, want := range map[string]string{"Content-Type": contentType, "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cache-Control": "public, max-age=300", "Content-Length": strconv.Itoa(w.Body.Len())} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if tag := w.Header().Get("ETag"); len(tag) < 18 || tag[0] != '"' || tag[len(tag)-1] != '"' {
			t.Errorf("%s: ETag is %s, want a strong one", path, tag)
		}
	}
}

// Ensure that a page which the reader has already is not sent again, and that any other tag has it sent.
func TestNotModified(t *testing.T) {
	for path := range contentTypes {
		tag := ask(ours(t), "GET", path).Header().Get("ETag")
		for lines, want := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200, strings.Trim(tag, `"`): 200, "": 200} {
			w := ask(ours(t), "GET", path, "If-None-Match", lines)
			if w.Code != want {
				t.Errorf("%s with If-None-Match %s: status %d, want %d", path, lines, w.Code, want)
			}
			if want == 304 && (w.Body.Len() != 0 || w.Header().Get("ETag") != tag || w.Header().Get("Content-Type") != "") {
				t.Errorf("%s: a 304 has %d bytes, ETag %s, Content-Type %q", path, w.Body.Len(), w.Header().Get("ETag"), w.Header().Get("Content-Type"))
			}
		}
		if w := ask(ours(t), "GET", path, "If-None-Match", `"x"`, "If-None-Match", tag); w.Code != 304 {
			t.Errorf("%s with two lines of If-None-Match: status %d, want 304", path, w.Code)
		}
	}
}

// Ensure that the tag of a page changes with what is on it.
func TestTagChangesWithThePage(t *testing.T) {
	other, err := apidocs.New(reprise.OpenAPI, "9.9.9")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := ask(ours(t), "GET", "/docs").Header().Get("ETag"), ask(other, "GET", "/docs").Header().Get("ETag"); a == b {
		t.Errorf("pages of two versions have the same tag %s", a)
	}
}

// Ensure that HEAD is answered as GET is, without the content.
func TestHead(t *testing.T) {
	for _, path := range []string{"/docs", "/docs/api", "/docs/style.css", "/docs/nowhere"} {
		get, head := ask(ours(t), "GET", path), ask(ours(t), "HEAD", path)
		if head.Code != get.Code || head.Body.Len() != 0 || head.Header().Get("Content-Length") != strconv.Itoa(get.Body.Len()) {
			t.Errorf("HEAD %s: status %d, %d bytes, Content-Length %s; GET: status %d, %d bytes", path, head.Code, head.Body.Len(),
				head.Header().Get("Content-Length"), get.Code, get.Body.Len())
		}
	}
}

// Ensure that other methods are refused with those that there are, by a page.
func TestOtherMethods(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
		for _, path := range []string{"/docs", "/docs/api", "/docs/nowhere"} {
			w := ask(ours(t), method, path)
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: status %d, Allow %q", method, path, w.Code, w.Header().Get("Allow"))
			}
		}
	}
}

// Ensure that an address without a page is a 404 by a page that links to the first one from wherever it is, is not kept by a
// cache, and shows nothing of the address.
func TestNoSuchPage(t *testing.T) {
	for _, path := range []string{"/docs/x", "/docs/api/x", "/docs/a/b/c", "/docs//api", "/docs/api//", "/docs/problems/no%2Fsuch", "/docs/problems/uncertain/x",
		"/docs/problems/%3Cscript%3E", "/docs/templates/frame.html", "/docs/../docs/api", "/docs/STYLE.css", "/docsx"} {
		w := ask(ours(t), "GET", path)
		if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || w.Header().Get("Cache-Control") != "no-store" ||
			w.Header().Get("Content-Security-Policy") != policy {
			t.Errorf("GET %s: status %d, %v", path, w.Code, w.Header())
		}
		c := crawler{t: t}
		links := map[string]bool{}
		for _, a := range all(parsed(t, w.Body.String()), "a") {
			links[c.resolve(strings.ReplaceAll(path, "%2F", "-"), attribute(a, "href")).Path] = true
		}
		if !links["/docs"] || !links["/docs/api"] {
			t.Errorf("GET %s: the page links to %v, want /docs and /docs/api among them", path, links)
		}
		if strings.Contains(w.Body.String(), "cript") {
			t.Errorf("GET %s: the address is on the page", path)
		}
	}
}

// Ensure that an address with many slashes is not answered with a page that grows with them.
func TestDeepAddress(t *testing.T) {
	if w := ask(ours(t), "GET", "/docs"+strings.Repeat("/", 30_000)); w.Code != 404 || w.Body.Len() > 4096 {
		t.Errorf("status %d, %d bytes, want 404 and at most 4096", w.Code, w.Body.Len())
	}
}

// Ensure that a slash too many leads to the page, by a relative address.
func TestTrailingSlash(t *testing.T) {
	for path, want := range map[string]string{"/docs/": "../docs", "/docs/api/": "../api", "/docs/problems/": "../problems", "/docs/problems/uncertain/": "../uncertain"} {
		if w := ask(ours(t), "GET", path); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != want {
			t.Errorf("GET %s: status %d, Location %q, want 301 and %q", path, w.Code, w.Header().Get("Location"), want)
		}
	}
}

// Ensure that the pages say which version of the service they are of.
func TestVersionIsShown(t *testing.T) {
	for _, path := range []string{"/docs", "/docs/api", "/docs/problems", "/docs/problems/uncertain"} {
		if got := text(read(t, ours(t), path)); !strings.Contains(got, version) {
			t.Errorf("%s does not show the version %s", path, version)
		}
	}
}
