package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Made once: an RSA key takes a noticeable part of a second.
var (
	rsaKey      = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSAKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey       = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	edKey       = sync.OnceValue(func() ed25519.PrivateKey { _, key, err := ed25519.GenerateKey(rand.Reader); return must(key, err) })
)

var (
	testSecret = []byte("0123456789abcdef0123456789abcdef")
	noon       = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// clock is a time that only a test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }

func (c *clock) set(t time.Time) { c.mu.Lock(); defer c.mu.Unlock(); c.t = t }

// verifierAt is a verifier whose clock stands at noon until it is moved.
func verifierAt(t testing.TB, cfg Config) (*Verifier, *clock) {
	t.Helper()
	c := &clock{t: noon}
	v, err := newVerifier(cfg, c.now, maxRemembered)
	if err != nil {
		t.Fatalf("newVerifier: %v", err)
	}
	return v, c
}

// publicPEM is the PKIX file of the public half of key.
func publicPEM(key crypto.Signer) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(key.Public()))})
}

// goodClaims are those of a token that is accepted at noon, changed by over; a
// value of absent takes the claim away.
func goodClaims(over jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{
		"tenant_id": "acme",
		"sub":       "orders",
		"exp":       noon.Add(time.Hour).Unix(),
		"iat":       noon.Unix(),
		"scope":     "keys:write keys:read",
	}
	maps.Copy(c, over)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == absent })
	return c
}

type nothing struct{}

var absent = nothing{}

func signed(method jwt.SigningMethod, key any, over jwt.MapClaims) string {
	return must(jwt.NewWithClaims(method, goodClaims(over)).SignedString(key))
}

// signedText signs a header and a payload as they are, valid JSON or not.
func signedText(method jwt.SigningMethod, key any, header, payload string) string {
	text := encode(header) + "." + encode(payload)
	return text + "." + encode(string(must(method.Sign(text, key))))
}

func hs256Text(payload string) string {
	return signedText(jwt.SigningMethodHS256, testSecret, `{"alg":"HS256"}`, payload)
}

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// refused ensures that a token gets exactly this public reason, which also shows
// that nothing of the token is in it, and no principal.
func refused(t *testing.T, v *Verifier, token, reason string) {
	t.Helper()
	caller, err := v.Verify(token)
	if !errors.Is(err, ErrUnauthenticated) {
		t.Fatalf("Verify = %+v, %v; want ErrUnauthenticated", caller, err)
	}
	if caller != (Principal{}) {
		t.Errorf("Verify gave %+v with its error", caller)
	}
	if err.Error() != reason {
		t.Errorf("reason = %q, want %q", err, reason)
	}
}

func accepted(t *testing.T, v *Verifier, token string) Principal {
	t.Helper()
	caller, err := v.Verify(token)
	if err != nil {
		t.Fatalf("Verify: %v (%v)", err, errors.Unwrap(err))
	}
	return caller
}
