package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// staleAfter is far beyond the longest test run, so that a schema this old has no owner, and short
	// enough that a database for tests does not fill up between two working days.
	staleAfter = 24 * time.Hour

	// dropPatience bounds how long the drop of a schema waits for locks. Connections of a finished test
	// are closed, and their backends let go within moments; what is longer is a leak.
	dropPatience = 10 * time.Second

	// janitorLock is the advisory lock that keeps two test processes from dropping the same schemas at
	// once. An arbitrary number.
	janitorLock = 7_370_697_465
)

// schemaPattern matches what schemaName makes; the group is the time of birth in Unix seconds, which
// survives in the name when the process that would drop the schema does not.
var schemaPattern = regexp.MustCompile(`^pgtest_([0-9]+)_[a-z0-9]+$`)

func schemaName(born time.Time) string {
	return fmt.Sprintf("pgtest_%d_%s", born.Unix(), strings.ToLower(rand.Text()))
}

func freshSchema(tb testing.TB, database string) string {
	tb.Helper()
	name := schemaName(time.Now())
	if err := execute(database, "CREATE SCHEMA "+name); err != nil {
		tb.Fatalf("pgtest: creating a schema: %v", err)
	}
	tb.Cleanup(func() {
		if err := dropSchema(database, name); err != nil {
			tb.Errorf("pgtest: dropping the schema (did the test leave a transaction open?): %v", err)
		}
	})
	scoped, err := withSearchPath(database, name)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	return scoped
}

func dropSchema(database, name string) error {
	return execute(database,
		fmt.Sprintf("SET lock_timeout = %d", dropPatience.Milliseconds()),
		"DROP SCHEMA IF EXISTS "+name+" CASCADE")
}

// withSearchPath adds the schema to a URL as a run-time parameter, which Postgres applies to every
// connection before its first statement.
func withSearchPath(database, schema string) (string, error) {
	u, err := url.Parse(database)
	if err != nil {
		return "", fmt.Errorf("parsing the database URL: %w", err)
	}
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// execute runs statements one by one on a connection of its own.
func execute(database string, statements ...string) error {
	// The test's own context is no help here: it is cancelled before cleanups run.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// dropStaleSchemas removes what test processes that were killed have left in a lasting database.
func dropStaleSchemas(ctx context.Context, database string) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) // also gives the advisory lock back

	var mine bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", janitorLock).Scan(&mine); err != nil {
		return err
	}
	if !mine {
		return nil // another test process is at it
	}
	rows, err := conn.Query(ctx, `
		SELECT nspname::text FROM pg_namespace
		WHERE nspname LIKE 'pgtest\_%' AND pg_has_role(nspowner, 'USAGE')`)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		if !isStale(name, time.Now()) {
			continue
		}
		if err := dropSchema(database, name); err != nil {
			return fmt.Errorf("schema %s: %w", name, err)
		}
	}
	return nil
}

func isStale(name string, now time.Time) bool {
	match := schemaPattern.FindStringSubmatch(name)
	if match == nil {
		return false // somebody else's
	}
	born, err := strconv.ParseInt(match[1], 10, 64)
	return err == nil && now.Sub(time.Unix(born, 0)) > staleAfter
}
