package sweeper_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/reprise-idempotency/reprise/service/sweeper"
	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/sqlite" // and the driver "sqlite"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

const (
	hang = time.Minute // only what is broken takes so long

	lease     = time.Hour // of what the tests make, and its retention: both are over when it has been aged
	retention = time.Hour
)

// fixture is a store with a way past it, and a sweeper.
type fixture struct {
	t       *testing.T
	store   storage.Store
	db      *sql.DB
	url     string // of Postgres
	dialect dialect
	log     *lockedBuffer
	sweeper *sweeper.Sweeper
}

// dialect has the SQL that differs between the stores.
type dialect struct {
	hours  string   // takes a number
	refuse []string // makes the row with the key secret-poison undeletable
	accept string   // and takes it back
}

var (
	inSQLite = dialect{
		hours: `%d * 3600000000`,
		refuse: []string{`CREATE TRIGGER refuse BEFORE DELETE ON reprise_keys WHEN old.key = 'secret-poison'
			BEGIN SELECT RAISE(ABORT, 'not this one'); END`},
		accept: `DROP TRIGGER refuse`,
	}
	inPostgres = dialect{
		hours: `interval '%d hours'`,
		refuse: []string{`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$`,
			`CREATE TRIGGER refuse BEFORE DELETE ON reprise_keys FOR EACH ROW WHEN (old.key = 'secret-poison') EXECUTE FUNCTION refuse()`},
		accept: `DROP TRIGGER refuse ON reprise_keys`,
	}
)

// eachStore runs a test on every store at once, each with a database of its own.
func eachStore(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	for name, open := range map[string]func(*testing.T) *fixture{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func onSQLite(t *testing.T) *fixture {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reprise.db")
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return newFixture(t, store, inSQLite, "sqlite", "file:"+path+"?_pragma=busy_timeout(20000)")
}

func onPostgres(t *testing.T) *fixture {
	t.Helper()
	return onPostgresAt(t, pgtest.URL(t))
}

func onPostgresAt(t *testing.T, url string) *fixture {
	t.Helper()
	migrator, err := postgres.Migrator(url)
	if err != nil {
		t.Fatal(err)
	}
	defer migrator.Close()
	if _, err := migrator.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, openPostgres(t, url), inPostgres, "pgx", url)
	f.url = url
	return f
}

func openPostgres(t *testing.T, url string) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(context.Background(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func newFixture(t *testing.T, store storage.Store, d dialect, driver, dsn string) *fixture {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(); _ = store.Close() })
	log := &lockedBuffer{}
	return &fixture{t: t, store: store, db: db, dialect: d, log: log,
		sweeper: &sweeper.Sweeper{Store: store, Log: slog.New(slog.NewJSONHandler(log, nil))}}
}

func (f *fixture) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	f.t.Cleanup(cancel)
	return ctx
}

// sweep sweeps once; the pass must come to its end.
func (f *fixture) sweep() sweeper.Report {
	f.t.Helper()
	r, err := f.sweeper.RunOnce(f.ctx())
	if err != nil {
		f.t.Fatalf("the sweep was broken off: %v", err)
	}
	return r
}

func (f *fixture) exec(statement string) {
	f.t.Helper()
	if _, err := f.db.ExecContext(f.ctx(), statement); err != nil {
		f.t.Fatalf("%s: %v", statement, err)
	}
}

// age makes the rows of an operation what they would be, had all of it happened some hours earlier.
func (f *fixture) age(operation string, hours int) {
	f.t.Helper()
	h := fmt.Sprintf(f.dialect.hours, hours)
	f.exec(fmt.Sprintf(`UPDATE reprise_keys SET created_at = created_at - %[1]s, updated_at = updated_at - %[1]s,
		lease_expires_at = lease_expires_at - %[1]s, expires_at = expires_at - %[1]s, settled_at = settled_at - %[1]s,
		fence = fence - %[2]d * 3600000000, sweep_hour = sweep_hour - %[2]d WHERE operation = '%[3]s'`, h, hours, operation))
}

