package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/column"
)

// Load reads the rows of names and, before them, the clock; see cas.Table.
func (s table) Load(ctx context.Context, names []storage.Name) (rows []*storage.Record, now time.Time, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, now, err = loadFrom(ctx, conn, names)
		return err
	})
	return rows, now, err
}

// read runs what only reads, within readTimeout. A connection that broke is no outage yet, and reading can be tried
// again: after a restart of the server every pooled connection is broken once.
func (s *Store) read(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	var err error
	for range s.pool.Config().MaxConns + 1 {
		conn, noConn := s.pool.Acquire(ctx)
		if noConn != nil {
			return unavailable(noConn)
		}
		err = f(ctx, conn.Conn())
		conn.Release()
		if err == nil || !broken(err) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return readError(err)
	}
	return nil
}

func loadFrom(ctx context.Context, conn *pgx.Conn, names []storage.Name) ([]*storage.Record, time.Time, error) {
	rows := make([]*storage.Record, len(names))
	var now time.Time
	var commit string
	var batch pgx.Batch
	batch.Queue(`SELECT clock_timestamp(), current_setting('synchronous_commit')`).QueryRow(func(row pgx.Row) error {
		return row.Scan(&now, &commit)
	})
	batch.Queue(loadSQL, nameArrays(names)...).Query(func(r pgx.Rows) error {
		for r.Next() {
			n, rec, err := scan(r)
			if err != nil {
				return err
			}
			rec.Name = names[n]
			rows[n] = rec
		}
		return r.Err()
	})
	err := conn.SendBatch(ctx, &batch).Close()
	if err == nil && commit == "off" { // since the connection was made
		err = ErrUnsafe
	}
	return rows, now.UTC(), err
}

func nameArrays(names []storage.Name) []any {
	parts := [4][]string{}
	for _, n := range names {
		for i, part := range [4]string{n.Tenant, n.Operation, n.Subject, n.Key} {
			parts[i] = append(parts[i], part)
		}
	}
	return []any{parts[0], parts[1], parts[2], parts[3]}
}

// scan reads one row of loadSQL.
func scan(row pgx.Row) (n int, rec *storage.Record, err error) {
	var ordinal int64
	rec, err = scanRecord(row, &ordinal)
	return int(ordinal - 1), rec, err
}

// scanRecord reads a row of the columns of the list in statements.go, in its order, after what comes before them.
func scanRecord(row pgx.Row, before ...any) (*storage.Record, error) {
	rec := &storage.Record{}
	var (
		earlier              string
		token                pgtype.UUID
		leaseMS, retentionMS int64
		settledAt            pgtype.Timestamptz
		seq                  pgtype.Int8
		bodyDropped          bool
		status               *int16
		checkpoint           []byte
		headers, body        []byte
	)
	err := row.Scan(append(before, &rec.Fingerprint, &rec.AttemptID, &earlier, &rec.Holder, &token, &rec.CreatedAt, &rec.Fence,
		&leaseMS, &retentionMS, &rec.Attempt, &rec.SweepHour, &rec.Takeover, &rec.OnLapse, &rec.State, &rec.Revision,
		&rec.Version, &rec.UpdatedAt, &rec.LeaseExpiresAt, &rec.ExpiresAt, &settledAt, &seq, &rec.LastError,
		&rec.ResourceID, &rec.ResultHash, &bodyDropped, &status, &checkpoint, &headers, &body)...)
	if err != nil {
		return nil, err
	}
	rec.EarlierAttemptIDs = column.ParseAttemptIDs(earlier)
	rec.Token = token.Bytes
	rec.Lease = time.Duration(leaseMS) * time.Millisecond
	rec.Retention = time.Duration(retentionMS) * time.Millisecond
	for _, t := range []*time.Time{&rec.CreatedAt, &rec.UpdatedAt, &rec.LeaseExpiresAt, &rec.ExpiresAt} {
		*t = t.UTC()
	}
	if settledAt.Valid {
		rec.SettledAt = settledAt.Time.UTC()
	}
	if seq.Valid {
		rec.Checkpoint = &storage.Checkpoint{Seq: seq.Int64, Data: string(checkpoint)}
	}
	rec.Response, err = column.Response(status, headers, body, bodyDropped)
	return rec, err
}
