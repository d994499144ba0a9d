package main

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// printed is the line of serve --ephemeral.
type printed struct{ Address, Tenant, Token string }

// serveEphemeral starts the service as a test suite in another language does: it reads the one line that it prints.
func serveEphemeral(t *testing.T, args ...string) (p printed, stop func() outcome) {
	t.Helper()
	stdout, stderr := &lockedBuffer{}, &lockedBuffer{}
	ctx, cancel := context.WithCancel(context.Background())
	program := program{args: append([]string{"serve", "--ephemeral"}, args...), stdout: stdout, stderr: stderr}
	done := make(chan int, 1)
	go func() { done <- program.run(ctx) }()
	stop = sync.OnceValue(func() outcome {
		cancel()
		return outcome{<-done, stdout.String(), stderr.String()}
	})
	t.Cleanup(func() { stop() })
	for deadline := time.Now().Add(hang); !strings.Contains(stdout.String(), "\n"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) || len(done) > 0 {
			t.Fatalf("it prints nothing: %s", stderr)
		}
	}
	decoder := json.NewDecoder(strings.NewReader(stdout.String()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil || strings.Count(stdout.String(), "\n") != 1 {
		t.Fatalf("it printed %q (%v), want one line of JSON", stdout, err)
	}
	return p, stop
}

// Ensure that serve --ephemeral serves on a free port when it prints its line, that its token may do everything, and that
// nothing is left of it at the end.
func TestServeEphemeral(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	p, stop := serveEphemeral(t)
	other, stopOther := serveEphemeral(t) // beside it
	if address, err := url.Parse(p.Address); err != nil || address.Hostname() != "127.0.0.1" || address.Port() == "8080" || p.Address == other.Address {
		t.Errorf("got the addresses %s and %s, want free ports of 127.0.0.1", p.Address, other.Address)
	}
	folders, err := filepath.Glob(filepath.Join(temporary, "*"))
	if err != nil || len(folders) != 2 {
		t.Fatalf("got the folders %v (%v), want one for each", folders, err)
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: got %v, %v, want a folder for its owner alone", folder, info.Mode(), err)
		}
	}
	useAllScopes(t, p)
	if status, _ := post(t, other.Address+"/v1/keys/lookup", p.Token, `{"operation":"o","key":"k"}`); status != 401 {
		t.Errorf("a token is good for another service too: got %d", status)
	}
	for _, stop := range []func() outcome{stop, stopOther} {
		if o := stop(); o.code != exitOK {
			t.Errorf("stop: got %d %s", o.code, o.stderr)
		}
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// useAllScopes makes a call of each scope.
func useAllScopes(t *testing.T, p printed) {
	t.Helper()
	const name = `{"operation":"o","key":"k"`
	call := func(path, body string) string {
		t.Helper()
		status, answer := post(t, p.Address+path, p.Token, body)
		if status/100 != 2 {
			t.Fatalf("%s: got %d %s", path, status, answer)
		}
		return answer
	}
	token := lease(call("/v1/keys/reserve", name+`,"fingerprint":"f"}`))
	call("/v1/keys/complete", name+`,"lease_token":"`+token+`","response":{"status":201,"body":"made"}}`)
	found := call("/v1/keys/lookup", name+`}`)
	if !strings.Contains(found, `"body":"made"`) || !strings.Contains(found, `"tenant":"`+p.Tenant+`"`) {
		t.Errorf("lookup: got %s, want the response and the tenant %s", found, p.Tenant)
	}
	_, rest, _ := strings.Cut(found, `"version":"`)
	version, _, _ := strings.Cut(rest, `"`)
	call("/v1/admin/keys/expire", name+`,"version":"`+version+`","reason":"a test"}`)
	for _, path := range []string{"/v1/keys", "/v1/stats", "/v1/admin/audit", "/v1/keys?tenant=somebody-else"} {
		if status, body := getAs(t, p.Address+path, p.Token); status != 200 {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
}

// Ensure that an address which was asked for is taken by serve --ephemeral too.
func TestServeEphemeralOnAnAddress(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	address := freeAddress(t)
	p, _ := serveEphemeral(t, "--listen", address)
	if p.Address != "http://"+address {
		t.Errorf("got %s, want http://%s", p.Address, address)
	}
}

// Ensure that serve --ephemeral refuses a database and a key of somebody else, as a wrong use, and leaves nothing behind.
func TestServeEphemeralRefuses(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for name, c := range map[string]struct{ env, want string }{
		"a file":       {"REPRISE_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "x.db"), "database_url"},
		"a server":     {"REPRISE_DATABASE_URL=postgres://u:p@127.0.0.1:1/db", "database_url"},
		"a public key": {"REPRISE_AUTH_PUBLIC_KEY_FILE=" + publicKeyFile(t), "auth.public_key_file"},
	} {
		env := []string{c.env}
		if name == "a server" {
			env = append(env, secretVar)
		}
		if o := runProgram(t, env, "serve", "--ephemeral"); o.code != exitUsage || o.stdout != "" || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: got %d %q %q, want a wrong use that names %s", name, o.code, o.stdout, o.stderr, c.want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "reprise-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// publicKeyFile makes a file with the key of an issuer.
func publicKeyFile(t *testing.T) string {
	t.Helper()
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
}

// getAs reads one path with a token.
func getAs(t *testing.T, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}
