package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// asProgram makes the test binary behave as the program itself: a child that a shell can call.
const asProgram = "REPRISE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "":
	case onPage:
		os.Exit(runOnPage())
	default:
		main()
		return
	}
	os.Exit(m.Run())
}

// hang bounds a wait that only ends so late when something is broken.
const hang = time.Minute

// outcome is what a run of the program left.
type outcome struct {
	code           int
	stdout, stderr string
}

// runProgram runs a command to its end, in an empty folder and with nothing but the given variables.
func runProgram(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := program{args: args, env: env, stdout: &stdout, stderr: &stderr}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	code := p.run(ctx)
	return outcome{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// served is a running service.
type served struct {
	url            string
	stdout, stderr *lockedBuffer
	stop           func() outcome // asks it to go down, as SIGTERM does, and waits
}

// serve starts the service on a free port and waits until it takes connections.
func serve(t *testing.T, env []string, args ...string) *served {
	t.Helper()
	stdout, stderr := &lockedBuffer{}, &lockedBuffer{}
	listening := make(chan string, 1)
	p := program{name: os.Args[0], args: append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), env: env, stdout: stdout, stderr: stderr,
		onListen: func(address string) { listening <- address }}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	go func() { done <- p.run(ctx) }()
	s := &served{stdout: stdout, stderr: stderr}
	s.stop = sync.OnceValue(func() outcome {
		cancel()
		return outcome{code: <-done, stdout: stdout.String(), stderr: stderr.String()}
	})
	t.Cleanup(func() { s.stop() })
	select {
	case address := <-listening:
		s.url = "http://" + address
	case code := <-done:
		t.Fatalf("serve ended with %d: %s", code, stderr)
	case <-time.After(hang):
		t.Fatal("serve does not listen")
	}
	return s
}

// get reads one path.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// post calls the API and gives status and body.
func post(t *testing.T, url, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// token makes a token for a service on the given data folder.
func token(t *testing.T, env []string, args ...string) string {
	t.Helper()
	o := runProgram(t, env, append([]string{"token", "--tenant", "acme"}, args...)...)
	if o.code != exitOK {
		t.Fatalf("token: %d %s", o.code, o.stderr)
	}
	return strings.TrimSpace(o.stdout)
}

func dataDir(t *testing.T) string { return filepath.Join(t.TempDir(), "data") }

// lockedBuffer may be read while the program writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
