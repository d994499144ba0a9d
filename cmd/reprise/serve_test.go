package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

const secretVar = "REPRISE_AUTH_HS256_SECRET=0123456789abcdef0123456789abcdef"

// Ensure that the service runs without configuration: on SQLite, with a secret that only its owner may read.
func TestServeWithoutConfiguration(t *testing.T) {
	dir := dataDir(t)
	s := serve(t, nil, "--data-dir", dir)
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/openapi.yaml": 200, "/": 404} {
		if status, body := get(t, s.url+path); status != want {
			t.Errorf("%s: got %d, want %d: %s", path, status, want, body)
		}
	}
	if _, body := get(t, s.url+"/openapi.yaml"); body != string(reprise.OpenAPI) {
		t.Error("/openapi.yaml is not the file of the repository")
	}
	for file, want := range map[string]os.FileMode{secretFile: 0o600, "reprise.db": 0o600, ".": 0o700 | os.ModeDir} {
		info, err := os.Stat(filepath.Join(dir, file))
		if err != nil {
			t.Error(err)
		} else if info.Mode() != want {
			t.Errorf("%s: got mode %v, want %v", file, info.Mode(), want)
		}
	}
	status, body := post(t, s.url+"/v1/keys/reserve", token(t, nil, "--data-dir", dir), `{"operation":"o","key":"k","fingerprint":"f"}`)
	if status != 201 {
		t.Errorf("reserve: got %d %s", status, body)
	}
	if o := s.stop(); o.code != exitOK {
		t.Errorf("stop: got %d %s", o.code, o.stderr)
	}
}

// Ensure that who serves everybody with a development secret is warned, and told an address that can be used.
func TestServeToEverybodyWithADevelopmentSecret(t *testing.T) {
	const warning = "is a development secret"
	everybody := serve(t, nil, "--data-dir", dataDir(t), "--listen", "0.0.0.0:0").stop()
	if !strings.Contains(everybody.stderr, warning) || !strings.Contains(everybody.stdout, "http://localhost:") {
		t.Errorf("got %s%s, want a warning and localhost", everybody.stderr, everybody.stdout)
	}
	for name, s := range map[string]*served{"loopback": serve(t, nil, "--data-dir", dataDir(t)), "own secret": serve(t, []string{secretVar}, "--data-dir", dataDir(t), "--listen", "0.0.0.0:0")} {
		if o := s.stop(); strings.Contains(o.stderr, warning) {
			t.Errorf("%s: warned: %s", name, o.stderr)
		}
	}
}

// Ensure that keys survive a restart on both stores.
func TestRestartKeepsKeys(t *testing.T) {
	for store, configured := range stores(t) {
		t.Run(store, func(t *testing.T) {
			env := configured(t)
			const name = `{"operation":"o","key":"k"`
			s := serve(t, env)
			jwt := token(t, env)
			status, body := post(t, s.url+"/v1/keys/reserve", jwt, name+`,"fingerprint":"f","attempt_id":"attempt-1"}`)
			if status != 201 {
				t.Fatalf("reserve: %d %s", status, body)
			}
			s.stop()
			s = serve(t, env)
			again, repeated := post(t, s.url+"/v1/keys/reserve", jwt, name+`,"fingerprint":"f","attempt_id":"attempt-1"}`)
			if again != 201 || lease(repeated) != lease(body) {
				t.Errorf("the repeated reserve after a restart: got %d %s, want the lease of %s", again, repeated, body)
			}
		})
	}
}

// stores gives, for each backend, a way to a configuration with its tables made.
func stores(t *testing.T) map[string]func(t *testing.T) []string {
	t.Helper()
	return map[string]func(t *testing.T) []string{
		"sqlite": func(t *testing.T) []string { return []string{secretVar, "REPRISE_DATA_DIR=" + dataDir(t)} },
		"postgres": func(t *testing.T) []string {
			env := []string{secretVar, "REPRISE_DATABASE_URL=" + pgtest.URL(t)}
			if o := runProgram(t, env, "migrate", "up"); o.code != exitOK {
				t.Fatalf("migrate up: %s", o.stderr)
			}
			return env
		},
	}
}

// lease cuts the lease token out of an answer.
func lease(body string) string {
	_, rest, _ := strings.Cut(body, `"lease":{"token":"`)
	token, _, _ := strings.Cut(rest, `"`)
	return token
}

