package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage/storagetest/lab"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// postgres is a cluster of our own, with a service that uses it and is not yet started.
type postgres struct {
	cluster  *pgtest.Server
	service  *service
	settings string
}

// withPostgres makes a cluster with the tables, and removes it afterwards with whatever still runs.
func withPostgres(ctx context.Context, g *grounds, do func(postgres) error) error {
	return lab.AsTest(func(tb testing.TB) (err error) {
		var p postgres
		if p.cluster, err = g.Postgres(ctx, tb); err != nil {
			return err
		}
		url := p.cluster.URL("postgres")
		if p.settings, err = durability(ctx, url); err != nil {
			return err
		}
		p.service = &service{lab: g.Lab, databaseURL: url, where: newAddress()}
		defer func() { err = errors.Join(err, p.service.kill()) }()
		return do(p)
	})
}

// durability asks the running server what it does, because a setting that was not taken would prove nothing.
func durability(ctx context.Context, url string) (string, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var version, fsync, commit, pages, method string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('fsync'),
		current_setting('synchronous_commit'), current_setting('full_page_writes'), current_setting('wal_sync_method')`).
		Scan(&version, &fsync, &commit, &pages, &method)
	if err == nil && (fsync != "on" || commit != "on" || pages != "on") {
		err = errors.New("the cluster does not write as production does")
	}
	return fmt.Sprintf("PostgreSQL %s, fsync %s, synchronous_commit %s, full_page_writes %s, wal_sync_method %s",
		version, fsync, commit, pages, method), err
}
