package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
)

// Pool gives the connections, for tests that ask each of them.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Table gives the rows past the gate and the rules.
func (s *Store) Table() cas.Table { return table{s} }

// Statement is a hot statement with the arguments of one group.
type Statement struct {
	SQL  string
	Args []any
}

// LoadStatement is what reads a group.
func LoadStatement(names []storage.Name) Statement { return Statement{loadSQL, nameArrays(names)} }

// SaveStatements are what writes a group: the rows to make, and the rows to replace.
func SaveStatements(changes []cas.Change) (insert, update Statement, err error) {
	made, _, replaced, _, err := arrays(changes)
	return Statement{insertSQL, made.args()}, Statement{updateSQL, replaced.args()}, err
}
