package sqlite

import (
	"context"
	"database/sql"
	"math"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
	"github.com/reprise-idempotency/reprise/storage/column"
)

const insertActSQL = `INSERT INTO reprise_audit (` + column.ActColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// insertActs writes what operators did, in the transaction of the change.
func insertActs(ctx context.Context, conn *sql.Conn, c cas.Change) error {
	for _, a := range c.Acts {
		if err := storable(a.Actor, a.Address, a.RequestID, a.Reason); err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, insertActSQL, append([]any{a.At.UnixMicro()}, column.Act(a)...)...); err != nil {
			return err
		}
	}
	return nil
}

// Acts lists what operators did; see storage.Browser.
func (s *Store) Acts(ctx context.Context, q storage.ActQuery) (acts []storage.Act, err error) {
	at, id := int64(math.MaxInt64), ""
	if q.After != nil {
		at, id = q.After.At.UnixMicro(), q.After.ActID
	}
	err = s.gate.Do(func() error {
		return s.query(ctx, func(row *sql.Rows) error {
			a, err := scanAct(row)
			acts = append(acts, a)
			return err
		}, `SELECT `+column.ActColumns+` FROM reprise_audit WHERE tenant = ?1 AND (at, id) < (?2, ?3)
			AND (?4 = '' OR operation = ?4) AND (?5 IS NULL OR subject = ?5) AND (?6 = '' OR key = ?6)
			ORDER BY at DESC, id DESC LIMIT ?7`, q.Tenant, at, id, q.Operation, q.Subject, q.Key, q.Limit)
	})
	return acts, err
}

func scanAct(row *sql.Rows) (a storage.Act, err error) {
	var at int64
	err = row.Scan(append([]any{&at}, column.ParseAct(&a)...)...)
	a.At = fromMicro(at)
	return a, err
}
