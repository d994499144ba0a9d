package postgres

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage"
)

// The keys that stay open are noted in a small table of their own. A key is found by the fence of its acquisition, which
// is the time of it: what was acquired since the last look, storage.OpenAfter ago or earlier, and is in progress still. A row
// that was written late is not passed over, because a decision older than that is not written any more.

// trackedSQL reads how far the search came, and how far it may go now.
var trackedSQL = `SELECT coalesce((SELECT fence FROM reprise_progress WHERE name = 'open'), 0),
  (extract(epoch FROM now() - ` + interval(storage.OpenAfter) + `) * 1000000)::bigint`

const (
	// nextHourSQL steps through the hours of the sweeper's index: a few, however many rows there are.
	nextHourSQL = `SELECT min(sweep_hour) FROM reprise_keys WHERE sweep_hour > $1`

	acquiredSQL = `SELECT k.fence, k.tenant, k.created_at, k.operation, k.subject, k.key, k.state = 1
FROM reprise_keys AS k
WHERE k.sweep_hour = $1 AND (k.fence, k.tenant, k.operation, k.subject, k.key) > ($2, $3, $4, $5, $6) AND k.fence <= $7
ORDER BY k.fence, k.tenant, k.operation, k.subject, k.key LIMIT $8`

	// insertOpenSQL notes open keys. The look of a sweeper who is late does not undo a later one: its closing, late too, would
	// then take a key off the list that was acquired anew.
	insertOpenSQL = `INSERT INTO reprise_open (tenant, created_at, operation, subject, key, fence)
SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::bigint[])
ON CONFLICT (tenant, created_at, operation, subject, key) DO UPDATE SET fence = greatest(reprise_open.fence, excluded.fence)`

	advanceSQL = `INSERT INTO reprise_progress (name, fence) VALUES ('open', $1)
ON CONFLICT (name) DO UPDATE SET fence = greatest(reprise_progress.fence, excluded.fence)`

	// notedSQL reads a page of the open keys, with whether each still is one.
	notedSQL = `SELECT o.fence, o.tenant, o.created_at, o.operation, o.subject, o.key, k.state IS NOT DISTINCT FROM 1
FROM (
  SELECT * FROM reprise_open AS p WHERE (p.tenant, p.created_at, p.operation, p.subject, p.key) > ($1, $2, $3, $4, $5)
  ORDER BY p.tenant, p.created_at, p.operation, p.subject, p.key LIMIT $6
) AS o LEFT JOIN reprise_keys AS k USING (tenant, created_at, operation, subject, key)
ORDER BY o.tenant, o.created_at, o.operation, o.subject, o.key`

	// closeSQL takes closed keys off the list, unless they were acquired anew and noted again meanwhile.
	closeSQL = `DELETE FROM reprise_open AS o
USING unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::bigint[]) AS c(tenant, created_at, operation, subject, key, fence)
WHERE o.tenant = c.tenant AND o.created_at = c.created_at AND o.operation = c.operation AND o.subject = c.subject AND o.key = c.key
  AND o.fence = c.fence`
)

// TrackOpen notes the keys that stay open, and forgets those that do not; see storage.Sweeper.
func (s *Store) TrackOpen(ctx context.Context, limit int) error {
	return s.gate.Do(func() error {
		if err := s.noteOpen(ctx, limit); err != nil {
			return err
		}
		return s.forgetClosed(ctx, limit)
	})
}

func (s *Store) noteOpen(ctx context.Context, limit int) error {
	var from, to int64
	err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, trackedSQL).Scan(&from, &to)
	})
	if err != nil || to <= from {
		return err
	}
	for hour := int32(-1 << 31); ; {
		var next *int32
		err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, nextHourSQL, hour).Scan(&next)
		})
		if err != nil {
			return err
		}
		if next == nil {
			break
		}
		hour = *next
		if err := s.noteOpenIn(ctx, hour, from, to, limit); err != nil {
			return err
		}
	}
	_, err = s.execute(ctx, advanceSQL, to)
	return err
}