// Ensure that a service that goes down finishes a request that is under way.
func TestGoingDownFinishesRequests(t *testing.T) {
	dir := dataDir(t)
	s := serve(t, nil, "--data-dir", dir)
	reader, body := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/keys/reserve", reader)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token(t, nil, "--data-dir", dir))
	r.Header.Set("Expect", "100-continue") // the body is asked for once the request is in the handler's hands
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: hang}}
	defer client.CloseIdleConnections()
	answered := make(chan int, 1)
	go func() {
		resp, err := client.Do(r)
		if err != nil {
			answered <- 0
			return
		}
		defer resp.Body.Close()
		answered <- resp.StatusCode
	}()
	write(t, body, `{"operation":"o",`) // the request is under way
	stopped := make(chan outcome, 1)
	go func() { stopped <- s.stop() }()
	for !strings.Contains(s.stderr.String(), "going down") {
		runtime.Gosched()
	}
	write(t, body, `"key":"k","fingerprint":"f"}`)
	body.Close()
	if got := <-answered; got != 201 {
		t.Errorf("the request that was under way: got %d, want 201", got)
	}
	if o := <-stopped; o.code != exitOK {
		t.Errorf("stop: got %d %s", o.code, o.stderr)
	}
}

func write(t *testing.T, w io.Writer, s string) {
	t.Helper()
	if _, err := io.Copy(w, bytes.NewBufferString(s)); err != nil {
		t.Fatal(err)
	}
}

// Ensure that a misspelt path is not served as an empty store.
func TestServeOnAMissingFolder(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "mising", "x.db")
	o := runProgram(t, []string{secretVar}, "serve", "--listen", "127.0.0.1:0", "--database-url", "sqlite:"+missing)
	if o.code != exitFailure || !strings.Contains(o.stderr, missing) {
		t.Errorf("got %d %s, want a failure that names the file", o.code, o.stderr)
	}
}

// Ensure that an address that is taken is named, with the way out.
func TestServeOnATakenAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	o := runProgram(t, nil, "serve", "--listen", taken.Addr().String(), "--data-dir", dataDir(t))
	if o.code != exitFailure || !strings.Contains(o.stderr, taken.Addr().String()) || !strings.Contains(o.stderr, "--listen") {
		t.Errorf("got %d %s", o.code, o.stderr)
	}
}

// Ensure that serve refuses a Postgres that only a person can mend: without tables, one that acknowledges what it has not
// written, and one that refuses the login; and that it says how to mend each.
func TestServeRefusesAnUnfitPostgres(t *testing.T) {
	url := pgtest.URL(t)
	for name, c := range map[string]struct{ url, want string }{
		"no tables":              {url, "reprise migrate up"},
		"no such role":           {regexp.MustCompile(`//[^@]*@`).ReplaceAllString(url, "//nobody:x@"), "refuses the login"},
		"synchronous_commit off": {url + "&synchronous_commit=off", "take it out of the database URL"},
	} {
		t.Run(name, func(t *testing.T) {
			o := runProgram(t, []string{secretVar}, "serve", "--listen", "127.0.0.1:0", "--database-url", c.url)
			if o.code != exitFailure || !strings.Contains(o.stderr, c.want) {
				t.Errorf("got %d %q, want a failure that says %q", o.code, o.stderr, c.want)
			}
		})
	}
}

// Ensure that the service starts before its database: alive, not ready, and granting nothing.
func TestServeBeforeItsDatabase(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := nobody.Addr().String()
	nobody.Close()
	env := []string{secretVar, "REPRISE_DATABASE_URL=postgres://u:hidden-password@" + address + "/db"}
	s := serve(t, env)
	if status, _ := get(t, s.url+"/livez"); status != 200 {
		t.Errorf("livez: got %d", status)
	}
	if status, body := get(t, s.url+"/readyz"); status != 503 || !strings.Contains(body, "store_unavailable") {
		t.Errorf("readyz: got %d %s", status, body)
	}
	status, body := post(t, s.url+"/v1/keys/reserve", token(t, env), `{"operation":"o","key":"k","fingerprint":"f"}`)
	if status != 503 || !strings.Contains(body, "store_unavailable") {
		t.Errorf("reserve: got %d %s", status, body)
	}
	if o := s.stop(); strings.Contains(o.stderr, "hidden-password") {
		t.Errorf("the log shows the password of the database: %s", o.stderr)
	}
}
