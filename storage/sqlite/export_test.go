package sqlite

import (
	"database/sql"
	"time"

	"github.com/reprise-idempotency/reprise/storage/cas"
)

// Pools gives the connections, for tests that ask each of them.
func (s *Store) Pools() map[string]*sql.DB {
	return map[string]*sql.DB{"writer": s.writer, "reader": s.reader}
}

// Table gives the rows past the gate and the rules.
func (s *Store) Table() cas.Table { return table{s} }

// SetClock sets the store's clock, for tests of the very instant at which something is over.
func (s *Store) SetClock(now func() time.Time) { s.clock = now }

// Pool opens connections as the store does, with further parameters.
var Pool = pool