// noteOpenIn notes what was acquired after one fence and up to another, and lies in one hour of the index.
func (s *Store) noteOpenIn(ctx context.Context, hour int32, from, to int64, limit int) error {
	last := openKey{fence: from + 1} // before every row with that fence
	for {
		page, err := s.openKeys(ctx, acquiredSQL, hour, last.fence, last.tenant, last.operation, last.subject, last.key, to, limit)
		if err != nil {
			return err
		}
		if open := slices.DeleteFunc(slices.Clone(page), func(k openKey) bool { return !k.open }); len(open) > 0 {
			if _, err := s.execute(ctx, insertOpenSQL, openArrays(open)...); err != nil {
				return err
			}
		}
		if len(page) < limit {
			return nil
		}
		last = page[limit-1]
	}
}

func (s *Store) forgetClosed(ctx context.Context, limit int) error {
	var last openKey
	for {
		page, err := s.openKeys(ctx, notedSQL, last.tenant, last.createdAt, last.operation, last.subject, last.key, limit)
		if err != nil {
			return err
		}
		if closed := slices.DeleteFunc(slices.Clone(page), func(k openKey) bool { return k.open }); len(closed) > 0 {
			if _, err := s.execute(ctx, closeSQL, openArrays(closed)...); err != nil {
				return err
			}
		}
		if len(page) < limit {
			return nil
		}
		last = page[limit-1]
	}
}

// openKey is a key that is, or was, open.
type openKey struct {
	fence                           int64
	tenant, operation, subject, key string
	createdAt                       time.Time
	open                            bool
}

func (k openKey) compare(o openKey) int {
	return cmp.Or(strings.Compare(k.tenant, o.tenant), k.createdAt.Compare(o.createdAt), strings.Compare(k.operation, o.operation),
		strings.Compare(k.subject, o.subject), strings.Compare(k.key, o.key))
}

func (s *Store) openKeys(ctx context.Context, sql string, args ...any) (keys []openKey, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		keys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k openKey, err error) {
			err = row.Scan(&k.fence, &k.tenant, &k.createdAt, &k.operation, &k.subject, &k.key, &k.open)
			return k, err
		})
		return err
	})
	return keys, err
}

// openArrays are the columns of the open keys, in the order of their primary key, so that two sweepers do not wait for
// each other in a circle.
func openArrays(keys []openKey) []any {
	slices.SortFunc(keys, openKey.compare)
	var tenants, operations, subjects, names []string
	var created []time.Time
	var fences []int64
	for _, k := range keys {
		tenants, created, operations = append(tenants, k.tenant), append(created, k.createdAt), append(operations, k.operation)
		subjects, names, fences = append(subjects, k.subject), append(names, k.key), append(fences, k.fence)
	}
	return []any{tenants, created, operations, subjects, names, fences}
}

const (
	openSizeSQL = `SELECT now(), count(*) FROM (SELECT FROM reprise_open LIMIT $1) AS o`

	openCountsSQL = `SELECT derived, count(*), min(created_at) FROM (
  SELECT ` + derivedState + ` AS derived, k.created_at
  FROM (SELECT * FROM reprise_open LIMIT $1) AS o JOIN reprise_keys AS k USING (tenant, created_at, operation, subject, key)
  WHERE k.state = 1 AND ` + present + `
) AS counted GROUP BY derived`
)

// OpenKeys counts the open keys of all tenants; see storage.Sweeper.
func (s *Store) OpenKeys(ctx context.Context) (open storage.OpenKeys, err error) {
	err = s.gate.Do(func() error {
		return s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			open, err = countOpen(ctx, conn)
			return err
		})
	})
	return open, err
}

func countOpen(ctx context.Context, conn *pgx.Conn) (storage.OpenKeys, error) {
	open := storage.OpenKeys{Counts: map[storage.State]storage.Count{}}
	var size int
	if err := conn.QueryRow(ctx, openSizeSQL, storage.OpenCounted).Scan(&open.Now, &size); err != nil {
		return open, err
	}
	open.Now = open.Now.UTC()
	rows, err := conn.Query(ctx, openCountsSQL, storage.OpenCounted)
	if err != nil {
		return open, err
	}
	defer rows.Close()
	for rows.Next() {
		var state storage.State
		c := storage.Count{AtLeast: size == storage.OpenCounted}
		var oldest time.Time
		if err := rows.Scan(&state, &c.N, &oldest); err != nil {
			return open, err
		}
		open.Counts[state] = c
		if state == storage.InProgress {
			open.Oldest = oldest.UTC()
		}
	}
	return open, rows.Err()
}
