package auth

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func signerAt(t testing.TB, cfg Config, now time.Time) *Signer {
	t.Helper()
	s, err := NewSigner(cfg)
	if err != nil {
		t.Fatalf("NewSigner: %v", err)
	}
	s.now = func() time.Time { return now }
	return s
}

// Ensure a token passes the verifier of the same configuration, whatever is
// configured, for exactly as long as asked for plus the leeway.
func TestSignedTokenVerifies(t *testing.T) {
	for name, cfg := range map[string]Config{
		"least":   {HS256Secret: testSecret},
		"most":    {HS256Secret: testSecret, Issuer: "https://id.example", Audience: "idem", TenantClaim: "team", Leeway: time.Second},
		"subject": {HS256Secret: testSecret, TenantClaim: "sub"},
		"longest": {HS256Secret: testSecret, Issuer: strings.Repeat("\"", 500), Audience: strings.Repeat("<", 500), TenantClaim: strings.Repeat("&", 500)},
	} {
		t.Run(name, func(t *testing.T) {
			v, clock := verifierAt(t, cfg)
			token := must(signerAt(t, cfg, noon).Sign("a<b>&\"é😀", []Scope{Ops, KeysRead}, time.Hour))
			caller := accepted(t, v, token)
			if caller.Tenant() != "a<b>&\"é😀" || !slices.Equal(caller.Scopes(), []Scope{KeysRead, Ops}) {
				t.Errorf("principal = %+v", caller)
			}
			end := noon.Add(time.Hour + cfg.withDefaults().Leeway)
			clock.set(end.Add(-1))
			accepted(t, v, token)
			clock.set(end)
			refused(t, v, token, "token is expired")
		})
	}
}

// Ensure the claims are those that were asked for, and jti is new each time.
func TestSignedClaims(t *testing.T) {
	s := signerAt(t, Config{HS256Secret: testSecret, Issuer: "me", Audience: "idem"}, noon)
	read := func() map[string]any {
		part := strings.Split(must(s.Sign("acme", []Scope{KeysRead, KeysWrite}, time.Minute)), ".")[1]
		var c map[string]any
		if err := json.Unmarshal(must(base64.RawURLEncoding.DecodeString(part)), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, second := read(), read()
	if jti, _ := first["jti"].(string); len(jti) < 26 || first["jti"] == second["jti"] {
		t.Errorf("jti = %v, then %v", first["jti"], second["jti"])
	}
	delete(first, "jti")
	want := map[string]any{
		"tenant_id": "acme", "scope": "keys:write keys:read", "iss": "me", "aud": "idem",
		"iat": float64(noon.Unix()), "exp": float64(noon.Unix() + 60),
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

// Ensure any positive ttl makes a token that is good for at least that long.
func TestSignTTL(t *testing.T) {
	now := noon.Add(999 * time.Millisecond)
	s := signerAt(t, Config{HS256Secret: testSecret}, now)
	v, clock := verifierAt(t, Config{HS256Secret: testSecret})
	clock.set(now)
	for _, ttl := range []time.Duration{1, time.Second, 90 * 24 * time.Hour, math.MaxInt64} {
		caller := accepted(t, v, must(s.Sign("acme", nil, ttl)))
		if got := caller.ExpiresAt().Sub(now); got < ttl {
			t.Errorf("a token for %s expires after %s", ttl, got)
		}
	}
}

// Ensure nothing is signed that would be refused or misunderstood.
func TestSignRefuses(t *testing.T) {
	s := signerAt(t, Config{HS256Secret: testSecret}, noon)
	for _, tt := range []struct {
		name, tenant string
		scopes       []Scope
		ttl          time.Duration
		want         string
	}{
		{"blank tenant", " ", nil, time.Hour, "tenant is not usable"},
		{"tenant with NUL", "a\x00", nil, time.Hour, "tenant is not usable"},
		{"long tenant", strings.Repeat("a", 201), nil, time.Hour, "tenant is not usable"},
		{"unknown scope", "acme", []Scope{KeysRead, "keys:all"}, time.Hour, `unknown scope "keys:all"`},
		{"two scopes in one", "acme", []Scope{"keys:read ops"}, time.Hour, "unknown scope"},
		{"no ttl", "acme", nil, 0, "the ttl is 0s"},
		{"negative ttl", "acme", nil, -time.Hour, "the ttl is -1h0m0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			token, err := s.Sign(tt.tenant, tt.scopes, tt.ttl)
			if token != "" || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Sign = %q, %v; want an error with %q", token, err, tt.want)
			}
		})
	}
	if _, err := NewSigner(Config{PublicKeyPEM: publicPEM(ecKey())}); err == nil || !strings.Contains(err.Error(), "only be signed with an HS256 secret") {
		t.Errorf("NewSigner with a public key: %v", err)
	}
	if _, err := NewSigner(Config{HS256Secret: []byte("short")}); err == nil {
		t.Error("NewSigner took a short secret")
	}
}
