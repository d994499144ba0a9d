package pgtest

import (
	"context"
	"net/url"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func query[T any](t *testing.T, conn *pgx.Conn, statement string, arguments ...any) T {
	t.Helper()
	var value T
	if err := conn.QueryRow(t.Context(), statement, arguments...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

// Ensure that a test finds its schema empty, whatever others do at the same time.
func TestSchemasAreIsolated(t *testing.T) {
	for _, name := range []string{"one", "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, URL(t))
			run(t, conn, "CREATE TABLE t AS SELECT 1")
			if got := query[int](t, conn, "SELECT count(*) FROM t"); got != 1 {
				t.Errorf("rows: got %d, want 1", got)
			}
		})
	}
}

// Ensure that one test can have several schemas, for instance to compare two migrations.
func TestEveryCallHasItsOwnSchema(t *testing.T) {
	first, second := connect(t, URL(t)), connect(t, URL(t))
	run(t, first, "CREATE TABLE t ()")
	run(t, second, "CREATE TABLE t ()")
}

// Ensure that the schema goes with the test, and takes its tables along.
func TestSchemaIsDroppedAtTheEnd(t *testing.T) {
	var name string
	t.Run("a test", func(t *testing.T) {
		conn := connect(t, URL(t))
		run(t, conn, "CREATE TABLE t ()")
		name = query[string](t, conn, "SELECT current_schema()")
	})
	conn := connect(t, URL(t))
	if got := query[int](t, conn, "SELECT count(*) FROM pg_namespace WHERE nspname = $1", name); got != 0 {
		t.Errorf("schema %s is still there", name)
	}
}

// Ensure that the shared server commits like a real one and is the same on every machine.
func TestSharedServerSettings(t *testing.T) {
	if os.Getenv(DatabaseURLVariable) != "" && (isChosen("") || isChosen(chooseURL)) {
		t.Skipf("%s is set: the settings of that server are not ours", DatabaseURLVariable)
	}
	conn := connect(t, URL(t))
	for name, want := range map[string]string{
		"synchronous_commit": "on",
		"server_encoding":    "UTF8",
		"max_connections":    "200",
	} {
		if got := query[string](t, conn, "SELECT current_setting($1)", name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	const offset = "SELECT to_char(TIMESTAMPTZ '2000-07-01 00:00Z', 'TZH:TZM')" // in summer: London is not UTC
	if got := query[string](t, conn, offset); got != "+00:00" {
		t.Errorf("time zone: got an offset of %s, want that of UTC", got)
	}
	const collation = "SELECT datcollate FROM pg_database WHERE datname = current_database()"
	if got := query[string](t, conn, collation); got != locale() {
		t.Errorf("collation: got %s, want %s", got, locale())
	}
}

// Ensure that the URL's other parameters survive, and that a search_path of the user's gives way.
func TestSearchPathJoinsOtherParameters(t *testing.T) {
	got, err := withSearchPath("postgres://u:p@h:1/db?sslmode=require&search_path=public", "mine")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(got)
	if err != nil {
		t.Fatal(err)
	}
	want := url.Values{"sslmode": {"require"}, "search_path": {"mine"}}
	if u.Query().Encode() != want.Encode() {
		t.Errorf("parameters: got %v, want %v", u.Query(), want)
	}
	if u.User.String() != "u:p" || u.Host != "h:1" || u.Path != "/db" {
		t.Errorf("the rest of the URL changed: %s", got)
	}
}

// Ensure that make can tell whether this machine has a Postgres for tests: go test shows the reason of a skip only with -v.
func TestPostgresIsThere(t *testing.T) { URL(t) }
