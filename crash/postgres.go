package main

import (
	"context"
	"errors"

	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// postgres is a cluster of our own, with a service that uses it and is not yet started.
type postgres struct {
	cluster  *pgtest.Server
	service  *service
	settings string
}

// withPostgres makes a cluster with the tables, and removes it afterwards with whatever still runs.
func withPostgres(ctx context.Context, l *lab, do func(postgres) error) error {
	b := &bench{}
	defer b.close()
	return guarded(func() (err error) {
		p := postgres{cluster: newCluster(b)}
		url := p.cluster.URL("postgres")
		if p.settings, err = durability(ctx, url); err != nil {
			return err
		}
		if err := l.migrate(ctx, url); err != nil {
			return err
		}
		p.service = &service{lab: l, databaseURL: url, where: newAddress()}
		defer func() { err = errors.Join(err, p.service.kill()) }()
		return do(p)
	})
}
