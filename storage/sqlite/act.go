package sqlite

import (
	"context"
	"database/sql"
	"math"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
)

const actColumns = `at, id, action, tenant, operation, subject, key, actor, address, request_id, reason,
	before_state, before_version, before_attempt, before_fence, after_state, after_version, after_attempt, after_fence`

const insertActSQL = `INSERT INTO reprise_audit (` + actColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// insertActs writes what operators did, in the transaction of the change.
func insertActs(ctx context.Context, conn *sql.Conn, c cas.Change) error {
	for _, a := range c.Acts {
		if err := storable(a.Actor, a.Address, a.RequestID, a.Reason); err != nil {
			return err
		}
		_, err := conn.ExecContext(ctx, insertActSQL, a.At.UnixMicro(), a.ActID, int16(a.Action), a.Tenant, a.Operation, a.Subject, a.Key,
			a.Actor, a.Address, a.RequestID, a.Reason, int16(a.Before.State), a.Before.Version, a.Before.Attempt, a.Before.Fence,
			int16(a.After.State), a.After.Version, a.After.Attempt, a.After.Fence)
		if err != nil {
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
		}, `SELECT `+actColumns+` FROM reprise_audit WHERE tenant = ?1 AND (at, id) < (?2, ?3)
			AND (?4 = '' OR operation = ?4) AND (?5 IS NULL OR subject = ?5) AND (?6 = '' OR key = ?6)
			ORDER BY at DESC, id DESC LIMIT ?7`, q.Tenant, at, id, q.Operation, q.Subject, q.Key, q.Limit)
	})
	return acts, err
}

func scanAct(row *sql.Rows) (a storage.Act, err error) {
	var at int64
	err = row.Scan(&at, &a.ActID, &a.Action, &a.Tenant, &a.Operation, &a.Subject, &a.Key, &a.Actor, &a.Address, &a.RequestID, &a.Reason,
		&a.Before.State, &a.Before.Version, &a.Before.Attempt, &a.Before.Fence,
		&a.After.State, &a.After.Version, &a.After.Attempt, &a.After.Fence)
	a.At = fromMicro(at)
	return a, err
}
