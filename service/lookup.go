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
	if err == nil && !p.Has(auth.KeysBody) {
		rec = withoutBody(rec)
	}
	return rec, err
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

// withoutBody leaves the record itself alone: it may be shared.
func withoutBody(r Record) Record {
	if r.Response == nil {
		return r
	}
	masked, response := *r.Record, *r.Response
	response.Body = nil
	masked.Response = &response
	return Record{Record: &masked, Now: r.Now}
}
