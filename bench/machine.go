package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// machine is what the benches run on: the built program and a Postgres of its own.
type machine struct {
	testing.TB // nil: stands in for the test that package pgtest serves; only what is below is ever called
	folder     string
	binary     string
	secret     string
	cluster    *pgtest.Server
	cleanups   []func()
}

type gaveUp struct{ error }

func (m *machine) Helper()                   {}
func (m *machine) Cleanup(f func())          { m.cleanups = append(m.cleanups, f) }
func (m *machine) Errorf(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
func (m *machine) Fatal(a ...any)            { panic(gaveUp{errors.New(fmt.Sprint(a...))}) }
func (m *machine) Fatalf(f string, a ...any) { panic(gaveUp{fmt.Errorf(f, a...)}) }
func (m *machine) Skipf(f string, a ...any)  { panic(gaveUp{fmt.Errorf(f, a...)}) }

// guarded turns what would end a test into an error.
func guarded(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case gaveUp:
			err = r
		default:
			panic(r)
		}
	}()
	return f()
}

func newMachine(ctx context.Context) (*machine, error) {
	folder, err := os.MkdirTemp("", "reprise-bench-")
	if err != nil {
		return nil, err
	}
	m := &machine{folder: folder, binary: filepath.Join(folder, "reprise"), secret: rand.Text() + rand.Text()}
	build := exec.CommandContext(ctx, "go", "build", "-o", m.binary, "github.com/reprise-idempotency/reprise/cmd/reprise")
	if out, err := build.CombinedOutput(); err != nil {
		m.close()
		return nil, fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return m, nil
}

func (m *machine) close() {
	for _, f := range slices.Backward(m.cleanups) {
		f()
	}
	os.RemoveAll(m.folder)
}

// postgres gives the address of a database with the tables, on a server that writes as production does.
func (m *machine) postgres(ctx context.Context) (string, error) {
	if m.cluster == nil {
		m.cluster = pgtest.NewServer(m, pgtest.Setting("fsync", "on"), pgtest.Setting("full_page_writes", "on"), pgtest.Setting("shared_buffers", "512MB"))
	}
	url := m.cluster.URL("postgres")
	out, err := m.command(ctx, "migrate", "up", "--database-url", url).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("making the tables: %w\n%s", err, out)
	}
	return url, nil
}

// command runs the program with our settings and none of the surroundings'.
func (m *machine) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.binary, args...)
	cmd.Dir = m.folder
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "REPRISE_") && !strings.HasPrefix(variable, "PG") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "REPRISE_AUTH_HS256_SECRET="+m.secret)
	return cmd
}

func (m *machine) token(ctx context.Context, tenant string) (string, error) {
	out, err := m.command(ctx, "token", "--tenant", tenant, "--scope", "keys:read keys:write keys:body", "--ttl", "2h").Output()
	return strings.TrimSpace(string(out)), err
}

// server is a running service.
type server struct {
	url string
	pid int
}

// serve starts the service on a database; it ends with the machine.
func (m *machine) serve(ctx context.Context, databaseURL string) (*server, error) {
	cmd := m.command(ctx, "serve", "--listen", "127.0.0.1:0", "--database-url", databaseURL, "--log-format", "json",
		"--limits-waiters-per-tenant", "2000") // a waiter takes its place before the one that it replaces has left
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	m.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var entry struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
			go func() {
				for lines.Scan() {
				}
			}()
			return &server{url: "http://" + entry.Address, pid: cmd.Process.Pid}, nil
		}
	}
	return nil, errors.New("the service ended at its start")
}

// client keeps a connection for each caller.
func client(callers int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConns: callers, MaxIdleConnsPerHost: callers, DisableCompression: true}}
}
