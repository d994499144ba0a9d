package pgtest

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Ensure that a stopped server refuses connections, and comes back at the same address with its data.
func TestStopAndStart(t *testing.T) {
	server := NewServer(t)
	database := server.URL("postgres")
	before := connect(t, database)
	run(t, before, "CREATE TABLE t AS SELECT 1")
	pid := server.PID()

	server.Stop()
	if _, err := before.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a connection survived the stop")
	}
	if _, err := pgx.Connect(t.Context(), database); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connecting to a stopped server: got %v, want %v", err, syscall.ECONNREFUSED)
	}

	server.Start()
	after := connect(t, server.URL("postgres"))
	if got := query[int](t, after, "SELECT count(*) FROM t"); got != 1 {
		t.Errorf("rows: got %d, want 1", got)
	}
	if server.PID() == pid {
		t.Errorf("process id %d did not change", pid)
	}
	if strings.Contains(server.Log(), "not properly shut down") {
		t.Error("the server recovered as after a crash")
	}
}

// Ensure that an immediate stop is a crash: what was committed is recovered, what was not is lost.
func TestStopImmediate(t *testing.T) {
	server := NewServer(t)
	before := connect(t, server.URL("postgres"))
	run(t, before, "CREATE TABLE t AS SELECT 1")
	run(t, before, "BEGIN")
	run(t, before, "INSERT INTO t VALUES (2)")

	server.StopImmediate()
	if _, err := before.Exec(t.Context(), "COMMIT"); err == nil {
		t.Error("a connection survived the stop")
	}

	server.Start()
	after := connect(t, server.URL("postgres"))
	if got := query[int](t, after, "SELECT count(*) FROM t"); got != 1 {
		t.Errorf("rows: got %d, want 1", got)
	}
	if !strings.Contains(server.Log(), "not properly shut down") {
		t.Error("the server shut down in order")
	}
}

// Ensure that a paused server is silent, and answers the waiting query once it is resumed.
func TestPauseAndResume(t *testing.T) {
	server := NewServer(t)
	waiting := connect(t, server.URL("postgres"))
	server.Pause()

	answer := make(chan error, 1)
	go func() {
		_, err := waiting.Exec(context.Background(), "SELECT 1")
		answer <- err
	}()
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := pgx.Connect(short, server.URL("postgres")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("connecting to a paused server: got %v, want %v", err, context.DeadlineExceeded)
	}
	select {
	case err := <-answer:
		t.Errorf("a paused server answered: %v", err)
	default:
	}

	server.Resume()
	if err := <-answer; err != nil {
		t.Errorf("the query that waited: %v", err)
	}
	run(t, connect(t, server.URL("postgres")), "SELECT 1")
}

// Ensure that settings reach the server and beat the defaults.
func TestSetting(t *testing.T) {
	server := NewServer(t, Setting("fsync", "on"), Setting("log_statement", "all"))
	conn := connect(t, server.URL("postgres"))
	if got := query[string](t, conn, "SHOW fsync"); got != "on" {
		t.Errorf("fsync: got %s, want on", got)
	}
	if !strings.Contains(server.Log(), "SHOW fsync") {
		t.Errorf("the statement is not in the log:\n%s", server.Log())
	}
}

// Ensure that a mistyped setting fails the test at once, with the server's own words.
func TestUnknownSettingFails(t *testing.T) {
	if _, err := findPrograms(); err != nil {
		giveUp(t, err)
	}
	_, err := newCluster([]setting{{"no_such_setting", "1"}})
	if err == nil || errors.Is(err, errAbsent) || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("got %v, want an error that names the setting", err)
	}
}

// Ensure that a server goes with its test, in whatever state the test leaves it.
func TestServerIsRemovedAtTheEnd(t *testing.T) {
	for name, leave := range map[string]func(*Server){
		"running": func(*Server) {},
		"paused":  (*Server).Pause,
		"stopped": (*Server).Stop,
	} {
		t.Run(name, func(t *testing.T) {
			var path string
			var members []process
			t.Run("a test", func(t *testing.T) {
				server := NewServer(t)
				path = server.cluster.folder.path
				var err error
				if members, err = family(server.PID()); err != nil {
					t.Fatal(err)
				}
				leave(server)
			})
			if _, err := os.Stat(path); path != "" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("folder %s: got %v, want %v", path, err, os.ErrNotExist)
			}
			if alive := living(t, pidsOf(members)); len(alive) > 0 {
				t.Errorf("still alive: %v", alive)
			}
		})
	}
}

// Ensure that a call which makes no sense fails the test instead of hanging or doing nothing.
func TestMisuseFailsTheTest(t *testing.T) {
	server := NewServer(t)
	spy := &spy{TB: t}
	server.tb = spy
	wantFailure := func(state string, calls ...func(*Server)) {
		t.Helper()
		for i, call := range calls {
			if !spy.failedIn(func() { call(server) }) {
				t.Errorf("%s, call %d: the test did not fail", state, i)
			}
		}
	}

	wantFailure("running", (*Server).Start, (*Server).Resume)
	server.Pause()
	wantFailure("paused", (*Server).Start, (*Server).Pause, (*Server).Stop, (*Server).StopImmediate)
	server.Resume()
	server.Stop()
	wantFailure("stopped", (*Server).Stop, (*Server).StopImmediate, (*Server).Pause, (*Server).Resume)
}

// spy is a test that may fail.
type spy struct {
	testing.TB
	failed bool
}

func (s *spy) Fatal(...any)          { s.failed = true; runtime.Goexit() }
func (s *spy) Fatalf(string, ...any) { s.failed = true; runtime.Goexit() }

func (s *spy) failedIn(call func()) bool {
	s.failed = false
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	<-done
	return s.failed
}
