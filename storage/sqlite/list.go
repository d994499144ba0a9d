package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

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

// OpenIsComplete: an index of its own has all keys in progress.
func (table) OpenIsComplete() bool { return true }

const newestFirst = `ORDER BY created_at DESC, operation DESC, subject DESC, key DESC`

// inSpan is the condition of a span; for the open records with that of their index.
func inSpan(s browse.Source) string {
	span := `tenant = ?1 AND (created_at, operation, subject, key) < (?2, ?3, ?4, ?5) AND (created_at, operation, subject, key) >= (?6, ?7, ?8, ?9)`
	if s == browse.Open {
		return span + ` AND state = 1`
	}
	return span
}

func spanArgs(s browse.Span) []any {
	return []any{s.Tenant, s.From.CreatedAt.UnixMicro(), s.From.Operation, s.From.Subject, s.From.Key,
		s.To.CreatedAt.UnixMicro(), s.To.Operation, s.To.Subject, s.To.Key}
}

// derivedState is what StateAt of a record is, for rows; clock is the placeholder of the time.
func derivedState(clock string) string {
	return `CASE WHEN state <> 1 THEN state WHEN lease_expires_at > ` + clock + ` THEN 1 WHEN on_lapse = 1 THEN 6 ELSE 5 END`
}

// present tells the rows that have not expired.
func present(clock string) string {
	return `(state = 1 AND on_lapse = 1 OR expires_at > ` + clock + `)`
}

// Nth finds the end of what one question reads; see browse.Table.
func (s table) Nth(ctx context.Context, span browse.Span, n int) (*storage.Position, error) {
	var p storage.Position
	var created int64
	err := s.read(ctx, func(ctx context.Context) error {
		return s.reader.QueryRowContext(ctx, `SELECT created_at, operation, subject, key FROM reprise_keys WHERE `+inSpan(span.Source)+` `+
			newestFirst+` LIMIT 1 OFFSET ?10`, append(spanArgs(span), n-1)...).Scan(&created, &p.Operation, &p.Subject, &p.Key)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	p.CreatedAt = fromMicro(created)
	return &p, err
}

// browsed are the columns of a record in a list: the body stays in the database.
var browsed = strings.TrimSuffix(strings.Join(columns, ", "), "body") + "NULL, false"

// Rows reads the records of a span that fit; see browse.Table.
func (s table) Rows(ctx context.Context, span browse.Span, q storage.ListQuery, limit int) (records []*storage.Record, now time.Time, err error) {
	now = s.now()
	args := append(spanArgs(span), now.UnixMicro(), q.Operation, q.Subject, q.Key, q.KeyPrefix, int16(q.State), limit)
	err = s.query(ctx, func(row *sql.Rows) error {
		name := storage.Name{Tenant: span.Tenant}
		rec, err := scan(row, &name.Operation, &name.Subject, &name.Key)
		if err == nil {
			rec.Name = name
			records = append(records, rec)
		}
		return err
	}, `SELECT operation, subject, key, `+browsed+` FROM reprise_keys WHERE `+inSpan(span.Source)+` AND `+present("?10")+`
		AND (?11 = '' OR operation = ?11) AND (?12 IS NULL OR subject = ?12) AND (?13 = '' OR key = ?13)
		AND substr(key, 1, length(?14)) = ?14 AND (?15 = 0 OR `+derivedState("?10")+` = ?15) `+newestFirst+` LIMIT ?16`, args...)
	return records, now, err
}

// Counts counts the records of a span; see browse.Table. SQLite takes the other columns of a group from the row that has
// the minimum.
func (s table) Counts(ctx context.Context, span browse.Span, operation string) (map[storage.State]storage.Count, time.Time, error) {
	now := s.now()
	counts := map[storage.State]storage.Count{}
	err := s.query(ctx, func(row *sql.Rows) error {
		var state storage.State
		var c storage.Count
		var created, leaseEnd int64
		rec := &storage.Record{Name: storage.Name{Tenant: span.Tenant}}
		err := row.Scan(&state, &c.N, &rec.Operation, &rec.Subject, &rec.Key, &created, &leaseEnd)
		rec.CreatedAt, rec.LeaseExpiresAt = fromMicro(created), fromMicro(leaseEnd)
		if state.IsOpen() {
			c.Oldest = rec
		}
		counts[state] = c
		return err
	}, `SELECT derived, count(*), operation, subject, key, min(created_at), lease_expires_at FROM (
			SELECT `+derivedState("?10")+` AS derived, operation, subject, key, created_at, lease_expires_at FROM reprise_keys
			WHERE `+inSpan(span.Source)+` AND `+present("?10")+` AND (?11 = '' OR operation = ?11)
		) GROUP BY derived`, append(spanArgs(span), now.UnixMicro(), operation)...)
	return counts, now, err
}

// Held tells which names have a live lease; see storage.Watcher.
func (s *Store) Held(ctx context.Context, names []storage.Name) ([]bool, error) {
	list := make([][4]string, len(names))
	for i, n := range names {
		list[i] = [4]string{n.Tenant, n.Operation, n.Subject, n.Key}
	}
	asked, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	held := make([]bool, len(names))
	err = s.gate.Do(func() error {
		return s.query(ctx, func(row *sql.Rows) error {
			var n int
			err := row.Scan(&n)
			held[n] = true
			return err
		}, `SELECT c.key FROM json_each(?1) AS c CROSS JOIN reprise_keys AS k
			ON k.tenant = c.value ->> 0 AND k.operation = c.value ->> 1 AND k.subject = c.value ->> 2 AND k.key = c.value ->> 3
			WHERE k.state = 1 AND k.lease_expires_at > ?2`, string(asked), s.now().UnixMicro())
	})
	return held, err
}

// read runs what only reads, and bounds the wait for a connection.
func (s *Store) read(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	if err := f(ctx); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return readError(err)
	}
	return nil
}

// query reads rows, each by a function.
func (s *Store) query(ctx context.Context, each func(*sql.Rows) error, statement string, args ...any) error {
	return s.read(ctx, func(ctx context.Context) error {
		rows, err := s.reader.QueryContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := each(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}
