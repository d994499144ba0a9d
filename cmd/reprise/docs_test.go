package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Ensure that every page, and every place in a page, that a page of the repository leads to is there.
func TestLinksOfPages(t *testing.T) {
	all := pages(t)
	for name, page := range all {
		for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(page, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			path, place, _ := strings.Cut(link[1], "#")
			target := name
			if path != "" {
				target = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s leads to %s: %v", name, link[1], err)
			} else if place != "" && !strings.Contains(headings(all[target]), "\n"+place+"\n") {
				t.Errorf("%s leads to %s, which has no such heading", name, link[1])
			}
		}
	}
}

// headings gives the names of places in a page, a line each, as they are made of its headings.
func headings(page string) string {
	places := "\n"
	for _, h := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		place := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(h[1]), "")
		places += strings.ReplaceAll(place, " ", "-") + "\n"
	}
	return places
}

// Ensure that every test that a page names, as `package: name`, is there.
func TestTestsThatPagesName(t *testing.T) {
	named := 0
	for name, page := range pages(t) {
		for _, m := range regexp.MustCompile("`(?:\\./)?([a-z][a-z/]*): ([A-Za-z]\\w+)(?:/\\w+/(\\w+))?[`/]").FindAllStringSubmatch(page, -1) {
			dir := filepath.Join(root, m[1])
			if _, err := os.Stat(dir); err != nil && !strings.HasPrefix(m[2], "Test") {
				continue // it is something else
			}
			named++
			if !defined(t, dir, m[2]) {
				t.Errorf("%s names %s in %s, which is not there", name, m[2], m[1])
			}
			if m[2] == "TestConformance" && m[3] != "" && !defined(t, filepath.Join(root, "storage", "storagetest"), m[3]) {
				t.Errorf("%s names the promise %s, which is not there", name, m[3])
			}
		}
	}
	if named < 100 {
		t.Errorf("pages name %d tests: the form in which they do must have changed", named)
	}
}

// defined tells whether a package has a function.
func defined(t *testing.T, dir, function string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+function+"(") {
			return true
		}
	}
	return false
}
