package sqlite_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/sqlite"
)

// An acknowledged call is on disk. These settings belong to a connection, not to the file: one that lacks them would
// acknowledge too early, and no other would notice.
func TestEveryConnectionFlushesAtEveryCommit(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "reprise.db"))
	for name, pool := range s.Pools() {
		size := pool.Stats().MaxOpenConnections
		if size < 1 {
			t.Fatalf("the %s has no limit of connections, so that not all of them can be asked", name)
		}
		for i := range size { // each is kept until all were asked, so that each is another one
			conn, err := pool.Conn(t.Context())
			if err != nil {
				t.Fatalf("%s %d: %v", name, i, err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "busy_timeout": "4000"} {
				var got string
				if err := conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
					t.Errorf("%s %d: %s is %q (%v), want %q", name, i, pragma, got, err, want)
				}
			}
		}
	}
}

// A setting that is misspelt, or that somebody adds, is ignored in silence by SQLite.
func TestAConnectionThatDoesNotFlushIsRefused(t *testing.T) {
	for _, weak := range []string{"&_pragma=synchronous(NORMAL)", "&_pragma=synchronous(OFF)"} {
		pool, err := sqlite.Pool(filepath.Join(t.TempDir(), "reprise.db"), 1, weak)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if err := pool.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), "synchronous") {
			t.Errorf("%s: got %v, want a refusal that names the setting", weak, err)
		}
	}
}

// Ensure that a database in memory, which keeps no promise, is refused.
func TestADatabaseInMemoryIsRefused(t *testing.T) {
	for _, path := range []string{"", ":memory:"} {
		s, err := sqlite.Open(t.Context(), path)
		if err == nil {
			_ = s.Close()
			t.Errorf("%q was opened", path)
		}
	}
}

// The responses in it belong to other people.
func TestOnlyTheOwnerMayReadTheFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reprise.db")
	s := openAt(t, path)
	apply(t, s, storage.OutcomeAcquired, reserve("k"))
	for file, want := range map[string]os.FileMode{path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(file)
		if err != nil {
			t.Errorf("%v", err)
		} else if info.Mode() != want {
			t.Errorf("%s has the mode %v, want %v", file, info.Mode(), want)
		}
	}
}

// Ensure that what was stored is there when the file is opened again.
func TestReopeningKeepsTheData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reprise.db")
	s := openAt(t, path)
	holder := reserve("k")
	first := apply(t, s, storage.OutcomeAcquired, holder)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !os.IsNotExist(err) {
		t.Errorf("the write-ahead log is still there after Close: %v", err)
	}
	again := openAt(t, path)
	if r := apply(t, again, storage.OutcomeAcquired, holder); r.Fence != first.Fence || r.Token != first.Token {
		t.Errorf("reopened, the lease is another one: %+v, before %+v", r, first)
	}
	apply(t, again, storage.OutcomeSettled, complete(holder))
}

// A copy of the files, made while the store is open, is what a killed process leaves.
func TestWhatWasAcknowledgedSurvivesACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reprise.db")
	s := openAt(t, path)
	for i := range 100 {
		c := reserve(fmt.Sprint("k", i))
		apply(t, s, storage.OutcomeAcquired, c)
		apply(t, s, storage.OutcomeSettled, complete(c))
	}
	left := filepath.Join(t.TempDir(), "reprise.db")
	for _, end := range []string{"", "-wal"} {
		copyFile(t, path+end, left+end)
	}
	survivor := openAt(t, left)
	for i := range 100 {
		apply(t, survivor, storage.OutcomeReplay, reserve(fmt.Sprint("k", i)))
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
}

// Somebody looks into the file with a tool, and forgets a transaction.
func TestAForeignLockEndsInUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reprise.db")
	s := openAt(t, path)
	holder := reserve("k")
	apply(t, s, storage.OutcomeAcquired, holder)
	stranger, err := sqlite.Pool(path, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	stranger.SetMaxOpenConns(1)
	exec := func(sql string) {
		t.Helper()
		if _, err := stranger.ExecContext(context.Background(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec("BEGIN IMMEDIATE")
	unavailable(t, s, complete(holder))
	apply(t, s, storage.OutcomeFound, storage.Lookup{Name: holder.Name}) // reading goes on
	exec("ROLLBACK")
	apply(t, s, storage.OutcomeSettled, complete(holder))
}
