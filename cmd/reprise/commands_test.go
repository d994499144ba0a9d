package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// Ensure that token prints a token alone, which says what was asked for.
func TestToken(t *testing.T) {
	env := []string{secretVar, "REPRISE_AUTH_ISSUER=me", "REPRISE_AUTH_AUDIENCE=you", "REPRISE_AUTH_TENANT_CLAIM=org"}
	o := runProgram(t, env, "token", "--tenant", "acme", "--scope", "keys:read", "--ttl", "5m")
	if o.code != exitOK || strings.Count(o.stdout, "\n") != 1 || o.stderr != "" {
		t.Fatalf("got %d %q %q", o.code, o.stdout, o.stderr)
	}
	v, err := auth.NewVerifier(auth.Config{HS256Secret: []byte(strings.TrimPrefix(secretVar, "REPRISE_AUTH_HS256_SECRET=")),
		Issuer: "me", Audience: "you", TenantClaim: "org"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := v.Verify(strings.TrimSpace(o.stdout))
	if err != nil || p.Tenant() != "acme" || !p.Has(auth.KeysRead) || p.Has(auth.KeysWrite) {
		t.Errorf("got %v %v", p, err)
	}
}

// Ensure that token refuses what it cannot do, as a wrong use.
func TestTokenRefuses(t *testing.T) {
	for name, args := range map[string][]string{
		"no tenant":        {},
		"an unknown scope": {"--tenant", "t", "--scope", "keys:everything"},
		"no time":          {"--tenant", "t", "--ttl", "0s"},
	} {
		if o := runProgram(t, []string{secretVar}, append([]string{"token"}, args...)...); o.code != exitUsage || o.stdout != "" {
			t.Errorf("%s: got %d %q %q", name, o.code, o.stdout, o.stderr)
		}
	}
}

// Ensure that migrate can be repeated, shows how things stand, and prints the SQL of the database in question.
func TestMigrate(t *testing.T) {
	for store, configured := range stores(t) {
		t.Run(store, func(t *testing.T) {
			env := configured(t)
			first, again := runProgram(t, env, "migrate", "up"), runProgram(t, env, "migrate", "up")
			if first.code != exitOK || again.code != exitOK || !strings.Contains(again.stdout, "up to date") {
				t.Errorf("up twice: got %v and %v", first, again)
			}
			if o := runProgram(t, env, "migrate", "status"); !regexp.MustCompile(`00001_keys.sql applied 20`).MatchString(o.stdout) {
				t.Errorf("status: got %v", o)
			}
			printed := runProgram(t, env, "migrate", "print").stdout
			if !strings.Contains(printed, "CREATE TABLE reprise_keys") || strings.Contains(printed, "timestamptz") != (store == "postgres") {
				t.Errorf("print: got %s", printed)
			}
		})
	}
}

// Ensure that migrate status, asked about a database that is not there, says so and makes none.
func TestMigrateStatusMakesNoDatabase(t *testing.T) {
	dir := dataDir(t)
	file := filepath.Join(t.TempDir(), "other.db")
	for path, args := range map[string][]string{filepath.Join(dir, "reprise.db"): {"--data-dir", dir}, file: {"--database-url", "sqlite:" + file}} {
		o := runProgram(t, nil, append([]string{"migrate", "status"}, args...)...)
		if o.code != exitOK || !strings.Contains(o.stdout, "there is no database yet: "+path) || !strings.Contains(o.stdout, "\n00001_keys.sql pending\n") {
			t.Errorf("got %v, want that there is no %s yet, and what is pending", o, path)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there after it: %v", path, err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the data folder is there after it: %v", err)
	}
}

// Ensure that version says something of itself.
func TestVersion(t *testing.T) {
	if o := runProgram(t, nil, "version"); o.code != exitOK || !strings.HasPrefix(o.stdout, "reprise ") {
		t.Errorf("got %v", o)
	}
}

// Ensure that the lines which serve prints work when they are pasted into a shell, and that README shows the same ones
// and more that work.
func TestPrintedLinesWork(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	dir := t.TempDir()
	s := serve(t, nil, "--data-dir", filepath.Join(dir, "reprise-data"))
	printed := indented(s.stdout.String())
	out := paste(t, dir, printed)
	for _, want := range []string{`"state":"completed"`, "} 200\n", `"outcome":"replay"`, `"response":{"status":201,"body":"{\"id\":1}"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the printed lines lack %s:\n%s", want, out)
		}
	}
	first, second := readmeLines(t)
	asPrinted := strings.NewReplacer(s.url, "http://127.0.0.1:8080", os.Args[0], "go run ./cmd/reprise", " --data-dir '"+dir+"/reprise-data'", "").Replace(printed)
	if first != asPrinted {
		t.Errorf("README shows\n%s\nand serve prints\n%s", first, asPrinted)
	}
	out = paste(t, dir, printed+"\n"+second)
	for _, want := range []string{`"code":"fingerprint_mismatch"`, "} 422\n", `"outcome":"acquired"`, `"code":"in_progress"`, `"state":"in_progress"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the lines of README lack %s:\n%s", want, out)
		}
	}
}

// indented gives the lines to type.
func indented(s string) string {
	var lines []string
	for _, l := range strings.Split(s, "\n") {
		if typed, ok := strings.CutPrefix(l, "  "); ok {
			lines = append(lines, typed)
		}
	}
	return strings.Join(lines, "\n")
}

// readmeLines gives the two blocks of README that call the API.
func readmeLines(t *testing.T) (first, second string) {
	t.Helper()
	var calls []string
	for _, block := range blocks(pages(t)["README.md"], "sh") {
		if strings.Contains(block, "call ") {
			calls = append(calls, strings.TrimSuffix(block, "\n"))
		}
	}
	if len(calls) != 2 {
		t.Fatalf("README has %d blocks that call the API, want 2", len(calls))
	}
	return calls[0], calls[1]
}

// paste runs lines in a shell, in which this test binary is the program.
func paste(t *testing.T, dir, lines string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", lines)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, lines, out)
	}
	return string(out)
}

// Ensure that programs that start at once agree on one development secret, and that it stays.
func TestDevelopmentSecret(t *testing.T) {
	dir := dataDir(t)
	const programs = 16
	got := make(chan string, programs)
	for range programs {
		go func() {
			s, err := developmentSecret(dir)
			if err != nil {
				s = err.Error()
			}
			got <- s
		}()
	}
	want := <-got
	for range programs - 1 {
		if s := <-got; s != want || len(s) != 64 {
			t.Errorf("got %q and %q, want one secret of 64 digits", s, want)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, secretFile+"-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// Ensure that a development secret which others may read or write is not used: they could make tokens for any tenant.
func TestADevelopmentSecretThatOthersCanReadIsRefused(t *testing.T) {
	dir := dataDir(t)
	if _, err := developmentSecret(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, secretFile)
	for _, mode := range []os.FileMode{0o640, 0o602, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		o := runProgram(t, nil, "token", "--tenant", "t", "--data-dir", dir)
		if o.code != exitFailure || o.stdout != "" || !strings.Contains(o.stderr, path) {
			t.Errorf("mode %o: got %v, want a failure that names %s", mode, o, path)
		}
	}
}
