package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// httpPage is docs/http.md.
func httpPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// Ensure that the lines of docs/http.md, pasted into a shell one block after the other, are answered as the page says.
func TestLinesOfTheHTTPPage(t *testing.T) {
	s, _ := serveEphemeral(t)
	var lines []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)\n```").FindAllStringSubmatch(httpPage(t), -1) {
		lines = append(lines, block[1])
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.Join(lines, "\necho\n"))
	cmd.Env = append(os.Environ(), "URL="+s.Address, "TOKEN="+s.Token)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for what, want := range map[string]string{
		"the replay":        `"outcome":"replay"`,
		"its body":          `"body":"{\"id\":1}"`,
		"the checkpoint":    `"checkpoint":{"seq":1,"data":"file written"}`,
		"the hold":          `"on_lapse":"hold"`,
		"the lookup":        `"resource_id":"payout-7"`,
		"the release":       `"last_error":"the bank is closed"`,
		"the batch":         `{"results":[{"status":201`,
		"the list":          `{"keys":[{"tenant":"test","operation":"payout"`,
		"the empty list":    `{"keys":[]}`,
		"the stats":         `"completed":{"count":2,"at_least":false}`,
		"a second in batch": `"key":"m-2"`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is missing: %s\n%s", what, want, out)
		}
	}
	if refused := regexp.MustCompile(`(?m) [45]\d\d$`).FindAllString(string(out), -1); refused != nil {
		t.Errorf("some lines were refused: %v\n%s", refused, out)
	}
}

// Ensure that each example program does the work once: a second run replays it, and one with another request is told so.
func TestExamplePrograms(t *testing.T) {
	s, _ := serveEphemeral(t)
	for _, e := range []struct{ program, file string }{{"python3", "charge.py"}, {"node", "charge.mjs"}, {"java", "Charge.java"}} {
		t.Run(e.program, func(t *testing.T) {
			if _, err := exec.LookPath(e.program); err != nil {
				t.Skipf("SKIPPED: there is no %s on this machine", e.program)
			}
			if !strings.Contains(httpPage(t), "examples/http/"+e.file) {
				t.Errorf("the page does not lead to %s", e.file)
			}
			for _, run := range []struct{ amount, want string }{{"100", "done charged 100"}, {"100", "replayed charged 100"}, {"999", "fingerprint_mismatch"}} {
				cmd := exec.CommandContext(t.Context(), e.program, filepath.Join("..", "..", "docs", "examples", "http", e.file),
					s.Address, s.Token, "key-of-"+e.program, run.amount)
				out, err := cmd.CombinedOutput()
				if err != nil || !strings.HasPrefix(string(out), run.want) {
					t.Errorf("got %s (%v), want %s", out, err, run.want)
				}
			}
		})
	}
}

// Ensure that every page that a page of the repository leads to is there.
func TestLinksOfThePages(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`).FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s leads to %s: %v", page, link[1], err)
			}
		}
	}
}
