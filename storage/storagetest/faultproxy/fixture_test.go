package faultproxy_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reprise-idempotency/reprise/storage/storagetest/faultproxy"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// hang is for hangs alone.
const hang = time.Minute

// lab is a database with a table of notes, seen past the proxy, and a proxy in front of it.
type lab struct {
	t        *testing.T
	proxy    *faultproxy.Proxy
	database string // the URL past the proxy
	url      string // the URL through it
	observer *pgx.Conn
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, database: pgtest.URL(t)}
	var err error
	if l.proxy, err = faultproxy.New(l.database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.proxy.Close() })
	if l.url, err = l.proxy.URL(l.database); err != nil {
		t.Fatal(err)
	}
	l.observer = l.dial(l.database, nil)
	l.exec(l.observer, "CREATE TABLE notes (note text PRIMARY KEY, data bytea)")
	return l
}

// on is the same lab for a part of its test.
func (l *lab) on(t *testing.T) *lab {
	part := *l
	part.t = t
	return &part
}

// ctx ends only with a hang.
func (l *lab) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	l.t.Cleanup(cancel)
	return ctx
}

// client is a connection through the proxy, and how many bytes came through.
type client struct {
	*pgx.Conn
	received atomic.Int64
	proxied  *faultproxy.Conn
}

// connect makes a client.
func (l *lab) connect() *client {
	l.t.Helper()
	c := &client{}
	c.Conn = l.dial(l.url, c.dial)
	for _, p := range l.proxy.Conns() {
		if p.PID() == int(c.PgConn().PID()) {
			c.proxied = p
		}
	}
	if c.proxied == nil {
		l.t.Fatalf("no connection of the proxy has the server's process %d", c.PgConn().PID())
	}
	return c
}

// dial dials once. pgx would dial again when its connection broke, to have the server cancel what it was doing there.
func (c *client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.Conn != nil {
		return nil, errors.New("nothing is cancelled")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return counted{conn, &c.received}, nil
}

// counted counts what is read.
type counted struct {
	net.Conn
	received *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

func (l *lab) dial(url string, by pgconn.DialFunc) *pgx.Conn {
	l.t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		l.t.Fatal(err)
	}
	if by != nil {
		config.DialFunc = by
	}
	conn, err := pgx.ConnectConfig(l.ctx(), config)
	if err != nil {
		l.t.Fatalf("connecting: %v", err)
	}
	l.t.Cleanup(func() { _ = conn.Close(l.ctx()) })
	return conn
}

func (l *lab) exec(conn *pgx.Conn, sql string, args ...any) {
	l.t.Helper()
	if _, err := conn.Exec(l.ctx(), sql, args...); err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
}

// note sends a note in one Query message, to which the server answers CommandComplete and ReadyForQuery.
func (l *lab) note(conn *pgx.Conn, note string) error {
	_, err := conn.PgConn().Exec(l.ctx(), "INSERT INTO notes VALUES ('"+note+"')").ReadAll()
	return err
}

// begin does something that has to wait.
func begin(act func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- act() }()
	return done
}

// wait waits for a signal.
func wait[T any](t *testing.T, what string, signal <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-signal:
	case <-time.After(hang):
		t.Fatalf("waited in vain: %s", what)
	}
	return got
}

// ask reads one value from the database, past the proxy.
func ask[T any](l *lab, sql string, args ...any) (value T) {
	l.t.Helper()
	if err := l.observer.QueryRow(l.ctx(), sql, args...).Scan(&value); err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
	return value
}

func (l *lab) stored(note string) bool {
	l.t.Helper()
	return ask[bool](l, "SELECT EXISTS (SELECT FROM notes WHERE note = $1)", note)
}

// sleeps waits until the server is at work on a call of pg_sleep.
func (l *lab) sleeps(pid int) {
	l.t.Helper()
	l.eventually("the server is at work", func() bool {
		return ask[bool](l, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep')", pid)
	})
}

// serverEnds waits until the process of the server is no more.
func (l *lab) serverEnds(pid int) {
	l.t.Helper()
	l.eventually("the server's process ends", func() bool {
		return !ask[bool](l, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", pid)
	})
}

// eventually asks until a condition holds.
func (l *lab) eventually(what string, holds func() bool) {
	l.t.Helper()
	for giveUp := time.Now().Add(hang); !holds(); {
		if time.Now().After(giveUp) {
			l.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// sqlState gives the code of an error that the server sent.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
