package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// root is the folder of the repository.
var root = filepath.Join("..", "..")

// pages gives README and all pages of docs by their paths from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("pages of docs: got %v, %v", paths, err)
	}
	for _, path := range append(paths, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// blocks gives the fenced blocks of a page that are marked as one language.
func blocks(page, language string) (texts []string) {
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?\n)```$").FindAllStringSubmatch(page, -1) {
		texts = append(texts, m[1])
	}
	return texts
}

// languages are those that blocks of pages may be marked as. Only sh is pasted into a shell: other names of a shell would
// be passed over in silence.
var languages = regexp.MustCompile("^(sh|text|yaml|json|sql|python|js|java|go|promql)$")

// Ensure that every block of every page says what it is, so that no line for a shell is left out.
func TestBlocksOfPagesAreMarked(t *testing.T) {
	for name, page := range pages(t) {
		for i, fence := range regexp.MustCompile("(?m)^\\s*```(.*)$").FindAllStringSubmatch(page, -1) {
			if opens := i%2 == 0; opens && !languages.MatchString(fence[1]) || !opens && fence[1] != "" {
				t.Errorf("%s: a block is marked as %q", name, fence[1])
			}
		}
	}
}

// promised is what a page says of the answer to a call, behind it: a status, and a part of the answer.
var promised = regexp.MustCompile(`(?m) # ([1-5]\d\d) (.+)$`)

// Ensure that the lines of every page for a shell work, pasted one block after the other into one shell beside a service,
// and that each call is answered with what stands behind it, on each store.
func TestPagesCanBePasted(t *testing.T) {
	for name, page := range pages(t) {
		lines := strings.Join(blocks(page, "sh"), "")
		for store, configured := range stores(t) {
			if lines == "" || store == "postgres" && !promised.MatchString(lines) {
				continue // nothing that depends on the store
			}
			t.Run(name+"/"+store, func(t *testing.T) {
				t.Parallel()
				pastePage(t, lines, configured)
			})
		}
	}
}

func pastePage(t *testing.T, lines string, configured func(*testing.T) []string) {
	for _, tool := range []string{"curl", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil && strings.Contains(lines, tool) {
			t.Skipf("SKIPPED: there is no %s on this machine, and the page uses it", tool)
		}
	}
	env := configured(t)
	s := serve(t, env)
	lines = strings.NewReplacer("http://127.0.0.1:8080", s.url, "go run ./cmd/reprise", "reprise", "bin/reprise", "reprise").Replace(lines)
	if database := regexp.MustCompile(`postgres://[^\s'"]+`); database.MatchString(lines) {
		lines = database.ReplaceAllLiteralString(lines, pgtest.URL(t))
	}
	answers := regexp.MustCompile(`(?m)^(\{.*\}) (\d{3})$`).FindAllStringSubmatch(typed(t, lines, s.url, env), -1)
	wanted := promised.FindAllStringSubmatch(lines, -1)
	if len(wanted) == 0 {
		return // the page says nothing that could be compared
	}
	if len(answers) != len(wanted) {
		t.Fatalf("got %d answers, and the page has %d:\n%s", len(answers), len(wanted), answers)
	}
	for i, want := range wanted {
		if got := answers[i]; got[2] != want[1] || !strings.Contains(got[1], want[2]) {
			t.Errorf("answer %d: got %s, and the page says%s", i+1, got[0], want[0])
		}
	}
}

// typed gives what a shell prints when lines are typed into it, beside a service.
func typed(t *testing.T, lines, url string, env []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", lines)
	cmd.Dir = t.TempDir()
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "REPRISE_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.Env = append(cmd.Env, "PATH="+programsOfPages(t)+":"+os.Getenv("PATH"), asProgram+"="+onPage,
		"REPRISE_LISTEN="+strings.TrimPrefix(url, "http://"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, lines, out)
	}
	return string(out)
}

// programsOfPages gives a folder with the programs that pages call: reprise is this test binary, and make only looks
// whether there is such a target, because tests are what it would run.
func programsOfPages(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "reprise")); err != nil {
		t.Fatal(err)
	}
	makefile, err := filepath.Abs(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nfor target; do grep -q \"^$target:\" '%s' || { echo \"no target $target\" >&2; exit 2; }; done\n", makefile)
	if err := os.WriteFile(filepath.Join(dir, "make"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// onPage is the value of asProgram for a program that a page calls.
const onPage = "page"

// runOnPage is the program as a page calls it. What is started with serve takes connections, on a free port, and goes
// down: the lines after it are for another terminal.
func runOnPage() int {
	ctx, stop := context.WithTimeout(context.Background(), hang)
	defer stop()
	p := program{name: "reprise", args: os.Args[1:], env: os.Environ(), stdout: os.Stdout, stderr: os.Stderr}
	if len(p.args) == 0 || p.args[0] != "serve" {
		return p.run(ctx)
	}
	served := false
	p.args = append(p.args, "--listen", "127.0.0.1:0")
	p.onListen = func(string) { served = true; stop() }
	if code := p.run(ctx); code != exitOK || served {
		return code
	}
	return exitFailure
}
