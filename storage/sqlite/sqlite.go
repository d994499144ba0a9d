// Package sqlite keeps keys in a SQLite file, the embedded default: no set-up, one machine. Its clock is that of the
// process. An acknowledged call is on disk: write-ahead log with synchronous=FULL, which flushes at every commit.
//
// One connection writes, a few read. Several processes may open the same file; they take turns.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"github.com/pressly/goose/v3"
	sqlitedriver "modernc.org/sqlite"

	"github.com/reprise-idempotency/reprise/migrations"
	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
)

const (
	// busyTimeout is how long a writer waits for another process, in milliseconds; within this process writers queue
	// for the one connection.
	busyTimeout = 4000
	// readers is small: a read is a lookup in a b-tree, mostly in memory.
	readers = 4
	// queueTimeout bounds the wait for a connection. It is long, because whoever still waits wants to be served, and one
	// who does not hangs up.
	queueTimeout = 10 * time.Second
	// migrationTries: two processes that open a new file at once both see no tables; the slower one tries again.
	migrationTries = 3
)

// Store is a storage.Store on a SQLite file.
type Store struct {
	gate           cas.Gate
	writer, reader *sql.DB
	load           *sql.Stmt // on the readers
	clock          func() time.Time
}

var _ storage.Store = (*Store)(nil)

// Open opens or makes the file, with the tables it lacks; its folder must be there, so that a misspelt path is not served
// as an empty store. A database in memory is refused, because it keeps no promise.
func Open(ctx context.Context, path string) (*Store, error) {
	if path == "" || path == ":memory:" {
		return nil, fmt.Errorf("SQLite needs a file, not %q: a database in memory forgets what was acknowledged", path)
	}
	if err := createFile(path); err != nil {
		return nil, err
	}
	s := &Store{clock: time.Now}
	if err := s.open(ctx, path); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", path, err), s.Close())
	}
	return s, nil
}

// createFile makes an empty file that only its owner may read: it will hold other people's responses. One that is there
// is not touched, see flush.
func createFile(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("making the database file: %w", err)
	}
	return f.Close()
}

func (s *Store) open(ctx context.Context, path string) (err error) {
	if s.writer, err = pool(path, 1, ""); err != nil {
		return err
	}
	if s.reader, err = pool(path, readers, "&_pragma=query_only(1)"); err != nil {
		return err
	}
	if err = migrate(ctx, s.writer); err != nil {
		return err
	}
	if err = flush(path); err != nil {
		return err
	}
	if s.load, err = s.reader.PrepareContext(ctx, loadSQL); err != nil {
		return fmt.Errorf("preparing to read: %w", err)
	}
	return nil
}

// flush writes to disk what a process before this one left unflushed in the log. Opening the database made it visible,
// and from now on it would be acknowledged. (The log carries no locks, so that it may be opened and closed beside SQLite;
// the database itself must not be: closing it would drop the locks that SQLite holds in this process.)
func flush(path string) error {
	log, err := os.OpenFile(path+"-wal", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("flushing the log: %w", err)
	}
	return errors.Join(log.Sync(), log.Close())
}

func pool(path string, conns int, more string) (*sql.DB, error) {
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + fmt.Sprintf("?_pragma=busy_timeout(%d)", busyTimeout) +
		"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)" + more
	connector, err := sqlitedriver.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(durable{connector})
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// Migrator applies the schema's migrations to a file, which it makes if it is missing. The caller closes it. (Open does
// all that by itself.)
func Migrator(path string) (*goose.Provider, error) {
	if err := createFile(path); err != nil {
		return nil, err
	}
	db, err := pool(path, 1, "")
	if err != nil {
		return nil, err
	}
	return migrations.SQLite(db)
}

func migrate(ctx context.Context, db *sql.DB) error {
	p, err := migrations.SQLite(db)
	if err != nil {
		return err
	}
	for range migrationTries {
		if _, err = p.Up(ctx); err == nil {
			return nil
		}
	}
	return fmt.Errorf("bringing the tables up to date: %w", err)
}

// table reads and writes the rows of a store, past its gate and past the rules of package life.
type table struct{ *Store }

var _ cas.Table = table{}

// Apply answers a group of calls; see storage.Store.
func (s *Store) Apply(ctx context.Context, calls []storage.Call) []storage.Answer {
	return s.gate.Apply(ctx, table{s}, calls)
}

// readyTimeout is short: whoever asks wants to know now.
const readyTimeout = 2500 * time.Millisecond

// Ready reads from the table and takes the write lock for a moment; see storage.Store.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := s.load.QueryRowContext(ctx, "", "", "", "").Err(); err != nil {
		return unavailable(err)
	}
	conn, err := s.lockToWrite(ctx)
	if err != nil {
		return unavailable(err)
	}
	defer conn.Close()
	return rollback(context.WithoutCancel(ctx), conn, nil)
}

// Close waits for the calls that are under way and closes the file.
func (s *Store) Close() error {
	s.gate.Close()
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
