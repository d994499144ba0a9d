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
	if err := allow(p, auth.KeysRead); err != nil {
		return Record{}, err
	}
	name, err := s.name(p, r.Name)
	if err != nil {
		return Record{}, err
	}
	if r.Fingerprint != nil {
		if err := ownFingerprint(*r.Fingerprint); err != nil {
			return Record{}, err
		}
	}
	rec, err := s.expect(ctx, storage.Lookup{Name: name, Fingerprint: valueOf(r.Fingerprint)}, storage.OutcomeFound)
	if err == nil && !p.Has(auth.KeysBody) {
		rec = withoutBody(rec)
	}
	return rec, err
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
