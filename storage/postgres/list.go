package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/browse"
)

var _ browse.Table = table{}

// List gives a page of records; see storage.Browser.
func (s *Store) List(ctx context.Context, q storage.ListQuery) (p storage.Page, err error) {
	err = s.gate.Do(func() error { p, err = browse.List(ctx, table{s}, q); return err })
	return p, err
}

// Stats counts the records of a tenant; see storage.Browser.
func (s *Store) Stats(ctx context.Context, tenant, operation string) (stats storage.Stats, err error) {
	err = s.gate.Do(func() error { stats, err = browse.Stats(ctx, table{s}, tenant, operation); return err })
	return stats, err
}

// OpenIsComplete: keys come to the open ones a minute after they were acquired; see TrackOpen.
func (table) OpenIsComplete() bool { return false }

// source is how a kind of span is read: the table whose rows are in its order, and the way from there to the records,
// which are k.
type source struct{ ordered, records, alias string }

var sources = map[browse.Source]source{
	browse.All:  {`reprise_keys AS k`, `reprise_keys AS k`, "k"},
	browse.Open: {`reprise_open AS o`, `reprise_open AS o JOIN reprise_keys AS k USING (tenant, created_at, operation, subject, key)`, "o"},
}

// inSpan is the condition of a span. The one on '-infinity' is always true; only with it the index for pages is used.
func (s source) inSpan() string {
	return s.of(`@.tenant = $1 AND @.created_at > '-infinity'
  AND (@.created_at, @.operation, @.subject, @.key) < ($2, $3, $4, $5)
  AND (@.created_at, @.operation, @.subject, @.key) >= ($6, $7, $8, $9)`)
}

func (s source) newestFirst() string {
	return s.of(`ORDER BY @.created_at DESC, @.operation DESC, @.subject DESC, @.key DESC`)
}

// of puts the alias of the ordered table for each @.
func (s source) of(sql string) string { return strings.ReplaceAll(sql, "@", s.alias) }

func spanArgs(s browse.Span) []any {
	return []any{s.Tenant, s.From.CreatedAt, s.From.Operation, s.From.Subject, s.From.Key,
		s.To.CreatedAt, s.To.Operation, s.To.Subject, s.To.Key}
}

// derivedState and present are what StateAt and ExpiredAt of a record are, for rows. now() is the transaction's.
const (
	derivedState = `CASE WHEN k.state <> 1 THEN k.state WHEN k.lease_expires_at > now() THEN 1 WHEN k.on_lapse = 1 THEN 6 ELSE 5 END`
	present      = `(k.state = 1 AND k.on_lapse = 1 OR k.expires_at > now())`
)

func (s source) nthSQL() string {
	return s.of(`SELECT @.created_at, @.operation, @.subject, @.key FROM `) + s.ordered + `
WHERE ` + s.inSpan() + ` ` + s.newestFirst() + ` OFFSET $10 LIMIT 1`
}

// Nth finds the end of what one question reads; see browse.Table.
func (s table) Nth(ctx context.Context, span browse.Span, n int) (*storage.Position, error) {
	var found *storage.Position
	err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var p storage.Position
		err := conn.QueryRow(ctx, sources[span.Source].nthSQL(), append(spanArgs(span), n-1)...).Scan(&p.CreatedAt, &p.Operation, &p.Subject, &p.Key)
		if err == pgx.ErrNoRows {
			return nil
		}
		p.CreatedAt = p.CreatedAt.UTC()
		found = &p
		return err
	})
	return found, err
}

// browsed are the columns of a record in a list: the body stays in the database.
var browsed = strings.TrimSuffix(qualified("k"), "k.body") + "NULL::bytea"

func (s source) rowsSQL() string {
	return `SELECT k.operation, k.subject, k.key, ` + browsed + `
FROM ` + s.records + `
WHERE ` + s.inSpan() + ` AND ` + present + `
  AND ($10 = '' OR k.operation = $10) AND ($11::text IS NULL OR k.subject = $11) AND ($12 = '' OR k.key = $12)
  AND starts_with(k.key, $13) AND ($14 = 0 OR ` + derivedState + ` = $14)
` + s.newestFirst() + ` LIMIT $15`
}

