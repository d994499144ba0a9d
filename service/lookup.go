package service

import (
	"context"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// LookupRequest reads a key. A nil field was not given.
type LookupRequest struct {
	Name
	Fingerprint *string
}

// Lookup reads a key and changes nothing. Needs the scope keys:read; the body of a stored response is only shown with
// keys:body. Refusals: CodeNotFound, CodeFingerprintMismatch.
func (s *Service) Lookup(ctx context.Context, p auth.Principal, r LookupRequest) (Record, error) {
	a, err := s.one(ctx, p, r)
	if err != nil {
		return Record{}, err
	}
	return found(p, a)
}

func found(p auth.Principal, a storage.Answer) (Record, error) {
	rec, err := recordOf(a, storage.OutcomeFound)
	if err != nil {
		return rec, err
	}
	return masked(p, rec), nil
}

func (r LookupRequest) call(s *Service, p auth.Principal) (storage.Call, error) {
	if err := allow(p, auth.KeysRead); err != nil {
		return nil, err
	}
	name, err := s.name(p, r.Name)
	if err != nil {
		return nil, err
	}
	if r.Fingerprint != nil {
		if err := ownFingerprint(*r.Fingerprint); err != nil {
			return nil, err
		}
	}
	return storage.Lookup{Name: name, Fingerprint: valueOf(r.Fingerprint)}, nil
}

// masked gives a record without the body of its response to those who may not see it. The record itself may be shared, and
// stays as it is.
func masked(p auth.Principal, r Record) Record {
	if r.Response == nil || p.Has(auth.KeysBody) {
		return r
	}
	rec, response := *r.Record, *r.Response
	response.Body = nil
	rec.Response = &response
	return Record{Record: &rec, Now: r.Now}
}
