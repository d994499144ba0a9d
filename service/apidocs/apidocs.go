// Package apidocs makes pages for people of openapi.yaml: what Reprise is, every call, and what each problem means, under
// the addresses that a problem has as its type. The pages are made once, at the start, so that a description from which
// they cannot be made is found there. They have no script, load one stylesheet, and link to each other by relative
// addresses, so that they work behind a proxy that puts a prefix before their paths.
package apidocs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"strings"
)

// Pages are all pages under /docs, ready to be sent. They are an http.Handler.
type Pages struct {
	files   map[string]file // by path
	version string
}

// file is what is sent for a path.
type file struct {
	contentType string
	body        []byte
	etag        string
}

// New makes the pages. openapi is the text of openapi.yaml, version that of the service. The error names everything that
// is wrong with the description.
func New(openapi []byte, version string) (*Pages, error) {
	d, err := parse(openapi)
	if err != nil {
		return nil, err
	}
	p := &Pages{files: map[string]file{}, version: version}
	p.add(root+"/style.css", "text/css; charset=utf-8", stylesheet)
	p.add(root+"/icon.svg", "image/svg+xml", icon)
	for _, page := range pagesOf(d) {
		var body bytes.Buffer
		if err := page.template.Execute(&body, p.view(page.path, page.title, page.content)); err != nil {
			return nil, fmt.Errorf("page %s: %w", page.path, err)
		}
		p.add(page.path, "text/html; charset=utf-8", body.Bytes())
	}
	return p, nil
}

func (p *Pages) add(path, contentType string, body []byte) {
	sum := sha256.Sum256(body)
	p.files[path] = file{contentType: contentType, body: body, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// root is where the pages are.
const root = "/docs"

// page is a page to be made.
type page struct {
	path, title string
	template    *template.Template
	content     any
}

func pagesOf(d *document) []page {
	b := newBuilder(d)
	r := b.reference()
	all := []page{
		{root, "Reprise", indexPage, r},
		{root + "/api", "API reference", apiPage, r},
		{root + "/problems", "Problems", problemsPage, b.problems("problems/", "api")},
	}
	for _, v := range b.problems("", "../api") {
		all = append(all, page{root + "/problems/" + v.Code, v.Code, problemPage, v})
	}
	return all
}

// view is what every template is given.
type view struct {
	Root    string // leads from the page to the root of the service
	Path    string
	Title   string
	Version string
	Content any
}

func (p *Pages) view(path, title string, content any) view {
	return view{Root: up(path), Path: path, Title: title, Version: p.version, Content: content}
}

// deepest is how far up a page leads; no page is there, and an answer must not grow with the slashes that somebody sends.
const deepest = 16

// up leads from a path to the root, as a browser resolves it: by its slashes.
func up(path string) string {
	if n := strings.Count(path, "/"); n <= deepest {
		return strings.Repeat("../", max(0, n-1))
	}
	return "/"
}
