// Package migrations holds the schema of both databases as numbered SQL files, and applies them with goose. The two
// folders carry the same numbers and names. A migration that has been released is never edited, and none goes down: the
// way back is a backup, because a key that is forgotten is an effect that can happen twice.
package migrations

import (
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// VersionTable is where goose notes which migrations were applied.
const VersionTable = "reprise_migrations"

// Postgres prepares the migrations for a Postgres database. An advisory lock lets several replicas try at once.
func Postgres(db *sql.DB) (*goose.Provider, error) {
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, fmt.Errorf("preparing the migration lock: %w", err)
	}
	return provider(goose.DialectPostgres, db, "postgres", goose.WithSessionLocker(locker))
}

// SQLite prepares the migrations for a SQLite database.
func SQLite(db *sql.DB) (*goose.Provider, error) {
	return provider(goose.DialectSQLite3, db, "sqlite")
}

func provider(dialect goose.Dialect, db *sql.DB, folder string, opts ...goose.ProviderOption) (*goose.Provider, error) {
	opts = append(opts, goose.WithTableName(VersionTable), goose.WithDisableGlobalRegistry(true))
	return goose.NewProvider(dialect, db, Files(folder), opts...)
}

// Files gives the SQL files of one database, "postgres" or "sqlite".
func Files(folder string) fs.FS {
	sub, err := fs.Sub(files, folder)
	if err != nil {
		panic(err) // the folder is in the binary, or the name is wrong
	}
	return sub
}
