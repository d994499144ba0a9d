package faultproxy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage/storagetest/faultproxy"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// Ensure that a URL leads through the proxy with everything else as it was, and without encryption.
func TestURL(t *testing.T) {
	p, err := faultproxy.New("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for given, want := range map[string]string{
		"postgres://u:p%40ss@db:6432/d?search_path=a,b&sslmode=require": "postgres://u:p%40ss@ADDR/d?search_path=a%2Cb&sslmode=disable",
		"postgresql://u@[::1]/d":                           "postgresql://u@ADDR/d?sslmode=disable",
		"postgres:///d?host=/run/pg&port=6&options=-c%20x": "postgres://ADDR/d?options=-c%20x&sslmode=disable",
	} {
		got, err := p.URL(given)
		if want = strings.ReplaceAll(want, "ADDR", p.Addr()); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", given, got, err, want)
		}
	}
}

// Ensure that what names no server, or several, is refused, without a word of the password.
func TestTargetsThatAreNone(t *testing.T) {
	for _, target := range []string{"", "db", "http://secret@db/", "postgres://u:secret@/d", "postgres://u:secret@%zz/d",
		"postgres://u:secret@/d?host=a,b"} {
		p, err := faultproxy.New(target)
		if err == nil {
			p.Close()
			t.Errorf("%q was taken for a server", target)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error tells the password: %v", target, err)
		}
	}
}

// Ensure that a server that listens on a Unix socket is reached.
func TestUnixSocket(t *testing.T) {
	folder, err := os.MkdirTemp("/tmp", "pg") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	server := pgtest.NewServer(t, pgtest.Setting("unix_socket_directories", folder))
	config, err := pgx.ParseConfig(server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := filepath.Glob(folder + "/.s.PGSQL.*[0-9]")
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets: got %v, %v; want one", sockets, err)
	}
	port := strings.TrimPrefix(filepath.Ext(sockets[0]), ".")
	l := &lab{t: t, database: "postgres://postgres:" + config.Password + "@/postgres?host=" + folder + "&port=" + port}
	if l.proxy, err = faultproxy.New(l.database); err != nil {
		t.Fatal(err)
	}
	defer l.proxy.Close()
	if l.url, err = l.proxy.URL(l.database); err != nil {
		t.Fatal(err)
	}
	l.observer = l.connect().Conn
	l.exec(l.observer, "CREATE TABLE notes (note text PRIMARY KEY)")
	for _, c := range cuts[:4] {
		c.fault.Reset = true
		l.cut(c, c.fault.At.String())
	}
}
