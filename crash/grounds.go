package main

import (
	"context"

	"github.com/reprise-idempotency/reprise/storage/storagetest/lab"
)

const (
	storeSQLite   = "sqlite"
	storePostgres = "postgres"
)

// grounds are what the experiments share: the lab, and the token of a caller who may read and write.
type grounds struct {
	*lab.Lab
	token string
}

func newGrounds(ctx context.Context) (*grounds, error) {
	l, err := lab.New(ctx, "crash")
	if err != nil {
		return nil, err
	}
	token, err := l.Token(ctx, "crash")
	if err != nil {
		l.Close()
		return nil, err
	}
	return &grounds{l, token}, nil
}
