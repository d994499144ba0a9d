package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// AuditRequest asks for what operators did. A nil field was not given: it leaves nothing out.
type AuditRequest struct {
	Tenant    *string
	Operation *string
	Subject   *string // with Operation; empty: keys without a subject
	Key       *string // with Operation
	Limit     *int
	Cursor    *string
}

// Acts is a page of the audit log.
type Acts struct {
	Acts   []storage.Act
	Cursor string // of the next page; empty at the end
}

// Audit gives a page of what operators did, newest first. Needs the scope keys:admin.
func (s *Service) Audit(ctx context.Context, p auth.Principal, r AuditRequest) (Acts, error) {
	if err := allow(p, auth.KeysAdmin); err != nil {
		return Acts{}, err
	}
	q, err := s.actQuery(p, r)
	if err != nil {
		return Acts{}, err
	}
	limit := q.Limit
	q.Limit++ // to see whether there are more
	var acts []storage.Act
	err = s.look(ctx, func() (err error) { acts, err = s.store.Acts(ctx, q); return err })
	if err != nil {
		return Acts{}, unread(err)
	}
	page := Acts{Acts: acts}
	if len(acts) > limit {
		page.Acts = acts[:limit]
		last := acts[limit-1]
		page.Cursor = cursor{Filters: actFilters(q), Micro: last.At.UnixMicro(), First: last.ActID}.String()
	}
	return page, nil
}

func (s *Service) actQuery(p auth.Principal, r AuditRequest) (q storage.ActQuery, err error) {
	if q.Tenant, err = tenantFor(p, r.Tenant); err != nil {
		return q, err
	}
	if err = s.nameFilters(r.Operation, r.Subject, r.Key); err != nil {
		return q, err
	}
	if r.Operation == nil && (r.Subject != nil || r.Key != nil) {
		return q, Invalid("operation", "is required with subject and key")
	}
	q.Operation, q.Subject, q.Key = valueOf(r.Operation), r.Subject, valueOf(r.Key)
	if q.Limit, err = s.pageLimit(r.Limit); err != nil {
		return q, err
	}
	c, err := parseCursor(actFilters(q), r.Cursor)
	if c == nil {
		return q, err
	}
	if id, err := uuid.Parse(c.First); err != nil || id.String() != c.First {
		return q, Invalid("cursor", "is none that a page gave")
	}
	q.After = &storage.ActPosition{At: time.UnixMicro(c.Micro).UTC(), ActID: c.First}
	return q, nil
}
