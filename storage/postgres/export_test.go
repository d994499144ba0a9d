package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/browse"
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

// HeldStatement asks which names have a live lease.
func HeldStatement(names []storage.Name) Statement { return Statement{heldSQL, nameArrays(names)} }

// DeleteStatement deletes rows that the sweeper saw, sorted by name.
func DeleteStatement(names []storage.Name, fence int64, revision int32) Statement {
	fences, revisions := make([]int64, len(names)), make([]int32, len(names))
	for i := range names {
		fences[i], revisions[i] = fence, revision
	}
	return Statement{deleteSQL, append(nameArrays(names), fences, revisions)}
}

// NthStatement finds the n-th row of a span.
func NthStatement(s browse.Span, n int) Statement {
	return Statement{sources[s.Source].nthSQL(), append(spanArgs(s), n-1)}
}

// RowsStatement reads the records of a span that fit a query.
func RowsStatement(s browse.Span, q storage.ListQuery, limit int) Statement {
	return Statement{sources[s.Source].rowsSQL(), append(spanArgs(s), q.Operation, q.Subject, q.Key, q.KeyPrefix, int16(q.State), limit)}
}

// CountsStatement counts the records of a span.
func CountsStatement(s browse.Span) Statement {
	return Statement{sources[s.Source].countsSQL(), append(spanArgs(s), "")}
}

// ExpiredStatement lists rows to be swept.
func ExpiredStatement(after storage.Sweepable, limit int) Statement {
	return Statement{expiredSQL, []any{after.SweepHour, after.Fence, after.Tenant, after.Operation, after.Subject, after.Key, limit}}
}

// TrackStatements search for open keys: the next hour of the index, what was acquired in an hour since a fence, the keys
// that are noted, and their counts.
func TrackStatements(hour int32, fence int64, limit int) (nextHour, acquired, noted, counts Statement) {
	return Statement{nextHourSQL, []any{hour}}, Statement{acquiredSQL, []any{hour, fence, "", "", "", "", int64(1) << 53, limit}},
		Statement{notedSQL, []any{"", time.Time{}, "", "", "", limit}}, Statement{openCountsSQL, []any{storage.OpenCounted}}
}

// ListStatements write the list of open keys: they note a key, and take it off.
func ListStatements(n storage.Name, created time.Time, fence int64) (note, forget Statement) {
	args := openArrays([]openKey{{fence: fence, tenant: n.Tenant, operation: n.Operation, subject: n.Subject, key: n.Key, createdAt: created}})
	return Statement{insertOpenSQL, args}, Statement{closeSQL, args}
}

// ActsStatement lists the newest acts of a tenant.
func ActsStatement(tenant string, limit int) Statement {
	at := pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	return Statement{actsSQL, []any{tenant, at, "ffffffff-ffff-ffff-ffff-ffffffffffff", "", nil, "", limit}}
}
