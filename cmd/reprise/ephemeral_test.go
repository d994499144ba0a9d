package main

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
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
func serveEphemeral(t *testing.T) (p printed, stop func() outcome) {
	t.Helper()
	return serveEphemeralIn(t, nil)
}

// serveEphemeralIn is serveEphemeral among variables.
func serveEphemeralIn(t *testing.T, env []string, args ...string) (p printed, stop func() outcome) {
	t.Helper()
	stdout, stderr := &lockedBuffer{}, &lockedBuffer{}
	ctx, cancel := context.WithCancel(context.Background())
	program := program{args: append([]string{"serve", "--ephemeral"}, args...), env: env, stdout: stdout, stderr: stderr}
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

// Ensure that an address which was asked for is taken by serve --ephemeral too, however that was said.
func TestServeEphemeralOnAnAddress(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for name, configured := range listening(t) {
		address := freeAddress(t)
		env, args := configured(address)
		p, stop := serveEphemeralIn(t, env, args...)
		if p.Address != "http://"+address {
			t.Errorf("%s: got %s, want http://%s", name, p.Address, address)
		}
		stop()
	}
}

// Ensure that serve --ephemeral takes no other port when the one that was asked for is the default one: it fails if that is
// taken, as any other.
func TestServeEphemeralOnTheDefaultAddress(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	address := defaultConfig().listen
	if taken, err := net.Listen("tcp", address); err == nil { // else somebody else has it, which is as good
		defer taken.Close()
	}
	for name, configured := range listening(t) {
		env, args := configured(address)
		o := runProgram(t, env, append([]string{"serve", "--ephemeral"}, args...)...)
		if o.code != exitFailure || o.stdout != "" || !strings.Contains(o.stderr, "listening on "+address) {
			t.Errorf("%s: got %d %q %q, want a failure that names %s", name, o.code, o.stdout, o.stderr, address)
		}
	}
}

// listening gives the ways to say where to listen.
func listening(t *testing.T) map[string]func(address string) (env, args []string) {
	return map[string]func(string) (env, args []string){
		"a flag":     func(address string) (env, args []string) { return nil, []string{"--listen", address} },
		"a variable": func(address string) (env, args []string) { return []string{"REPRISE_LISTEN=" + address}, nil },
		"a file": func(address string) (env, args []string) {
			return []string{"REPRISE_CONFIG=" + writeFile(t, "listen: "+address)}, nil
		},
	}
}

// Ensure that serve --ephemeral has a store and a secret of its own where a database is configured for others, be it one
// that needs a key to be configured, one that cannot be, or one in a file, which it leaves alone.
func TestServeEphemeralLeavesAConfiguredDatabaseAlone(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	others := t.TempDir()
	file := filepath.Join(others, "x.db")
	for name, env := range map[string][]string{
		"a server":                {"REPRISE_DATABASE_URL=postgres://u:p@127.0.0.1:1/db"},
		"a file":                  {"REPRISE_DATABASE_URL=sqlite:" + file},
		"a folder":                {"REPRISE_DATA_DIR=" + filepath.Join(others, "data")},
		"no database at all":      {"REPRISE_DATABASE_URL=", "REPRISE_DATA_DIR="},
		"one of another kind":     {"REPRISE_DATABASE_URL=mysql://h/d"},
		"in a configuration file": {"REPRISE_CONFIG=" + writeFile(t, "database_url: sqlite:"+file)},
	} {
		t.Run(name, func(t *testing.T) {
			p, stop := serveEphemeralIn(t, env)
			useAllScopes(t, p)
			if o := stop(); o.code != exitOK {
				t.Errorf("stop: got %d %s", o.code, o.stderr)
			}
		})
	}
	if made, err := os.ReadDir(others); err != nil || len(made) > 0 {
		t.Errorf("it made %v (%v), want nothing", made, err)
	}
}

// Ensure that serve --ephemeral refuses a database that it is asked to use and a key of somebody else, as a wrong use, and
// leaves nothing behind.
func TestServeEphemeralRefuses(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for name, c := range map[string]struct {
		env, args []string
		want      string
	}{
		"a file":       {nil, []string{"--database-url", "sqlite:" + filepath.Join(t.TempDir(), "x.db")}, "leave --database-url out"},
		"a server":     {[]string{secretVar}, []string{"--database-url", "postgres://u:p@127.0.0.1:1/db"}, "leave --database-url out"},
		"a public key": {[]string{"REPRISE_AUTH_PUBLIC_KEY_FILE=" + publicKeyFile(t)}, nil, "auth.public_key_file"},
	} {
		o := runProgram(t, c.env, append([]string{"serve", "--ephemeral"}, c.args...)...)
		if o.code != exitUsage || o.stdout != "" || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: got %d %q %q, want a wrong use that says %s", name, o.code, o.stdout, o.stderr, c.want)
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
