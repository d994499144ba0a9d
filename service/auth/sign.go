package auth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Signer makes tokens with the shared secret, for development and for tests: in
// production an identity provider does. What it makes, a [Verifier] of the same
// [Config] accepts.
type Signer struct {
	subject string
	cfg     Config
	key     any
	now     func() time.Time
}

// NewSigner makes a signer for cfg, which must be valid and have an HS256 secret:
// with a public key, only the issuer can sign.
func NewSigner(cfg Config) (*Signer, error) {
	keys, err := cfg.check()
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	secret := keys[jwt.SigningMethodHS256.Alg()]
	if len(secret) == 0 {
		return nil, errors.New("auth: tokens can only be signed with an HS256 secret, and a public key is configured: get a token from your issuer")
	}
	return &Signer{cfg: cfg.withDefaults(), key: secret[0], now: wallClock}, nil
}

// As gives a signer whose tokens name who they are for: the sub claim, which the
// audit log keeps. It decides nothing else.
func (s *Signer) As(subject string) *Signer {
	named := *s
	named.subject = subject
	return &named
}

// Sign makes a token for the tenant that is good for ttl, rounded up to a whole
// second. It is an error if the tenant would be refused by a verifier, a scope is
// unknown, or ttl is not positive. A token without scopes is good for nothing, but
// not an error.
func (s *Signer) Sign(tenant string, scopes []Scope, ttl time.Duration) (string, error) {
	caller, err := NewPrincipal(tenant, scopes...)
	if err != nil {
		return "", err
	}
	if err := checkSubject(s.subject); err != nil {
		return "", fmt.Errorf("auth: the subject is not usable: it %w", err)
	}
	if ttl <= 0 {
		return "", fmt.Errorf("auth: the ttl is %s: a token must be good for some time", ttl)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, s.claims(caller, ttl))
	signed, err := token.SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("auth: signing the token: %w", err)
	}
	return signed, nil
}

func (s *Signer) claims(caller Principal, ttl time.Duration) jwt.MapClaims {
	now := s.now()
	c := jwt.MapClaims{
		"iat":             now.Unix(),
		"exp":             now.Add(ttl).Add(time.Second - 1).Unix(),
		"jti":             rand.Text(),
		"scope":           caller.scopes.String(),
		s.cfg.TenantClaim: caller.Tenant(),
	}
	if s.subject != "" {
		c["sub"] = s.subject
	}
	if s.cfg.Issuer != "" {
		c["iss"] = s.cfg.Issuer
	}
	if s.cfg.Audience != "" {
		c["aud"] = s.cfg.Audience
	}
	return c
}
