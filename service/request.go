package service

import (
	"context"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// Request is a call on keys that may be one of a batch: a [ReserveRequest], [CompleteRequest], [ReleaseRequest],
// [HeartbeatRequest] or [LookupRequest].
type Request interface {
	// call checks the caller's right and the fields, and gives what is put to the store.
	call(s *Service, p auth.Principal) (storage.Call, error)
}

// recordOf gives the record of an answer when it came to the outcome that was hoped for; any other refuses.
func recordOf(a storage.Answer, hoped storage.Outcome) (Record, error) {
	if a.Outcome != hoped {
		return Record{}, refuse(a)
	}
	return Record{Record: a.Record, Now: a.Now}, nil
}

// one puts a single request, and gives the answer of the store.
func (s *Service) one(ctx context.Context, p auth.Principal, r Request) (storage.Answer, error) {
	call, err := r.call(s, p)
	if err != nil {
		return storage.Answer{}, err
	}
	return s.apply(ctx, call)
}