// Rows reads the records of a span that fit; see browse.Table.
func (s table) Rows(ctx context.Context, span browse.Span, q storage.ListQuery, limit int) (records []*storage.Record, now time.Time, err error) {
	args := append(spanArgs(span), q.Operation, q.Subject, q.Key, q.KeyPrefix, int16(q.State), limit)
	now, err = s.readWithClock(ctx, func(rows pgx.Rows) error {
		records = nil
		for rows.Next() {
			name := storage.Name{Tenant: span.Tenant}
			rec, err := scanRecord(rows, &name.Operation, &name.Subject, &name.Key)
			if err != nil {
				return err
			}
			rec.Name = name
			records = append(records, rec)
		}
		return rows.Err()
	}, sources[span.Source].rowsSQL(), args...)
	return records, now, err
}

// readWithClock reads rows, however few, and the clock by which they were found: in one transaction every now() is the same.
func (s *Store) readWithClock(ctx context.Context, collect func(pgx.Rows) error, sql string, args ...any) (now time.Time, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var batch pgx.Batch
		batch.Queue(`SELECT now()`).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
		batch.Queue(sql, args...).Query(collect)
		return conn.SendBatch(ctx, &batch).Close()
	})
	return now.UTC(), err
}

func (s source) countsSQL() string {
	return `SELECT derived, n, operation, subject, key, created_at, lease_expires_at FROM (
  SELECT ` + derivedState + ` AS derived, k.operation, k.subject, k.key, k.created_at, k.lease_expires_at,
    count(*) OVER (PARTITION BY ` + derivedState + `) AS n,
    row_number() OVER (PARTITION BY ` + derivedState + ` ORDER BY k.created_at, k.operation, k.subject, k.key) AS place
  FROM ` + s.records + `
  WHERE ` + s.inSpan() + ` AND ` + present + ` AND ($10 = '' OR k.operation = $10)
) AS counted WHERE place = 1`
}

// Counts counts the records of a span; see browse.Table.
func (s table) Counts(ctx context.Context, span browse.Span, operation string) (counts map[storage.State]storage.Count, now time.Time, err error) {
	now, err = s.readWithClock(ctx, func(rows pgx.Rows) error {
		counts = map[storage.State]storage.Count{}
		for rows.Next() {
			if err := countInto(counts, rows, span.Tenant); err != nil {
				return err
			}
		}
		return rows.Err()
	}, sources[span.Source].countsSQL(), append(spanArgs(span), operation)...)
	return counts, now, err
}

func countInto(counts map[storage.State]storage.Count, row pgx.Row, tenant string) error {
	var state storage.State
	var c storage.Count
	rec := &storage.Record{Name: storage.Name{Tenant: tenant}}
	err := row.Scan(&state, &c.N, &rec.Operation, &rec.Subject, &rec.Key, &rec.CreatedAt, &rec.LeaseExpiresAt)
	rec.CreatedAt, rec.LeaseExpiresAt = rec.CreatedAt.UTC(), rec.LeaseExpiresAt.UTC()
	if state.IsOpen() {
		c.Oldest = rec
	}
	counts[state] = c
	return err
}

// Held tells which names have a live lease; see storage.Watcher. The clock is that of the statement, which is short.
func (s *Store) Held(ctx context.Context, names []storage.Name) (held []bool, err error) {
	err = s.gate.Do(func() error {
		return s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			held = make([]bool, len(names))
			rows, err := conn.Query(ctx, heldSQL, nameArrays(names)...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var n pgtype.Int8
				if err := rows.Scan(&n); err != nil {
					return err
				}
				held[n.Int64-1] = true
			}
			return rows.Err()
		})
	})
	return held, err
}
