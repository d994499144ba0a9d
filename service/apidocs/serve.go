package apidocs

import (
	"bytes"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// policy lets a page load its stylesheet and its icon, and do nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP answers GET and HEAD for the paths under /docs.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		p.refuse(w, r, http.StatusMethodNotAllowed, "The pages can be read, and nothing else.")
		return
	}
	f, ok := p.files[r.URL.Path]
	if !ok {
		p.elsewhere(w, r)
		return
	}
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("ETag", f.etag)
	if isNamed(f.etag, r.Header.Values("If-None-Match")) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	send(w, r, http.StatusOK, f.contentType, f.body)
}

// elsewhere sends a reader who wrote a slash too many to the page, and tells others that there is none.
func (p *Pages) elsewhere(w http.ResponseWriter, r *http.Request) {
	without, slash := strings.CutSuffix(r.URL.Path, "/")
	if _, ok := p.files[without]; ok && slash {
		w.Header().Set("Location", "../"+path.Base(without)) // relative: what a proxy puts before the path stays
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	p.refuse(w, r, http.StatusNotFound, "There is no page at this address.")
}

// refuse answers with a page that links to the others, from wherever it is.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, status int, text string) {
	var body bytes.Buffer
	if err := missingPage.Execute(&body, p.view(r.URL.EscapedPath(), http.StatusText(status), text)); err != nil {
		http.Error(w, http.StatusText(status), status)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	send(w, r, status, "text/html; charset=utf-8", body.Bytes())
}

func send(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a reader who hung up needs no page
	}
}

// isNamed tells whether the lines of If-None-Match name an entity tag, or any (RFC 9110, section 13.1.2).
func isNamed(etag string, lines []string) bool {
	for _, line := range lines {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}
