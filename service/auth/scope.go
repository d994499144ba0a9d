package auth

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is a permission that a token carries, by the name it has in the token.
type Scope string

// The scopes. None includes another.
const (
	// KeysWrite is for those who do the work: reserve, complete, release and
	// heartbeat, with the stored response when a reserve is answered by a replay.
	KeysWrite Scope = "keys:write"
	// KeysRead is for those who look: lookup, list and stats, without stored bodies.
	KeysRead Scope = "keys:read"
	// KeysBody shows stored bodies to those who look. Alone it opens nothing.
	KeysBody Scope = "keys:body"
	// KeysAdmin is for those who repair: resolve, expire and the audit log.
	KeysAdmin Scope = "keys:admin"
	// Ops lets the other scopes of the token act on every tenant. It adds none:
	// a token with Ops and KeysRead may look at all tenants and change nothing.
	Ops Scope = "ops"
)

// knownScopes fixes the bit of each scope in a scopeSet, and the order in
// which scopes are listed.
var knownScopes = [...]Scope{KeysWrite, KeysRead, KeysBody, KeysAdmin, Ops}

// Scopes lists all scopes that there are.
func Scopes() []Scope { return slices.Clone(knownScopes[:]) }

// scopeSet is a set of known scopes. Being a number, it makes a Principal that
// can be copied out of the verifier's memory without anyone sharing a slice.
type scopeSet uint8

// bit is the set of s alone, or the empty set if nobody knows s.
func bit(s Scope) scopeSet {
	if i := slices.Index(knownScopes[:], s); i >= 0 {
		return 1 << i
	}
	return 0
}

// exactly makes a set of scopes that must all be known: for scopes that our own
// side names, where an unknown one is a mistake.
func exactly(scopes []Scope) (scopeSet, error) {
	var set scopeSet
	for _, s := range scopes {
		b := bit(s)
		if b == 0 {
			return 0, fmt.Errorf("unknown scope %q: the scopes are %q", s, knownScopes)
		}
		set |= b
	}
	return set, nil
}

// knownAmong makes a set of those names that are scopes here: for tokens, which
// also carry the scopes of other services.
func knownAmong(names []string) scopeSet {
	var set scopeSet
	for _, name := range names {
		set |= bit(Scope(name))
	}
	return set
}

// list gives the scopes of the set in the order of knownScopes.
func (set scopeSet) list() []Scope {
	var scopes []Scope
	for _, s := range knownScopes {
		if set&bit(s) != 0 {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// String joins the scopes as the scope claim does.
func (set scopeSet) String() string {
	var names []string
	for _, s := range set.list() {
		names = append(names, string(s))
	}
	return strings.Join(names, " ")
}
