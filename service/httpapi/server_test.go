package httpapi_test

import (
	"context"
	"database/sql"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise"
	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/apidocs"
	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/service/httpapi"
	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/sqlite"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

var noContext = context.Background()

// server is the API over a store of its own, listening.
type server struct {
	url   string
	api   *httpapi.API
	store storage.Store
	db    database // the store's database, from outside
}

// database looks at, and holds up, what the store has stored.
type database interface {
	rows(t *testing.T) int
	lock(t *testing.T, key string) (unlock func()) // no change to the key is possible until unlock
	again(t *testing.T) storage.Store              // as another process opens it
}

// stores are what every test runs on.
var stores = []struct {
	name string
	open func(t *testing.T) (storage.Store, database)
}{
	{"sqlite", openSQLite},
	{"postgres", openPostgres},
}

// eachStore runs a test on every store at once, each with a server and a database of its own, beside other tests: most of
// the time they wait, for a disk or for a lease to run out.
func eachStore(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	t.Parallel()
	var running sync.WaitGroup
	defer running.Wait()
	for _, store := range stores {
		running.Go(func() {
			t.Run(store.name, func(t *testing.T) { test(t, start(t, store.open)) })
		})
	}
}

// beforeAnyStore runs a test of what is decided before a store is asked: on one of them.
func beforeAnyStore(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	t.Parallel()
	test(t, start(t, stores[0].open))
}

func start(t *testing.T, open func(t *testing.T) (storage.Store, database)) *server {
	t.Helper()
	store, db := open(t)
	s := serve(t, store, tokens)
	s.db = db
	return s
}

// serve starts the API over a store that may be a fake, for tokens of a configuration.
func serve(t *testing.T, store storage.Store, tokens auth.Config) *server {
	t.Helper()
	verifier, err := auth.NewVerifier(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return serveAs(t, store, service.DefaultLimits(), httpapi.Config{Verifier: verifier})
}

// serveAs starts the API over a store as a configuration says; what that leaves out is as everywhere.
func serveAs(t *testing.T, store storage.Store, limits service.Limits, c httpapi.Config) *server {
	t.Helper()
	c.Service, c.OpenAPI = service.New(store, limits, nil), reprise.OpenAPI
	if c.Verifier == nil {
		c.Verifier = must(auth.NewVerifier(tokens))
	}
	if c.Docs == nil {
		c.Docs = pages()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	api := httpapi.New(c)
	listening := httptest.NewServer(api)
	t.Cleanup(func() {
		c.Service.StopWaiting() // else it is waited for them
		listening.Close()
		if err := api.AwaitParked(noContext); err != nil {
			t.Error(err)
		}
	})
	return &server{url: listening.URL, api: api, store: store}
}

// pages are those of the description.
var pages = sync.OnceValue(func() http.Handler { return must(apidocs.New(reprise.OpenAPI, "test")) })

// client follows nothing: an answer is looked at as it is. A thousand callers have a thousand connections.
var client = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       time.Minute,
}

func openSQLite(t *testing.T) (storage.Store, database) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reprise.db")
	store := sqliteAt(t, path)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(4000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return store, sqliteFile{db, path}
}

func sqliteAt(t *testing.T, path string) storage.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

type sqliteFile struct {
	*sql.DB
	path string
}

func (f sqliteFile) again(t *testing.T) storage.Store { t.Helper(); return sqliteAt(t, f.path) }

func (f sqliteFile) rows(t *testing.T) (n int) {
	t.Helper()
	if err := f.QueryRowContext(noContext, `SELECT count(*) FROM reprise_keys`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// lock holds the one lock that SQLite has for writers.
func (f sqliteFile) lock(t *testing.T, _ string) (unlock func()) {
	t.Helper()
	conn, err := f.Conn(noContext)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(noContext, `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	return func() {
		_, err := conn.ExecContext(noContext, `ROLLBACK`)
		if err != nil {
			t.Error(err)
		}
		_ = conn.Close()
	}
}

func openPostgres(t *testing.T) (storage.Store, database) {
	t.Helper()
	url := pgtest.URL(t)
	migrator, err := postgres.Migrator(url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrator.Up(noContext); err != nil {
		t.Fatal(err)
	}
	_ = migrator.Close()
	store := postgresAt(t, url)
	conn, err := pgx.Connect(noContext, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(noContext) })
	return store, pgSchema{conn, url}
}

// postgresAt has limits that end only what hangs: here many callers share two slow processors with the server, and how an
// overload is answered is another test's.
func postgresAt(t *testing.T, url string) storage.Store {
	t.Helper()
	store, err := postgres.Open(noContext, url, postgres.Options{ReadTimeout: time.Minute, WriteTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

type pgSchema struct {
	*pgx.Conn
	url string
}

func (s pgSchema) again(t *testing.T) storage.Store { t.Helper(); return postgresAt(t, s.url) }

func (s pgSchema) rows(t *testing.T) (n int) {
	t.Helper()
	if err := s.QueryRow(noContext, `SELECT count(*) FROM reprise_keys`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s pgSchema) lock(t *testing.T, key string) (unlock func()) {
	t.Helper()
	tx, err := s.Begin(noContext)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(noContext, `SELECT FROM reprise_keys WHERE key = $1 FOR UPDATE`, key); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(noContext); err != nil {
			t.Error(err)
		}
	}
}
