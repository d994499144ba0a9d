package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/storagetest"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// Ensure that PostgreSQL keeps every promise of storage.Store.
func TestConformance(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storage.Store { return open(t, migrated(t), patient) })
}

// Ensure that PostgreSQL keeps the promises about rows that are old or many.
func TestRows(t *testing.T) {
	storagetest.Rows(t, func(t *testing.T) (storage.Store, cas.Table) {
		s := open(t, migrated(t), patient)
		return s, s.Table()
	})
}

// patient limits end only what hangs: the promises are about what is answered, not how soon.
var patient = postgres.Options{ReadTimeout: time.Minute, WriteTimeout: time.Minute}

// migrated gives the URL of a schema that has the tables and is otherwise empty.
func migrated(t *testing.T) string {
	t.Helper()
	url := pgtest.URL(t)
	migrate(t, url)
	return url
}

func migrate(t *testing.T, url string) {
	t.Helper()
	m, err := postgres.Migrator(url)
	if err != nil {
		t.Fatalf("preparing the migrations: %v", err)
	}
	defer m.Close()
	if _, err := m.Up(t.Context()); err != nil {
		t.Fatalf("migrating: %v", err)
	}
}

// open opens a store for the time of a test.
func open(t *testing.T, url string, o postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, o)
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// connect makes a plain connection for the time of a test: that of a stranger, or of an operator who looks.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
