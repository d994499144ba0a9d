package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reprise-idempotency/reprise/storage"
)

// sweepHourNow is the last hour that may be swept: it ended storage.SweepDelay ago.
var sweepHourNow = `floor(extract(epoch FROM now() - ` + interval(storage.SweepDelay) + `) / 3600)::integer`

// interval writes a duration for SQL.
func interval(d time.Duration) string {
	return fmt.Sprintf("interval '%d milliseconds'", d.Milliseconds())
}

// due is what a row must be to be deleted, besides its hour. A record held in progress never ends by itself.
var due = `NOT (k.state = 1 AND k.on_lapse = 1) AND k.expires_at <= now() - ` + interval(storage.SweepDelay)

var (
	expiredSQL = `SELECT k.tenant, k.operation, k.subject, k.key, k.sweep_hour, k.fence, k.revision, k.expires_at, ` + due + `
FROM reprise_keys AS k
WHERE (k.sweep_hour, k.fence, k.tenant, k.operation, k.subject, k.key) > ($1, $2, $3, $4, $5, $6) AND k.sweep_hour <= ` + sweepHourNow + `
ORDER BY k.sweep_hour, k.fence, k.tenant, k.operation, k.subject, k.key LIMIT $7`

	// deleteSQL says all again that made the rows candidates: one may have been acquired or renewed since. It meets them in
	// the order of the names, as every other statement does.
	deleteSQL = `DELETE FROM reprise_keys AS k
USING unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::integer[]) AS c(` + nameColumns + `, fence, revision)
WHERE ` + sameName + ` AND k.fence = c.fence AND k.revision = c.revision
  AND ` + due + ` AND k.sweep_hour <= ` + sweepHourNow
)

// Expired lists the rows whose hour to be swept has come; see storage.Sweeper.
func (s *Store) Expired(ctx context.Context, after *storage.Sweepable, limit int) (rows []storage.Sweepable, now time.Time, err error) {
	if after == nil {
		after = &storage.Sweepable{SweepHour: -1 << 31}
	}
	err = s.gate.Do(func() error {
		now, err = s.readWithClock(ctx, func(found pgx.Rows) (err error) {
			rows, err = pgx.CollectRows(found, scanSweepable)
			return err
		}, expiredSQL, after.SweepHour, after.Fence, after.Tenant, after.Operation, after.Subject, after.Key, limit)
		return err
	})
	return rows, now, err
}

func scanSweepable(row pgx.CollectableRow) (r storage.Sweepable, err error) {
	var expiresAt time.Time
	err = row.Scan(&r.Tenant, &r.Operation, &r.Subject, &r.Key, &r.SweepHour, &r.Fence, &r.Revision, &expiresAt, &r.Due)
	r.DueSince = storage.Deletable(expiresAt.UTC(), r.SweepHour)
	return r, err
}

// Delete deletes rows that are still due; see storage.Sweeper.
func (s *Store) Delete(ctx context.Context, rows []storage.Sweepable) (deleted int, err error) {
	names := make([]storage.Name, len(rows))
	fences, revisions := make([]int64, len(rows)), make([]int32, len(rows))
	rows = slices.SortedFunc(slices.Values(rows), func(a, b storage.Sweepable) int { return a.Name.Compare(b.Name) })
	for i, r := range rows {
		names[i], fences[i], revisions[i] = r.Name, r.Fence, r.Revision
	}
	err = s.gate.Do(func() error {
		deleted, err = s.execute(ctx, deleteSQL, append(nameArrays(names), fences, revisions)...)
		return err
	})
	return deleted, err
}

// sweepError sorts an error of a statement of the sweeper's. A connection that breaks can lose the answer of one that was
// done.
func sweepError(err error) error {
	if pg, ok := reported(err); ok && unsweepable(pg) {
		return fmt.Errorf("sweeping a row: %w", err)
	}
	return unavailable(err)
}

// unsweepable tells that rows are to blame. Besides what a call could bring, the page of one is damaged (XX001), somebody's
// trigger raises an exception for it (class P0), a stranger has locked it (55P03), or they are too large to be deleted
// together in the time of a statement (57014).
func unsweepable(pg *pgconn.PgError) bool {
	switch pg.Code {
	case "XX001", "55P03", "57014":
		return true
	}
	return poisoned(pg) || pg.Code[:2] == "P0"
}

// execute runs a statement of the sweeper's, which may be run again by the next sweep whatever became of it.
func (s *Store) execute(ctx context.Context, sql string, args ...any) (affected int, err error) {
	conn, err := s.acquireToWrite(ctx)
	if err != nil {
		return 0, unavailable(err)
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.writeTimeout)
	defer cancel()
	tag, err := conn.Exec(ctx, sql, args...)
	if err != nil {
		return 0, sweepError(err)
	}
	return int(tag.RowsAffected()), nil
}
