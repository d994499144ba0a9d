package sqlite

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// due is what a row must be to be deleted, besides its hour; the argument is the clock less the delay.
const due = `NOT (state = 1 AND on_lapse = 1) AND expires_at <= ?1`

const expiredSQL = `SELECT tenant, operation, subject, key, sweep_hour, fence, revision, expires_at, ` + due + `
	FROM reprise_keys
	WHERE sweep_hour <= ?2 AND (sweep_hour, fence, tenant, operation, subject, key) > (?3, ?4, ?5, ?6, ?7, ?8)
	ORDER BY sweep_hour, fence, tenant, operation, subject, key LIMIT ?9`

// deleteSQL says all again that made the row a candidate: it may have been acquired or renewed since.
const deleteSQL = `DELETE FROM reprise_keys WHERE ` + due + ` AND sweep_hour <= ?2
	AND tenant = ?3 AND operation = ?4 AND subject = ?5 AND key = ?6 AND fence = ?7 AND revision = ?8`

// sweepable gives the clock less the delay, and the last hour that may be swept.
func sweepable(now time.Time) (before, hour int64) {
	before = now.Add(-storage.SweepDelay).UnixMicro()
	return before, before / int64(time.Hour/time.Microsecond)
}

// Expired lists the rows whose hour to be swept has come; see storage.Sweeper.
func (s *Store) Expired(ctx context.Context, after *storage.Sweepable, limit int) (rows []storage.Sweepable, now time.Time, err error) {
	if after == nil {
		after = &storage.Sweepable{SweepHour: math.MinInt32}
	}
	now = s.now()
	before, hour := sweepable(now)
	err = s.gate.Do(func() error {
		return s.query(ctx, func(row *sql.Rows) error {
			var r storage.Sweepable
			var expiresAt int64
			err := row.Scan(&r.Tenant, &r.Operation, &r.Subject, &r.Key, &r.SweepHour, &r.Fence, &r.Revision, &expiresAt, &r.Due)
			r.DueSince = storage.Deletable(fromMicro(expiresAt), r.SweepHour)
			rows = append(rows, r)
			return err
		}, expiredSQL, before, hour, after.SweepHour, after.Fence, after.Tenant, after.Operation, after.Subject, after.Key, limit)
	})
	return rows, now, err
}

// Delete deletes rows that are still due; see storage.Sweeper.
func (s *Store) Delete(ctx context.Context, rows []storage.Sweepable) (deleted int, err error) {
	err = s.gate.Do(func() error {
		conn, err := s.lockToWrite(ctx)
		if err != nil {
			return unavailable(err)
		}
		defer conn.Close()
		ctx := context.WithoutCancel(ctx)
		if deleted, err = s.deleteFrom(ctx, conn, rows); err != nil {
			deleted = 0
			return rollback(ctx, conn, writeError(err))
		}
		if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
			deleted = 0
			return rollback(ctx, conn, unavailable(err)) // the next sweep looks again
		}
		return nil
	})
	return deleted, err
}

func (s *Store) deleteFrom(ctx context.Context, conn *sql.Conn, rows []storage.Sweepable) (deleted int, err error) {
	before, hour := sweepable(s.now())
	for _, r := range rows {
		result, err := conn.ExecContext(ctx, deleteSQL, before, hour, r.Tenant, r.Operation, r.Subject, r.Key, r.Fence, r.Revision)
		if err != nil {
			return 0, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		deleted += int(n)
	}
	return deleted, nil
}
