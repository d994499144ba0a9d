package sqlite

import (
	"context"
	"database/sql"

	"github.com/reprise-idempotency/reprise/storage"
)

// TrackOpen has nothing to do: the index of the open keys is kept by SQLite; see storage.Sweeper.
func (s *Store) TrackOpen(context.Context, int) error {
	return s.gate.Do(func() error { return nil })
}

// openCounted bounds what a count of open keys reads.
const openCounted = 10_000

// OpenKeys counts the open keys of all tenants; see storage.Sweeper. Those of the last minute are left out, as where
// they are noted after it.
func (s *Store) OpenKeys(ctx context.Context) (storage.OpenKeys, error) {
	now := s.now()
	open := storage.OpenKeys{Counts: map[storage.State]storage.Count{}, Now: now}
	total := 0
	err := s.gate.Do(func() error {
		return s.query(ctx, func(row *sql.Rows) error {
			var state storage.State
			var c storage.Count
			var oldest int64
			err := row.Scan(&state, &c.N, &oldest)
			open.Counts[state] = c
			if state == storage.InProgress {
				open.Oldest = fromMicro(oldest)
			}
			total += c.N
			return err
		}, `SELECT derived, count(*), min(created_at) FROM (
			SELECT `+derivedState+` AS derived, created_at FROM reprise_keys WHERE state = 1 AND fence <= ?1 AND `+present+` LIMIT ?2
			) GROUP BY derived`, now.Add(-storage.OpenAfter).UnixMicro(), openCounted, nil, nil, nil, nil, nil, nil, nil, now.UnixMicro())
	})
	for state, c := range open.Counts {
		c.AtLeast = total == openCounted
		open.Counts[state] = c
	}
	return open, err
}
