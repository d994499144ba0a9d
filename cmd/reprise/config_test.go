package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ensure that every mistake in flags, variables and file is named at once, and stops the start as a wrong use.
func TestConfigurationMistakesAreNamedAtOnce(t *testing.T) {
	file := writeFile(t, "listen: 8080\nlease_default: 30s\nlimits:\n  key: many\n  lease_max: ''\n")
	o := runProgram(t, []string{"REPRISE_LISTN=:1", "REPRISE_POOL_SIZE=0", "REPRISE_AUTH_AUDIENCE=", "REPRISE_CONFIG=" + file},
		"serve", "--drain-delay", "soon")
	if o.code != exitUsage {
		t.Errorf("got exit code %d, want %d", o.code, exitUsage)
	}
	for _, want := range []string{
		`no setting "lease_default"`, file + ": limits.key: \"many\"", file + ": limits.lease_max: is empty",
		"REPRISE_LISTN: there is no such setting", `REPRISE_POOL_SIZE: "0"`, "REPRISE_AUTH_AUDIENCE: is empty",
		`--drain-delay: "soon"`,
	} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("the message lacks %q:\n%s", want, o.stderr)
		}
	}
}

// Ensure that mistakes that no single setting shows are named too.
func TestConfigurationThatDoesNotFitTogether(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"no port":                       {[]string{"REPRISE_LISTEN=localhost"}, "listen: \"localhost\" is not HOST:PORT"},
		"unknown database":              {[]string{"REPRISE_DATABASE_URL=mysql://x"}, "database_url: must be sqlite:FILE or postgres://"},
		"slashes before a file":         {[]string{"REPRISE_DATABASE_URL=sqlite:///x.db"}, "sqlite:FILE"},
		"an empty name of a file":       {[]string{"REPRISE_CONFIG="}, "REPRISE_CONFIG: is empty"},
		"a port that is no setting":     {[]string{"REPRISE_PORT=8080"}, "REPRISE_PORT: there is no such setting"},
		"postgres without a key":        {[]string{"REPRISE_DATABASE_URL=postgres://h/d"}, "REPRISE_AUTH_HS256_SECRET"},
		"a short secret":                {[]string{"REPRISE_AUTH_HS256_SECRET=short"}, "shorter than 32 bytes"},
		"no such key file":              {[]string{"REPRISE_AUTH_PUBLIC_KEY_FILE=" + missing}, missing},
		"secret and public key":         {[]string{secretVar, "REPRISE_AUTH_PUBLIC_KEY_FILE=" + writeFile(t, "x")}, "auth"},
		"JWKS":                          {[]string{"REPRISE_AUTH_JWKS_URL=https://issuer.test/keys"}, "not supported by this version"},
		"default lease over the most":   {[]string{"REPRISE_LIMITS_LEASE_DEFAULT=2h"}, "limits.lease_default: 2h0m0s is not within limits.lease_min"},
		"body over the request's limit": {[]string{"REPRISE_LIMITS_REQUEST_BODY=1000"}, "limits.request_body"},
		"no such file":                  {[]string{"REPRISE_CONFIG=" + missing}, missing},
	} {
		t.Run(name, func(t *testing.T) {
			o := runProgram(t, c.env, "config", "print")
			if o.code != exitUsage || !strings.Contains(o.stderr, c.want) {
				t.Errorf("got %d %q, want a wrong use that says %q", o.code, o.stderr, c.want)
			}
		})
	}
}

// Ensure that a flag overrules a variable, a variable the file, and the file the default.
func TestConfigurationOrder(t *testing.T) {
	file := writeFile(t, "listen: 127.0.0.1:1\npool_size: 3\nlimits:\n  key: 101\n")
	o := runProgram(t, []string{"REPRISE_LISTEN=127.0.0.1:2", "REPRISE_POOL_SIZE=4"}, "config", "print", "--config", file, "--listen", "127.0.0.1:3")
	for _, want := range []string{`listen: "127.0.0.1:3"`, `pool_size: "4"`, `key: "101"`, `subject: "200"`} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("the configuration lacks %s:\n%s%s", want, o.stdout, o.stderr)
		}
	}
}

// Ensure that what config print writes can be read again, and shows no secret.
func TestConfigPrint(t *testing.T) {
	env := []string{secretVar, "REPRISE_DATABASE_URL=postgres://u:hidden-password@h/d", "REPRISE_LIMITS_KEY=77"}
	first := runProgram(t, env, "config", "print")
	if first.code != exitOK || strings.Contains(first.stdout, "hidden-password") || strings.Contains(first.stdout, "0123456789abcdef") {
		t.Fatalf("got %d %s%s", first.code, first.stdout, first.stderr)
	}
	again := runProgram(t, env[:2], "config", "print", "--config", writeFile(t, first.stdout))
	if again.stdout != first.stdout {
		t.Errorf("read again it differs:\n%s\n%s%s", first.stdout, again.stdout, again.stderr)
	}
	for _, s := range settings {
		if !strings.Contains(first.stdout, s.env()) {
			t.Errorf("%s is not listed", s.env())
		}
	}
}

// Ensure that the variables which Kubernetes gives a pod beside a service called reprise are no mistakes.
func TestVariablesOfKubernetes(t *testing.T) {
	env := []string{"REPRISE_SERVICE_HOST=10.0.0.1", "REPRISE_SERVICE_PORT=8080", "REPRISE_PORT=tcp://10.0.0.1:8080",
		"REPRISE_PORT_8080_TCP=tcp://10.0.0.1:8080", "REPRISE_PORT_8080_TCP_ADDR=10.0.0.1", "REPRISE_PORT_8080_TCP_PROTO=tcp",
		"REPRISE_POSTGRES_SERVICE_HOST=10.0.0.2", "REPRISE_POSTGRES_SERVICE_PORT_PG=5432", "REPRISE_POSTGRES_PORT=tcp://10.0.0.2:5432"}
	if o := runProgram(t, env, "config", "print"); o.code != exitOK {
		t.Errorf("got %d %s", o.code, o.stderr)
	}
}

// Ensure that a wrong use of any command is told from a failure.
func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"serv"}, {"serve", "now"}, {"serve", "--no-such-flag"}, {"migrate"}, {"migrate", "down"}, {"config"}, {"token"}} {
		if o := runProgram(t, []string{"REPRISE_DATA_DIR=" + dataDir(t)}, args...); o.code != exitUsage || o.stderr == "" {
			t.Errorf("%v: got %d %q, want %d and a message", args, o.code, o.stderr, exitUsage)
		}
	}
}

// Ensure that what a command does not know is answered with where to read what it does.
func TestWrongUsePointsToTheHelp(t *testing.T) {
	for help, all := range map[string][][]string{
		"reprise --help":                 {{"serv"}, {"--no-such-flag"}},
		"reprise serve --help":           {{"serve", "now"}, {"serve", "--no-such-flag"}, {"serve", "-x"}, {"serve", "--listen"}, {"serve", "--ephemeral=often"}},
		"reprise migrate --help":         {{"migrate", "down"}},
		"reprise migrate up --help":      {{"migrate", "up", "--to=1"}, {"migrate", "up", "1"}},
		"reprise completion bash --help": {{"completion", "bash", "zsh"}, {"completion", "bash", "--no-such-flag"}},
	} {
		for _, args := range all {
			if o := runProgram(t, nil, args...); o.code != exitUsage || o.stdout != "" || !strings.HasSuffix(o.stderr, "; see: "+help+"\n") {
				t.Errorf("%v: got %d %q %q, want a wrong use that points to %s", args, o.code, o.stdout, o.stderr, help)
			}
		}
	}
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
