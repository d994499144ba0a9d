package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/sqlite"
)

// openStore opens the backend that the configuration names.
func openStore(ctx context.Context, c config, log *slog.Logger) (storage.Store, error) {
	if c.usesPostgres() {
		return openPostgres(ctx, c, log)
	}
	return openSQLite(ctx, c)
}

func openSQLite(ctx context.Context, c config) (storage.Store, error) {
	if err := c.makeDataDir(); err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, c.sqliteFile())
}

// openPostgres opens the pool and looks at the database. What only a person can mend stops the start: a login that is
// refused, a schema that does not fit. A database that does not answer does not stop it, because it may be on its way up:
// until then the service is alive and not ready.
func openPostgres(ctx context.Context, c config, log *slog.Logger) (storage.Store, error) {
	store, err := postgres.Open(ctx, c.databaseURL, postgres.Options{MaxConns: int32(c.poolSize)})
	if err != nil {
		return nil, usageError{fmt.Errorf("database_url: %w", err)}
	}
	switch err := store.Ready(ctx); {
	case errors.Is(err, postgres.ErrSchema), errors.Is(err, postgres.ErrUnsafe), errors.Is(err, postgres.ErrRefused):
		return nil, errors.Join(err, store.Close())
	case err != nil:
		log.Warn("the database does not serve yet: not ready until it does", "err", err)
		return store, nil
	}
	d, err := store.Durability(ctx)
	if err != nil {
		log.Warn("the durability settings of the database could not be read", "err", err)
		return store, nil
	}
	level := slog.LevelInfo
	if d.Fsync != "on" || d.FullPageWrites != "on" {
		level = slog.LevelWarn
	}
	log.Log(ctx, level, "what the database promises of an acknowledged call",
		"synchronous_commit", d.SynchronousCommit, "fsync", d.Fsync, "full_page_writes", d.FullPageWrites)
	return store, nil
}
