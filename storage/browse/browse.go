// Package browse finds the records that people look for without reading all of them: how a page is put together is here
// once, and a backend runs the statements.
package browse

import (
	"context"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// Source is where records are looked for.
type Source int

const (
	All  Source = iota // every record of the tenant
	Open               // those in progress, as far as they are noted apart (see Table.OpenIsComplete)
)

// Span is a part of a source in the order of lists: after From and down to To, which belongs to it.
type Span struct {
	Source   Source
	Tenant   string
	From, To storage.Position
}

// Table is what a backend does. It reads a span of a source, newest first, and leaves out what has expired.
type Table interface {
	// Nth gives the position of the n-th row of a span, expired ones counted too; nil when it has fewer.
	Nth(ctx context.Context, s Span, n int) (*storage.Position, error)

	// Rows gives up to limit records of a span that fit the query, with all but the bodies of their responses.
	Rows(ctx context.Context, s Span, q storage.ListQuery, limit int) ([]*storage.Record, time.Time, error)

	// Counts counts the records of a span by derived state, and gives the oldest of each; of one operation when it is not
	// empty.
	Counts(ctx context.Context, s Span, operation string) (map[storage.State]storage.Count, time.Time, error)

	// OpenIsComplete tells that every record in progress is in the source Open. Else it lacks those that were acquired
	// lately.
	OpenIsComplete() bool
}

// Bounds on what one question reads.
const (
	examined = 2000   // rows of a page: some milliseconds, and a page of something common is found within it
	counted  = 10_000 // rows of a count, in each source
)

// Newest and oldest are beyond every position.
var (
	newest = storage.Position{CreatedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	oldest = storage.Position{CreatedAt: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)}
)

// span gives what a query asks of a source.
func span(source Source, q storage.ListQuery) Span {
	s := Span{Source: source, Tenant: q.Tenant, From: newest, To: oldest}
	if !q.CreatedBefore.IsZero() {
		s.From.CreatedAt = q.CreatedBefore
	}
	if q.After != nil && q.After.Compare(s.From) < 0 {
		s.From = *q.After
	}
	if !q.CreatedFrom.IsZero() {
		s.To.CreatedAt = q.CreatedFrom
	}
	return s
}
