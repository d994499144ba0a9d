package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pressly/goose/v3"
	"github.com/spf13/cobra"

	"github.com/reprise-idempotency/reprise/migrations"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/sqlite"
)

func (p *program) migrateCommand() *cobra.Command {
	migrate := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the tables of the database up to date (up), show how they stand (status), or print the SQL (print)",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("migrate: say what: up, status or print")}
		},
	}
	migrate.AddCommand(
		p.migration("up", "Apply the migrations that are missing; safe to repeat, and for several at once", p.migrateUp),
		p.migration("status", "List the migrations, applied or pending; it makes no database", p.migrateStatus),
		&cobra.Command{Use: "print", Short: "Print the SQL of all migrations for the configured database, to be read", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				c, err := p.loadForMigration(cmd)
				if err != nil {
					return err
				}
				return p.printMigrations(c)
			}},
	)
	return migrate
}

// migration makes a command that works on the configured database.
func (p *program) migration(use, short string, do func(context.Context, config) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.loadForMigration(cmd)
			if err != nil {
				return err
			}
			return do(cmd.Context(), c)
		}}
}

// loadForMigration reads the configuration of a command that verifies no tokens.
func (p *program) loadForMigration(cmd *cobra.Command) (config, error) {
	return p.loadWith(cmd, config.validateStore)
}

func migrator(c config) (*goose.Provider, error) {
	if c.usesPostgres() {
		return postgres.Migrator(c.databaseURL)
	}
	if err := c.makeDataDir(); err != nil {
		return nil, err
	}
	return sqlite.Migrator(c.sqliteFile())
}

func (p *program) migrateUp(ctx context.Context, c config) (err error) {
	m, err := migrator(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	results, err := m.Up(ctx)
	for _, r := range results {
		fmt.Fprintf(p.stdout, "applied %s\n", r.Source.Path)
	}
	if err == nil && len(results) == 0 {
		fmt.Fprintln(p.stdout, "up to date")
	}
	return err
}

func (p *program) migrateStatus(ctx context.Context, c config) (err error) {
	if !c.usesPostgres() {
		if _, err := os.Stat(c.sqliteFile()); errors.Is(err, fs.ErrNotExist) {
			return p.statusWithoutDatabase(c)
		}
	}
	m, err := migrator(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	all, err := m.Status(ctx)
	for _, s := range all {
		at := ""
		if !s.AppliedAt.IsZero() {
			at = " " + s.AppliedAt.UTC().Format("2006-01-02T15:04:05Z")
		}
		fmt.Fprintf(p.stdout, "%s %s%s\n", s.Source.Path, s.State, at)
	}
	return err
}

// statusWithoutDatabase is how things stand where nothing is: whoever only looks makes no database.
func (p *program) statusWithoutDatabase(c config) error {
	fmt.Fprintf(p.stdout, "there is no database yet: %s; serve and migrate up make it\n", c.sqliteFile())
	names, err := fs.Glob(migrations.Files("sqlite"), "*.sql")
	for _, name := range names {
		fmt.Fprintf(p.stdout, "%s %s\n", name, goose.StatePending)
	}
	return err
}

func (p *program) printMigrations(c config) error {
	files := migrations.Files("sqlite")
	if c.usesPostgres() {
		files = migrations.Files("postgres")
	}
	fmt.Fprintln(p.stdout, "-- To read, or to be applied together with the notes in reprise_migrations that only reprise migrate up makes:")
	fmt.Fprintln(p.stdout, "-- applied by hand alone, these leave a database that serve and migrate up take for an empty one.")
	names, err := fs.Glob(files, "*.sql")
	for _, name := range names {
		sql, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "-- %s\n%s\n", name, sql)
	}
	return err
}
