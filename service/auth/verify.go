package auth

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Verifier verifies tokens. It is safe for use by many goroutines.
type Verifier struct {
	parser      *jwt.Parser
	keys        keySet
	tenantClaim string
	leeway      time.Duration
	memory      *memory
	now         func() time.Time
}

// NewVerifier makes a verifier of tokens as cfg describes them. Its error names
// all mistakes in cfg, as [Config.Validate] does.
func NewVerifier(cfg Config) (*Verifier, error) {
	return newVerifier(cfg, wallClock, maxRemembered)
}

// wallClock leaves out Go's monotonic reading: a token's dates are wall time, and
// must be compared as such when the clock is set.
func wallClock() time.Time { return time.Now().Round(0) }

func newVerifier(cfg Config, now func() time.Time, remembered int) (*Verifier, error) {
	keys, err := cfg.check()
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	cfg = cfg.withDefaults()
	return &Verifier{
		parser:      newParser(cfg, keys, now),
		keys:        keys,
		tenantClaim: cfg.TenantClaim,
		leeway:      cfg.Leeway,
		memory:      newMemory(remembered),
		now:         now,
	}, nil
}

func newParser(cfg Config, keys keySet, now func() time.Time) *jwt.Parser {
	options := []jwt.ParserOption{
		jwt.WithValidMethods(keys.algorithms()),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(now),
		jwt.WithLeeway(cfg.Leeway),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(),
	}
	// jwt takes an empty audience for one that no token can have.
	if cfg.Issuer != "" {
		options = append(options, jwt.WithIssuer(cfg.Issuer))
	}
	if cfg.Audience != "" {
		options = append(options, jwt.WithAudience(cfg.Audience))
	}
	return jwt.NewParser(options...)
}

// Verify says who sent the token: the text after "Bearer " and nothing else.
//
// A token must be signed with a configured key by an algorithm that fits it,
// have an exp that has not passed, and no nbf or iat that is still to come, each
// with the configured leeway. (RFC 7519 leaves iat open. One from the future
// means that issuer and service disagree about the time, so exp cannot be
// trusted either.) iss and aud must be the configured ones, the tenant claim a
// string of 1 to 200 bytes with something visible and no control character.
//
// Every error is an [*Error], and so [ErrUnauthenticated]; the principal is then
// the zero one. A good token is remembered for at most 60 s, never past its exp.
func (v *Verifier) Verify(bearer string) (Principal, error) {
	if err := checkForm(bearer); err != nil {
		return Principal{}, err
	}
	id := tokenID(sha256.Sum256([]byte(bearer)))
	now := v.now()
	if caller, ok := v.memory.recall(id, now); ok {
		return caller, nil
	}
	caller, err := v.verify(bearer)
	if err != nil {
		return Principal{}, err
	}
	v.memory.keep(id, caller, now, caller.expires.Add(v.leeway))
	return caller, nil
}

func (v *Verifier) verify(token string) (Principal, error) {
	if err := checkHeader(token, v.keys); err != nil {
		return Principal{}, err
	}
	var c claims
	if _, err := v.parser.ParseWithClaims(token, &c, v.keys.forToken); err != nil {
		return Principal{}, explain(err)
	}
	return c.principal(v.tenantClaim)
}

// reasons are the public sentences for what jwt finds. When it finds several
// mistakes, the first of these is told.
var reasons = []struct {
	is     error
	reason string
}{
	{jwt.ErrTokenSignatureInvalid, "token's signature is not valid for the configured key"},
	{jwt.ErrTokenExpired, "token is expired"},
	{jwt.ErrTokenNotValidYet, "token is not valid yet"},
	{jwt.ErrTokenUsedBeforeIssued, "token was issued in the future"},
	{jwt.ErrTokenInvalidIssuer, "token is from another issuer"},
	{jwt.ErrTokenInvalidAudience, "token is for another audience"},
	{jwt.ErrTokenRequiredClaimMissing, "token has an empty iss or aud claim"},
	{jwt.ErrTokenMalformed, "token is malformed"},
}

func explain(err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	for _, r := range reasons {
		if errors.Is(err, r.is) {
			return refuse(r.reason, err)
		}
	}
	return refuse("token cannot be verified", err)
}
