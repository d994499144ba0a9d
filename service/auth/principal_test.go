package auth

import (
	"slices"
	"strings"
	"testing"
)

// Ensure a principal made without a token is held to the same rules, and that a
// misspelt scope is a mistake there and not a scope less.
func TestNewPrincipal(t *testing.T) {
	for _, tt := range []struct {
		name, tenant string
		scopes       []Scope
		mistake      string
	}{
		{"plain", "acme", []Scope{Ops, KeysRead, KeysRead}, ""},
		{"200 bytes", strings.Repeat("a", 200), nil, ""},
		{"201 bytes", strings.Repeat("a", 201), nil, "it is too long"},
		{"empty", "", nil, "it is blank"},
		{"blank", " \u3000", nil, "it is blank"},
		{"NUL", "a\x00b", nil, "it contains a control character"},
		{"not UTF-8", "a\xff", nil, "it is not valid UTF-8"},
		{"surrogate", "a\xed\xa0\x80", nil, "it is not valid UTF-8"},
		{"scope", "acme", []Scope{"keys:wirte"}, `unknown scope "keys:wirte"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			caller, err := NewPrincipal(tt.tenant, tt.scopes...)
			if tt.mistake != "" {
				if err == nil || !strings.Contains(err.Error(), tt.mistake) || caller != (Principal{}) {
					t.Fatalf("NewPrincipal = %+v, %v; want an error with %q", caller, err, tt.mistake)
				}
				return
			}
			if err != nil || caller.Tenant() != tt.tenant || !caller.ExpiresAt().IsZero() {
				t.Fatalf("NewPrincipal = %+v, %v", caller, err)
			}
		})
	}
}

// Ensure the zero principal may do nothing, and that scopes come once and in a
// fixed order.
func TestScopesOfAPrincipal(t *testing.T) {
	for _, s := range knownScopes {
		if (Principal{}).Has(s) {
			t.Errorf("the zero principal has %s", s)
		}
	}
	caller := must(NewPrincipal("acme", Ops, KeysRead, KeysRead))
	if got, want := caller.Scopes(), []Scope{KeysRead, Ops}; !slices.Equal(got, want) {
		t.Errorf("scopes = %q, want %q", got, want)
	}
}
