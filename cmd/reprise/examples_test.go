package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// example is a program of docs/examples/http, which charges once. A file stands for the provider: each line is a charge.
type example struct {
	language string // as the blocks of docs/http.md are marked
	tool     string // without which it cannot run
	run      string // what runs it, with flags
	file     string // in docs
}

// Java compiles the file at each run: javac tells that it can. The flags make that quicker.
var examples = []example{
	{"python", "python3", "python3", "examples/http/python/charge.py"},
	{"js", "node", "node", "examples/http/node/charge.mjs"},
	{"java", "javac", "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "examples/http/java/Charge.java"},
}

// requireExamples is a variable that makes a missing language a failure.
const requireExamples = "REPRISE_REQUIRE_EXAMPLES"

// eachExample runs a test with each example whose language is on this machine.
func eachExample(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	for _, e := range examples {
		t.Run(e.language, func(t *testing.T) {
			switch _, err := exec.LookPath(e.tool); {
			case err == nil:
			case os.Getenv(requireExamples) != "":
				t.Fatalf("%v, and %s is set", err, requireExamples)
			default:
				t.Skipf("SKIPPING the example in %s: %v", e.language, err)
			}
			t.Parallel()
			service, _ := serveEphemeral(t)
			test(t, &shop{e, service.Address, service.Token, filepath.Join(t.TempDir(), "charges.log")})
		})
	}
}

// shop is where an example runs: with a service, at the address at which it sees it, and a file for the charges.
type shop struct {
	example
	url, token, charges string
}

// command is a run of the example, as docs/http.md shows it.
func (s *shop) command(ctx context.Context, key, amount string, env ...string) *exec.Cmd {
	words := append(strings.Fields(s.example.run), filepath.Join(root, "docs", s.file), key, amount)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "KEYS_URL="+s.url, "KEYS_TOKEN="+s.token, "CHARGES_FILE="+s.charges)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// output gives what a run prints. One that has a result ends with 0 and prints that alone; else it ends with 1 and says why.
func (s *shop) output(t *testing.T, key, amount string, env ...string) string {
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
	defer cancel()
	cmd := s.command(ctx, key, amount, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if failed := errors.As(err, &exit) && exit.ExitCode() == 1; err != nil && !failed || failed == (stderr.Len() == 0) {
		t.Errorf("%v, after %q and %q", err, &stdout, &stderr)
	}
	return strings.TrimSpace(stdout.String() + stderr.String())
}

// wantRun runs the example and compares how what it prints begins.
func (s *shop) wantRun(t *testing.T, key, amount, want string, env ...string) {
	t.Helper()
	if got := s.output(t, key, amount, env...); !strings.HasPrefix(got, want) {
		t.Errorf("%s for %s: got %q, want %q", amount, key, got, want)
	}
}

// charged counts the charges of all runs.
func (s *shop) charged(t *testing.T) int {
	t.Helper()
	log, err := os.ReadFile(s.charges)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	return bytes.Count(log, []byte("\n"))
}

func (s *shop) wantCharged(t *testing.T, want int) {
	t.Helper()
	if got := s.charged(t); got != want {
		t.Errorf("got %d charges, want %d", got, want)
	}
}

// start begins a run whose charge takes a while, and waits until it has charged.
func (s *shop) start(t *testing.T, key, amount string, env ...string) *exec.Cmd {
	t.Helper()
	before, cmd := s.charged(t), s.command(t.Context(), key, amount, env...)
	cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(hang); s.charged(t) == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it has not charged within %s", hang)
		}
	}
	return cmd
}
