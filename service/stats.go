package service

import (
	"context"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// StatsRequest asks for counts. A nil field was not given.
type StatsRequest struct {
	Tenant    *string
	Operation *string
}

// Stats counts the keys of a tenant by state. Counting stops at a bound, and the count then says that it is at least that.
// Needs the scope keys:read.
func (s *Service) Stats(ctx context.Context, p auth.Principal, r StatsRequest) (storage.Stats, error) {
	if err := allow(p, auth.KeysRead); err != nil {
		return storage.Stats{}, err
	}
	tenant, err := tenantFor(p, r.Tenant)
	if err != nil {
		return storage.Stats{}, err
	}
	if err := s.nameFilters(r.Operation, nil, nil); err != nil {
		return storage.Stats{}, err
	}
	var stats storage.Stats
	if err := s.look(ctx, func() (err error) { stats, err = s.store.Stats(ctx, tenant, valueOf(r.Operation)); return err }); err != nil {
		return storage.Stats{}, unread(err)
	}
	return stats, nil
}
