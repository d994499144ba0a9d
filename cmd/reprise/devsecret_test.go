package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ensure that who makes a token without a secret of a service is told how to come by one, and that none is made, which no
// service would know.
func TestNoTokenWithoutASecret(t *testing.T) {
	dir := dataDir(t)
	for _, args := range [][]string{{"token", "--tenant", "t"}, {"try"}} {
		o := runProgram(t, nil, append(args, "--data-dir", dir)...)
		if o.code != exitFailure || o.stdout != "" {
			t.Errorf("%v: got %v, want a failure", args, o)
		}
		for _, want := range []string{"no development secret in " + dir, "start reprise serve first", "--data-dir", "REPRISE_AUTH_HS256_SECRET"} {
			if !strings.Contains(o.stderr, want) {
				t.Errorf("%v: got %q, want %q in it", args, o.stderr, want)
			}
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the data folder is there after it: %v", err)
	}
}

// Ensure that a development secret that is damaged is refused by all who use it, with the name of the file and the way
// out, and that this way out works.
func TestADamagedDevelopmentSecret(t *testing.T) {
	dir := dataDir(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, secretFile)
	long := strings.Repeat("0123456789abcdef", 4)
	for name, content := range map[string]string{
		"nothing": "", "a blank line": strings.Repeat(" ", 64) + "\n", "half of it": long[:31], "zeros": strings.Repeat("\x00", 64),
		"a zero at its end": long + "\x00", "not UTF-8": long + "\xff", "two lines": long + "\n" + long,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"token", "--tenant", "t"}, {"serve", "--listen", "127.0.0.1:0"}, {"try"}} {
			o := runProgram(t, nil, append(args, "--data-dir", dir)...)
			if o.code != exitFailure || o.stdout != "" || !strings.Contains(o.stderr, "damaged") || !strings.Contains(o.stderr, "remove "+path) {
				t.Errorf("%s: %v: got %v, want a failure that says to remove %s", name, args, o, path)
			}
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil, "--data-dir", dir)
	if status, body := getAs(t, s.url+"/v1/stats", token(t, nil, "--data-dir", dir)); status != 200 {
		t.Errorf("after it was removed: got %d %s", status, body)
	}
}
