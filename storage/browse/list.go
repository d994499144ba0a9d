package browse

import (
	"context"

	"github.com/reprise-idempotency/reprise/storage"
)

// List answers as storage.Browser promises.
func List(ctx context.Context, t Table, q storage.ListQuery) (storage.Page, error) {
	if q.State.IsOpen() && (t.OpenIsComplete() || q.After != nil && q.After.Open) {
		return page(ctx, t, span(Open, q), q)
	}
	p, err := page(ctx, t, span(All, q), q)
	if err != nil || !q.State.IsOpen() || p.Next == nil || len(p.Records) == q.Limit {
		return p, err
	}
	// The newest are examined; what is older and still open is noted apart.
	q.After, q.Limit = p.Next, q.Limit-len(p.Records)
	more, err := page(ctx, t, span(Open, q), q)
	more.Records = append(p.Records, more.Records...)
	return more, err
}

// page examines a bounded part of a span: what fits may be rare in it, and what has expired is not swept at once.
func page(ctx context.Context, t Table, s Span, q storage.ListQuery) (storage.Page, error) {
	var p storage.Page
	bound, err := t.Nth(ctx, s, examined)
	if err != nil {
		return p, err
	}
	if bound != nil {
		s.To, p.Next = *bound, bound
	}
	if p.Records, p.Now, err = t.Rows(ctx, s, q, q.Limit+1); err != nil {
		return p, err
	}
	if len(p.Records) > q.Limit {
		p.Records = p.Records[:q.Limit]
		last := storage.PositionOf(p.Records[q.Limit-1])
		p.Next = &last
	}
	if p.Next != nil {
		p.Next.Open = s.Source == Open
	}
	return p, nil
}