// extend moves the end of the record of an operation, and of its lease too if asked.
func (f *fixture) extend(operation string, hours int, leaseToo bool) {
	f.t.Helper()
	h, more := fmt.Sprintf(f.dialect.hours, hours), ""
	if leaseToo {
		more = `, lease_expires_at = lease_expires_at + ` + h
	}
	f.exec(fmt.Sprintf(`UPDATE reprise_keys SET expires_at = expires_at + %s, sweep_hour = sweep_hour + %d%s WHERE operation = '%s'`,
		h, hours, more, operation))
}

// rows counts what is in the table, expired or not.
func (f *fixture) rows(operation string) (n int) {
	f.t.Helper()
	row := f.db.QueryRowContext(f.ctx(), `SELECT count(*) FROM reprise_keys WHERE operation = '`+operation+`'`)
	if err := row.Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

// now is the store's clock.
func (f *fixture) now() time.Time {
	f.t.Helper()
	return f.apply(storage.Lookup{Name: nameOf("nothing", 0)})[0].Now
}

// apply sends a group of calls, which all have to be answered.
func (f *fixture) apply(calls ...storage.Call) []storage.Answer {
	f.t.Helper()
	answers := f.store.Apply(f.ctx(), calls)
	for _, a := range answers {
		if a.Err != nil {
			f.t.Fatal(a.Err)
		}
	}
	return answers
}

// nameOf gives a name of an operation; no key may ever be seen in a log.
func nameOf(operation string, n int) storage.Name {
	return storage.Name{Tenant: "acme", Operation: operation, Key: fmt.Sprintf("secret-%05d", n)}
}

func reserve(name storage.Name) storage.Reserve {
	return storage.Reserve{Name: name, Fingerprint: "f", Token: storage.NewToken(), Lease: lease, Retention: retention}
}

func complete(of storage.Reserve, result storage.State) storage.Complete {
	return storage.Complete{Name: of.Name, Token: of.Token, Result: result, ResultHash: []byte("hash"),
		Response: &storage.Response{Status: 201, Body: []byte("done")}}
}

// reserveAll makes n keys of an operation that are in progress.
func (f *fixture) reserveAll(operation string, n int, onLapse storage.OnLapse) {
	f.t.Helper()
	c := reserve(nameOf(operation, 0))
	c.OnLapse = onLapse
	f.apply(c)
	f.multiply(operation, n)
}

// completeAll makes n settled keys of an operation.
func (f *fixture) completeAll(operation string, n int) {
	f.t.Helper()
	c := reserve(nameOf(operation, 0))
	f.apply(c, complete(c, storage.Completed))
	f.multiply(operation, n)
}

// multiply makes n keys of an operation out of its first one, past the store, which is much slower at it.
func (f *fixture) multiply(operation string, n int) {
	f.t.Helper()
	rows, err := f.db.QueryContext(f.ctx(), `SELECT * FROM reprise_keys LIMIT 0`)
	if err != nil {
		f.t.Fatal(err)
	}
	columns, err := rows.Columns()
	if err := errors.Join(err, rows.Close()); err != nil {
		f.t.Fatal(err)
	}
	values := slices.Clone(columns)
	values[slices.Index(values, "key")] = `'secret-' || substr(CAST(100000 + i AS text), 2)`
	f.exec(fmt.Sprintf(`WITH RECURSIVE more(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM more WHERE i < %d - 1)
		INSERT INTO reprise_keys (%s) SELECT %s FROM reprise_keys, more WHERE operation = '%s' AND i < %[1]d`,
		n, strings.Join(columns, ", "), strings.Join(values, ", "), operation))
}

// lockedBuffer may be read while a sweeper writes its log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// hooked lets a test step in before and after the sweeper asks the store.
type hooked struct {
	storage.Sweeper
	expired      func(rows []storage.Sweepable) // after each look at a group
	beforeDelete func(rows []storage.Sweepable)
}

func (h hooked) Expired(ctx context.Context, after *storage.Sweepable, limit int) ([]storage.Sweepable, time.Time, error) {
	rows, now, err := h.Sweeper.Expired(ctx, after, limit)
	if h.expired != nil && err == nil {
		h.expired(rows)
	}
	return rows, now, err
}

func (h hooked) Delete(ctx context.Context, rows []storage.Sweepable) (int, error) {
	if h.beforeDelete != nil {
		h.beforeDelete(rows)
	}
	return h.Sweeper.Delete(ctx, rows)
}
