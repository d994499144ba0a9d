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

// OpenKeys counts the open keys of all tenants; see storage.Sweeper. Those of the last minute are left out, as where
// they are noted after it.
func (s *Store) OpenKeys(ctx context.Context) (storage.OpenKeys, error) {
	now := s.now()
	open := storage.OpenKeys{Counts: map[storage.State]storage.Count{}, Now: now}
	var examined int
	err := s.gate.Do(func() error {
		return s.query(ctx, func(row *sql.Rows) error {
			var state storage.State
			var c storage.Count
			var oldest int64
			err := row.Scan(&state, &c.N, &oldest, &examined)
			open.Counts[state] = c
			if state == storage.InProgress {
				open.Oldest = fromMicro(oldest)
			}
			return err
		}, openCountsSQL, storage.OpenCounted, now.UnixMicro(), now.Add(-storage.OpenAfter).UnixMicro())
	})
	for state, c := range open.Counts {
		c.AtLeast = examined == storage.OpenCounted
		open.Counts[state] = c
	}
	return open, err
}

var openCountsSQL = `WITH examined AS MATERIALIZED (
		SELECT state, on_lapse, lease_expires_at, expires_at, created_at, fence FROM reprise_keys WHERE state = 1 LIMIT ?1
	)
	SELECT ` + derivedState("?2") + ` AS derived, count(*), min(created_at), (SELECT count(*) FROM examined)
	FROM examined WHERE fence <= ?3 AND ` + present("?2") + ` GROUP BY derived`
