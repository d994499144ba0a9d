package auth

import (
	"fmt"
	"time"
)

// Principal is an authenticated caller. Only this package can make one that
// carries a tenant, so a function that takes a Principal needs no check of its
// own that somebody verified it. The zero value has no tenant and no scope.
//
// A Principal is a value: it may be copied, compared and shared freely.
type Principal struct {
	tenant  string
	subject string
	scopes  scopeSet
	expires time.Time
}

// NewPrincipal makes a principal without a token, for a service embedded in
// the caller's own program, and for tests. The tenant is held to the rules of a
// token's: 1 to 200 bytes of UTF-8 with something visible in it and no control
// character. Unknown scopes are an error. It has no subject and never expires.
func NewPrincipal(tenant string, scopes ...Scope) (Principal, error) {
	if err := CheckTenant(tenant); err != nil {
		return Principal{}, fmt.Errorf("auth: the tenant is not usable: it %w", err)
	}
	set, err := exactly(scopes)
	if err != nil {
		return Principal{}, fmt.Errorf("auth: %w", err)
	}
	return Principal{tenant: tenant, scopes: set}, nil
}

// Tenant is whose keys the caller works on, exactly as the token says: never
// trimmed, folded or normalised.
func (p Principal) Tenant() string { return p.tenant }

// Subject is the token's sub claim, for the audit log: at most 512 bytes without
// control characters, empty if the token has none. It decides nothing.
func (p Principal) Subject() string { return p.subject }

// ExpiresAt is the token's exp claim, without the leeway. Zero means never.
func (p Principal) ExpiresAt() time.Time { return p.expires }

// Has reports whether the caller has the scope s. It is false for a scope that
// does not exist.
func (p Principal) Has(s Scope) bool { return p.scopes&bit(s) != 0 }

// Scopes lists the caller's scopes, each once, in a fixed order.
func (p Principal) Scopes() []Scope { return p.scopes.list() }
