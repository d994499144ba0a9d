package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
	"github.com/reprise-idempotency/reprise/storage/column"
)

const insertActSQL = `INSERT INTO reprise_audit (` + column.ActColumns + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`

// hasActs tells whether a group does something for an operator.
func hasActs(changes []cas.Change) bool {
	for _, c := range changes {
		if len(c.Acts) > 0 {
			return true
		}
	}
	return false
}

// saveWithActs writes a group and then the acts of those changes that were written, in one transaction. What fails before
// the commit was not stored.
func saveWithActs(ctx context.Context, conn *pgx.Conn, changes []cas.Change, saved []bool, write func() error) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return unavailable(err)
	}
	if err = write(); err == nil {
		err = insertActs(ctx, conn, changes, saved)
	}
	if err != nil {
		_ = tx.Rollback(ctx) // a connection that cannot even do that is closed
		if broken(err) {
			return unavailable(err)
		}
		return writeError(err)
	}
	if err := tx.Commit(ctx); err != nil {
		return writeError(err)
	}
	return nil
}

func insertActs(ctx context.Context, conn *pgx.Conn, changes []cas.Change, saved []bool) error {
	var batch pgx.Batch
	for i, c := range changes {
		for _, a := range c.Acts {
			if saved[i] {
				batch.Queue(insertActSQL, append([]any{a.At}, column.Act(a)...)...)
			}
		}
	}
	return conn.SendBatch(ctx, &batch).Close()
}

// actsSQL goes along the primary key, so that a page costs what it holds; of one name it looks through the tenant's acts,
// which are as many as operators made.
const actsSQL = `SELECT ` + column.ActColumns + ` FROM reprise_audit
WHERE tenant = $1 AND (at, id) < ($2, $3)
  AND ($4 = '' OR operation = $4) AND ($5::text IS NULL OR subject = $5) AND ($6 = '' OR key = $6)
ORDER BY at DESC, id DESC LIMIT $7`

// Acts lists what operators did; see storage.Browser.
func (s *Store) Acts(ctx context.Context, q storage.ActQuery) (acts []storage.Act, err error) {
	at, id := pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}, "ffffffff-ffff-ffff-ffff-ffffffffffff"
	if q.After != nil {
		at, id = pgtype.Timestamptz{Time: q.After.At, Valid: true}, q.After.ActID
	}
	err = s.gate.Do(func() error {
		return s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			rows, err := conn.Query(ctx, actsSQL, q.Tenant, at, id, q.Operation, q.Subject, q.Key, q.Limit)
			if err != nil {
				return err
			}
			acts, err = pgx.CollectRows(rows, scanAct)
			return err
		})
	})
	return acts, err
}

func scanAct(row pgx.CollectableRow) (a storage.Act, err error) {
	var at time.Time
	err = row.Scan(append([]any{&at}, column.ParseAct(&a)...)...)
	a.At = at.UTC()
	return a, err
}
