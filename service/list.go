package service

import (
	"context"
	"time"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// ListRequest asks for keys of a tenant. A nil field was not given: it leaves nothing out.
type ListRequest struct {
	Tenant        *string
	Operation     *string
	Subject       *string // empty: keys without a subject
	Key           *string // not with KeyPrefix
	KeyPrefix     *string
	State         *string
	CreatedAfter  *time.Time // the first instant that counts
	CreatedBefore *time.Time // the first that does not
	Limit         *int
	Cursor        *string // of the page before, with the same fields
}

// Listing is a page of records, without the responses.
type Listing struct {
	Records []Record
	Cursor  string // of the next page; empty at the end
}

// defaultListLimit is how many keys or acts a page has that names no limit.
const defaultListLimit = 50

// List gives a page of keys, newest first. It reads a bounded number of rows: a page may be short, or empty, and still
// have a cursor. Needs the scope keys:read.
func (s *Service) List(ctx context.Context, p auth.Principal, r ListRequest) (Listing, error) {
	if err := allow(p, auth.KeysRead); err != nil {
		return Listing{}, err
	}
	q, err := s.listQuery(p, r)
	if err != nil {
		return Listing{}, err
	}
	var page storage.Page
	if err := s.look(ctx, func() (err error) { page, err = s.store.List(ctx, q); return err }); err != nil {
		return Listing{}, unread(err)
	}
	l := Listing{Records: make([]Record, len(page.Records))}
	for i, rec := range page.Records {
		l.Records[i] = withoutResponse(Record{Record: rec, Now: page.Now})
	}
	if page.Next != nil {
		l.Cursor = listCursor(q, *page.Next)
	}
	return l, nil
}

func (s *Service) listQuery(p auth.Principal, r ListRequest) (q storage.ListQuery, err error) {
	if q.Tenant, err = tenantFor(p, r.Tenant); err != nil {
		return q, err
	}
	if err = s.nameFilters(r.Operation, r.Subject, r.Key); err != nil {
		return q, err
	}
	q.Operation, q.Subject, q.Key, q.KeyPrefix = valueOf(r.Operation), r.Subject, valueOf(r.Key), valueOf(r.KeyPrefix)
	if r.KeyPrefix != nil {
		if err = text("key_prefix", q.KeyPrefix, 1, s.limits.Key); err != nil {
			return q, err
		}
		if r.Key != nil {
			return q, Invalid("key_prefix", "must not be given together with key")
		}
	}
	if q.State, err = stateFilter(r.State); err != nil {
		return q, err
	}
	q.CreatedFrom, q.CreatedBefore = instantOf(r.CreatedAfter), instantOf(r.CreatedBefore)
	if q.Limit, err = s.pageLimit(r.Limit); err != nil {
		return q, err
	}
	q.After, err = parseListCursor(q, r.Cursor)
	return q, err
}

// nameFilters checks the parts of a name that were given.
func (s *Service) nameFilters(operation, subject, key *string) error {
	if operation != nil {
		if err := text("operation", *operation, 1, s.limits.Operation); err != nil {
			return err
		}
	}
	if subject != nil {
		if err := text("subject", *subject, 0, s.limits.Subject); err != nil {
			return err
		}
	}
	if key != nil {
		return text("key", *key, 1, s.limits.Key)
	}
	return nil
}

func stateFilter(s *string) (storage.State, error) {
	if s == nil {
		return 0, nil
	}
	for state := storage.InProgress; state <= storage.Uncertain; state++ {
		if state.String() == *s {
			return state, nil
		}
	}
	return 0, Invalid("state", "must be in_progress, completed, failed, released, abandoned or uncertain")
}

func (s *Service) pageLimit(limit *int) (int, error) {
	if limit == nil {
		return min(defaultListLimit, s.limits.List), nil
	}
	if *limit < 1 || *limit > s.limits.List {
		return 0, Invalid("limit", "must be 1 to %d", s.limits.List)
	}
	return *limit, nil
}

func instantOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// withoutResponse leaves out what a list does not show; the record was read for it alone.
func withoutResponse(r Record) Record {
	if r.Response != nil {
		r.Response = &storage.Response{BodyDropped: r.Response.BodyDropped, DroppedHeaders: r.Response.DroppedHeaders}
	}
	return r
}
