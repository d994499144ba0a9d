package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// durable hands out only connections that flush at every commit. The settings are asked for in the address of the
// database; a misspelt one would be ignored in silence, so each connection is asked what it really does.
type durable struct{ driver.Connector }

const fullSync = 2 // PRAGMA synchronous: 0 off, 1 normal, 2 full, 3 extra

func (d durable) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := d.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := check(ctx, conn.(driver.QueryerContext)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func check(ctx context.Context, conn driver.QueryerContext) error {
	for pragma, want := range map[string]driver.Value{"synchronous": int64(fullSync), "journal_mode": "wal"} {
		got, err := pragmaValue(ctx, conn, pragma)
		if err != nil {
			return fmt.Errorf("asking for %s: %w", pragma, err)
		}
		if got != want {
			return fmt.Errorf("%s is %v, not %v: an acknowledged call could be lost", pragma, got, want)
		}
	}
	return nil
}

func pragmaValue(ctx context.Context, conn driver.QueryerContext, name string) (driver.Value, error) {
	rows, err := conn.QueryContext(ctx, "PRAGMA "+name, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return nil, err
	}
	return row[0], nil
}
