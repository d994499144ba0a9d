package httpapi_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// claims of a token that is accepted.
func claims(over jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{"tenant_id": "acme", "exp": time.Now().Add(time.Hour).Unix(), "scope": "keys:write keys:read keys:body"}
	maps.Copy(c, over)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == omitted })
	return c
}

// signed makes a token with claims as they are.
func signed(method jwt.SigningMethod, key any, over jwt.MapClaims) string {
	return must(jwt.NewWithClaims(method, claims(over)).SignedString(key))
}

// signedText makes a token with a payload that may not even be JSON.
func signedText(payload string) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"HS256"}`)) + "." + encode([]byte(payload))
	return text + "." + encode(must(jwt.SigningMethodHS256.Sign(text, tokens.HS256Secret)))
}

// Ensure that a token without a usable tenant or date is nobody's: there is no shared bucket, and no claim is found under
// a similar name.
func TestTokenWithoutTenantOrDateIsRefused(t *testing.T) {
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	hs := func(over jwt.MapClaims) string { return signed(jwt.SigningMethodHS256, tokens.HS256Secret, over) }
	bad := func() map[string]string {
		return map[string]string{ // made when they are used: their times are from now
			"no exp":             hs(jwt.MapClaims{"exp": omitted}),
			"exp null":           hs(jwt.MapClaims{"exp": nil}),
			"exp text":           hs(jwt.MapClaims{"exp": "9999999999"}),
			"exp huge":           signedText(`{"tenant_id":"acme","exp":1e300}`),
			"exp passed":         hs(jwt.MapClaims{"exp": in(-time.Minute)}),
			"nbf to come":        hs(jwt.MapClaims{"nbf": in(time.Minute)}),
			"iat to come":        hs(jwt.MapClaims{"iat": in(5 * time.Minute)}),
			"no tenant":          hs(jwt.MapClaims{"tenant_id": omitted}),
			"tenant null":        hs(jwt.MapClaims{"tenant_id": nil}),
			"tenant empty":       hs(jwt.MapClaims{"tenant_id": ""}),
			"tenant blank":       hs(jwt.MapClaims{"tenant_id": " \u200b\u00a0"}),
			"tenant number":      hs(jwt.MapClaims{"tenant_id": 7}),
			"tenant list":        hs(jwt.MapClaims{"tenant_id": []string{"acme"}}),
			"tenant too long":    hs(jwt.MapClaims{"tenant_id": strings.Repeat("a", 201)}),
			"tenant NUL":         hs(jwt.MapClaims{"tenant_id": "acme\x00"}),
			"tenant upper case":  hs(jwt.MapClaims{"tenant_id": omitted, "TENANT_ID": "acme"}),
			"tenant other name":  hs(jwt.MapClaims{"tenant_id": omitted, "tenant": "acme"}),
			"tenant twice":       signedText(`{"exp":9999999999,"tenant_id":"acme","tenant_id":"globex"}`),
			"tenant surrogate":   signedText(`{"exp":9999999999,"tenant_id":"acme\ud800"}`),
			"payload not JSON":   signedText(`tenant_id=acme`),
			"payload not object": signedText(`["acme"]`),
		}
	}
	eachStore(t, func(t *testing.T, s *server) {
		allRefused(t, s, bad())
		good := map[string]jwt.MapClaims{"exp within leeway": {"exp": in(-10 * time.Second)}, "nbf within leeway": {"nbf": in(20 * time.Second)},
			"longest tenant": {"tenant_id": strings.Repeat("a", 200)}, "scp list": {"scope": omitted, "scp": []string{"keys:write"}},
			"similar name": {"TENANT_ID": "globex"}}
		for id, over := range good {
			k := caller{t: t, url: s.url, token: hs(over)}.key(id)
			if a := k.reserve(); a.status != 201 || a.text("record.tenant") != claims(over)["tenant_id"] {
				t.Errorf("%s: %d %s", id, a.status, a.raw)
			}
		}
	})
}

// allRefused wants every token to be refused, by every call, and nothing to be stored.
func allRefused(t *testing.T, s *server, bad map[string]string) {
	t.Helper()
	for id, token := range bad {
		k := caller{t: t, url: s.url, token: token}.key("k")
		for _, call := range callNames {
			if a := k.call(call, k.name, fields{"fingerprint": mine}); a.status != 401 || a.what() != "unauthenticated" {
				t.Errorf("%s: %s got %d %s", id, call, a.status, a.what())
			}
		}
	}
	if n := s.db.rows(t); n != 0 {
		t.Errorf("%d rows were stored", n)
	}
}

var rsaKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })

// Ensure that only a token for this very key, algorithm and audience is accepted: everybody may know the public key.
func TestAlgorithmAndAudienceAreTiedToTheKey(t *testing.T) {
	der := must(x509.MarshalPKIXPublicKey(rsaKey().Public()))
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	ours := jwt.MapClaims{"aud": "idem"}
	rs := func(aud any) string { return signed(jwt.SigningMethodRS256, rsaKey(), jwt.MapClaims{"aud": aud}) }
	bad := map[string]string{
		"HS256 with the PEM":  signed(jwt.SigningMethodHS256, public, ours),
		"HS256 with the DER":  signed(jwt.SigningMethodHS256, der, ours),
		"HS256 with a secret": signed(jwt.SigningMethodHS256, tokens.HS256Secret, ours),
		"none":                signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, ours),
		"RS512":               signed(jwt.SigningMethodRS512, rsaKey(), ours),
		"no audience":         rs(omitted),
		"empty audience":      rs([]string{}),
		"audience null":       rs(nil),
		"audience number":     rs(7),
		"longer audience":     rs("idem2"),
		"other audiences":     rs([]string{"x", "idem2"}),
		"upper-case audience": rs("IDEM"),
	}
	eachStore(t, func(t *testing.T, s *server) {
		strict := serve(t, s.store, auth.Config{PublicKeyPEM: public, Audience: "idem"})
		strict.db = s.db
		allRefused(t, strict, bad)
		for _, aud := range []any{"idem", []string{"x", "idem"}} {
			(caller{t: t, url: strict.url, token: rs(aud)}).key("k").reserve(attempt(1)).want(201, "acquired")
		}
	})
}
