package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/reprise-idempotency/reprise/migrations"
	"github.com/reprise-idempotency/reprise/storage"
)

// oldestSchemaVersion is the oldest schema that this code works with: from the first release on that of the version
// before, because replicas of two versions run side by side during an upgrade.
const oldestSchemaVersion = 2

// tables are those that the role must be able to read and write.
var tables = []string{"reprise_keys", "reprise_open", "reprise_progress", "reprise_audit"}

// ErrSchema says that the database answers, but lacks the tables that this version needs. It wraps
// storage.ErrUnavailable.
var ErrSchema = fmt.Errorf("%w: its schema does not fit", storage.ErrUnavailable)

// ErrUnsafe says that the database acknowledges what it has not written.
var ErrUnsafe = errors.New("synchronous_commit is off, so that an acknowledged call could be lost")

// refuseUnsafe looks at each new connection before it is used. An acknowledged call has to be on disk; that is decided
// by a setting which may come from the server, the database, the role or the URL.
func refuseUnsafe(ctx context.Context, conn *pgx.Conn) error {
	var commit, source, database string
	err := conn.QueryRow(ctx, `SELECT setting, source, quote_ident(current_database()) FROM pg_settings
		WHERE name = 'synchronous_commit'`).Scan(&commit, &source, &database)
	switch {
	case err != nil:
		return err
	case commit != "off":
		return nil
	case source == "client":
		return fmt.Errorf("%w; the setting comes with the connection: take it out of the database URL", ErrUnsafe)
	}
	// What is set for the role in the database outranks what is set for either, and for the server.
	return fmt.Errorf("%w; mend it with: ALTER ROLE CURRENT_USER IN DATABASE %s SET synchronous_commit = on", ErrUnsafe, database)
}

// acquireToWrite takes a connection from the pool, and gives up when the caller does or after readTimeout.
func (s *Store) acquireToWrite(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	return s.pool.Acquire(ctx)
}

// Ready asks the database whether it takes writes and has the schema; see storage.Store.
func (s *Store) Ready(ctx context.Context) error {
	var readOnly bool
	var commit, encoding, role string
	err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool,
			current_setting('synchronous_commit'), current_setting('server_encoding'), quote_ident(current_user)`).Scan(&readOnly, &commit, &encoding, &role)
	})
	switch {
	case err != nil:
		return err
	case readOnly:
		return unavailable(errors.New("the database is read-only: it is a standby, or set so"))
	case commit == "off":
		return unavailable(ErrUnsafe)
	case encoding != "UTF8":
		return fmt.Errorf("%w: its encoding is %s, and keys are UTF-8; make it anew with: CREATE DATABASE … ENCODING 'UTF8'", ErrSchema, encoding)
	}
	return s.checkSchema(ctx, role)
}

// checkSchema tells whether the tables are those that this version works with, and the role may use them.
func (s *Store) checkSchema(ctx context.Context, role string) error {
	var version *int64
	var mayWrite bool
	err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT (SELECT max(version_id) FROM `+migrations.VersionTable+` WHERE is_applied),
			coalesce(bool_and(has_table_privilege(to_regclass(t), p)), true)
			FROM unnest($1::text[]) AS t, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p`, tables).Scan(&version, &mayWrite)
	})
	if pg, ok := reported(err); ok && pg.Code == "42P01" { // undefined_table
		return fmt.Errorf("%w: the database has no tables of Reprise; make them with: reprise migrate up", ErrSchema)
	}
	if pg, ok := reported(err); ok && pg.Code == "42501" { // insufficient_privilege
		return noRights(role)
	}
	if err != nil {
		return err
	}
	if version == nil || *version < oldestSchemaVersion {
		return fmt.Errorf("%w: the schema is older than this version works with (%d is needed); mend it with: reprise migrate up",
			ErrSchema, oldestSchemaVersion)
	}
	if !mayWrite {
		return noRights(role)
	}
	return nil
}

func noRights(role string) error {
	return fmt.Errorf("%w: the role may not read and write its tables; mend it with: GRANT SELECT ON %s TO %s; GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %s",
		ErrSchema, migrations.VersionTable, role, strings.Join(tables, ", "), role)
}

// Durability says what the database promises of an acknowledged call, as `reprise serve` reports it.
type Durability struct{ SynchronousCommit, Fsync, FullPageWrites string }

// Durability reads the settings that decide whether an acknowledged call survives a crash.
func (s *Store) Durability(ctx context.Context) (d Durability, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT current_setting('synchronous_commit'), current_setting('fsync'),
			current_setting('full_page_writes')`).Scan(&d.SynchronousCommit, &d.Fsync, &d.FullPageWrites)
	})
	return d, err
}

// Migrator applies the schema's migrations. The caller closes it, and with it its connection.
func Migrator(url string) (*goose.Provider, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errURL
	}
	return migrations.Postgres(stdlib.OpenDB(*cfg))
}
