package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mutant is one way to break one file.
type mutant struct {
	name     string
	file     string
	old, new string   // old occurs once in the file
	tests    []string // packages whose tests are to notice, the quickest first
}

// limit ends tests that hang on a mutant, which is one way to notice it.
const limit = 5 * time.Minute

// try runs the tests on the broken code, and says which one noticed; nothing when none did.
func (m mutant) try(ctx context.Context) (noticed string, err error) {
	overlay, remove, err := m.overlay()
	if err != nil {
		return "", err
	}
	defer remove()
	if out, err := goCommand(ctx, "build", "-overlay", overlay, "./cmd/..."); err != nil {
		return "", fmt.Errorf("it does not build: %w\n%s", err, out)
	}
	for _, pkg := range m.tests {
		if out, err := goCommand(ctx, "test", "-overlay", overlay, "-run", "^$", pkg); err != nil {
			return "", fmt.Errorf("its tests do not build: %w\n%s", err, out)
		}
		out, err := goTest(ctx, pkg, "-overlay", overlay)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			return pkg + ": " + firstFailure(out), nil
		}
	}
	return "", nil
}

// overlay writes the broken file, and the note that tells the go command to take it in place of the right one.
func (m mutant) overlay() (path string, remove func(), err error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", nil, err
	}
	if n := bytes.Count(source, []byte(m.old)); n != 1 {
		return "", nil, fmt.Errorf("%q occurs %d times in %s, want once", m.old, n, m.file)
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	original, err := filepath.Abs(m.file)
	broken := filepath.Join(dir, filepath.Base(m.file))
	path = filepath.Join(dir, "overlay.json")
	note, err2 := json.Marshal(map[string]any{"Replace": map[string]string{original: broken}})
	err = errors.Join(err, err2,
		os.WriteFile(broken, bytes.Replace(source, []byte(m.old), []byte(m.new), 1), 0o600),
		os.WriteFile(path, note, 0o600))
	if err != nil {
		remove()
	}
	return path, remove, err
}

func healthy(ctx context.Context, chosen []mutant) error {
	var packages []string
	for _, m := range chosen {
		packages = append(packages, m.tests...)
	}
	slices.Sort(packages)
	for _, pkg := range slices.Compact(packages) {
		if out, err := goTest(ctx, pkg); err != nil {
			return fmt.Errorf("the tests of %s fail without any mutant: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

// goTest runs without the race detector: the mutants break rules, not locks.
func goTest(ctx context.Context, pkg string, more ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return goCommand(ctx, append(append([]string{"test", "-short", "-count=1", "-failfast"}, more...), pkg)...)
}

func goCommand(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	// A property test that fails is not to leave its case in the tree, nor to spend minutes on making it smaller.
	cmd.Env = append(os.Environ(), "REPRISE_REQUIRE_POSTGRES=1", "RAPID_NOFAILFILE=true", "RAPID_SHRINKTIME=1s")
	cmd.WaitDelay = 10 * time.Second // a child of the test that lives on keeps its output open
	return cmd.CombinedOutput()
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// firstFailure names the innermost test that failed.
func firstFailure(out []byte) string {
	var names []string
	for _, match := range failure.FindAllSubmatch(out, -1) {
		names = append(names, string(match[1]))
	}
	if len(names) == 0 {
		return "it did not end well: " + strings.TrimSpace(string(out[:min(len(out), 200)]))
	}
	return slices.MaxFunc(names, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
}
