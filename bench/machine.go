package main

import (
	"context"
	"net/http"
	"testing"

	"github.com/reprise-idempotency/reprise/storage/storagetest/lab"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// machine is what the benches run on: the built program, and what is to be ended with the bench.
type machine struct {
	*lab.Lab
	tb testing.TB
}

// withMachine builds the program, and ends afterwards whatever was started.
func withMachine(ctx context.Context, do func(*machine) error) error {
	l, err := lab.New(ctx, "bench")
	if err != nil {
		return err
	}
	defer l.Close()
	return lab.AsTest(func(tb testing.TB) error { return do(&machine{l, tb}) })
}

// database gives the address of a database with the tables, on a server that writes as production does.
func (m *machine) database(ctx context.Context) (string, error) {
	cluster, err := m.Postgres(ctx, m.tb, pgtest.Setting("shared_buffers", "512MB"))
	if err != nil {
		return "", err
	}
	return cluster.URL("postgres"), nil
}

// server is a running service.
type server struct {
	url string
	pid int
}

// serve starts the service on a database; it ends with the machine.
func (m *machine) serve(ctx context.Context, databaseURL string) (*server, error) {
	cmd := m.Command(ctx, "serve", "--listen", "127.0.0.1:0", "--database-url", databaseURL, "--log-format", "json",
		"--limits-waiters-per-tenant", "2000") // a waiter takes its place before the one that it replaces has left
	var s server
	service, err := lab.Start(cmd, func(url string) { s.url = url })
	if err != nil {
		return nil, err
	}
	m.tb.Cleanup(func() { _ = service.Stop() }) // what it did is measured by now
	s.pid = service.PID()
	return &s, service.Await(ctx)
}

// sharing puts all callers on as few connections as HTTP/2 needs.
func sharing() *http.Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: &protocols, DisableCompression: true}}
}

// client keeps a connection for each caller.
func client(callers int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConns: callers, MaxIdleConnsPerHost: callers, DisableCompression: true}}
}
