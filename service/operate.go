package service

import (
	"context"

	"github.com/google/uuid"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// Origin is where an operator's call came from, for the audit log.
type Origin struct {
	Address   string
	RequestID string
}

// ResolveRequest settles or releases what no holder will. A nil field was not given.
type ResolveRequest struct {
	Name
	Tenant     *string
	To         string // completed, failed or released
	Version    string // of the record that was looked at
	Reason     string
	Response   *Response
	ResourceID *string
	Force      bool // also while a lease is live
	Origin
}

// ExpireRequest makes a settled or released key absent before its time.
type ExpireRequest struct {
	Name
	Tenant  *string
	Version string
	Reason  string
	Origin
}

// Resolve settles or releases an uncertain or abandoned key, or with Force a live one, by an operator's word. It is in the
// audit log if and only if it is done. Needs the scope keys:admin. Refusals: CodeNotFound, CodeVersionConflict,
// CodeAlreadyCompleted (settled or released already), CodeInProgress (live, without Force).
func (s *Service) Resolve(ctx context.Context, p auth.Principal, r ResolveRequest) (Record, error) {
	call, err := s.resolveCall(p, r)
	if err != nil {
		return Record{}, err
	}
	a, err := s.apply(context.WithoutCancel(ctx), call)
	if err != nil {
		return Record{}, err
	}
	return operated(p, a, storage.OutcomeResolved, map[storage.Outcome]string{
		storage.OutcomeInProgress:       "force: a lease is live, and its holder may be at work; it takes force to resolve the key all the same",
		storage.OutcomeAlreadyCompleted: "the key is settled or released already: there is nothing to resolve",
	})
}

// Expire makes a settled or released key absent from now on, so that it can be used anew. It is in the audit log if and
// only if it is done. Needs the scope keys:admin. Refusals: CodeNotFound, CodeVersionConflict, CodeInProgress (it is not
// settled yet).
func (s *Service) Expire(ctx context.Context, p auth.Principal, r ExpireRequest) (Record, error) {
	var c storage.Expire
	var err error
	if c.Name, c.By, err = s.act(p, r.Name, r.Tenant, r.Version, r.Reason, r.Origin); err != nil {
		return Record{}, err
	}
	c.Version = r.Version
	a, err := s.apply(context.WithoutCancel(ctx), c)
	if err != nil {
		return Record{}, err
	}
	return operated(p, a, storage.OutcomeExpired, map[storage.Outcome]string{
		storage.OutcomeInProgress: "the key is not settled: resolve it first",
	})
}

func (s *Service) resolveCall(p auth.Principal, r ResolveRequest) (c storage.Resolve, err error) {
	if c.Name, c.By, err = s.act(p, r.Name, r.Tenant, r.Version, r.Reason, r.Origin); err != nil {
		return c, err
	}
	c.Version, c.Force, c.Token, c.ResourceID = r.Version, r.Force, storage.NewToken(), valueOf(r.ResourceID)
	switch r.To {
	case storage.Completed.String():
		c.To = storage.Completed
	case storage.Failed.String():
		c.To = storage.Failed
	case storage.Released.String():
		c.To = storage.Released
	default:
		return c, Invalid("to", `must be "completed", "failed" or "released"`)
	}
	if c.To == storage.Released && r.Response != nil {
		return c, Invalid("response", "belongs to a settlement: a released key has none")
	}
	if c.To == storage.Released && r.ResourceID != nil {
		return c, Invalid("resource_id", "belongs to a settlement: a released key has none")
	}
	if err = text("resource_id", c.ResourceID, 0, s.limits.ResourceID); err != nil {
		return c, err
	}
	c.Response, err = s.storable(r.Response)
	return c, err
}

// act checks what all acts of operators share.
func (s *Service) act(p auth.Principal, n Name, tenant *string, version, why string, from Origin) (name storage.Name, by storage.Operator, err error) {
	if err = allow(p, auth.KeysAdmin); err != nil {
		return name, by, err
	}
	if name, err = s.name(p, n); err != nil {
		return name, by, err
	}
	if name.Tenant, err = tenantFor(p, tenant); err != nil {
		return name, by, err
	}
	if err = text("version", version, 1, maxVersion); err != nil {
		return name, by, err
	}
	by = storage.Operator{ActID: uuid.Must(uuid.NewV7()).String(), Actor: actor(p, name.Tenant), Address: from.Address, RequestID: from.RequestID, Reason: why}
	return name, by, reason(why, 1, s.limits.Reason)
}

// actor says who acts, for the audit log: the token's subject, and the tenant that it is of where the log does not say that
// already.
func actor(p auth.Principal, of string) string {
	switch {
	case p.Subject() == "":
		return "somebody with a token of " + p.Tenant() + " without sub"
	case p.Tenant() != of:
		return p.Subject() + " of " + p.Tenant()
	}
	return p.Subject()
}

// maxVersion is longer than any version.
const maxVersion = 64

// operated gives the record. hints say what a refusal means to an operator, where a holder would be told something else.
func operated(p auth.Principal, a storage.Answer, hoped storage.Outcome, hints map[storage.Outcome]string) (Record, error) {
	if a.Outcome != hoped {
		e := refuse(a)
		if hint, ok := hints[a.Outcome]; ok {
			e.Detail = hint
		}
		return Record{}, e
	}
	return masked(p, Record{Record: a.Record, Now: a.Now}), nil
}
