package auth

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// lastSecond ends the year 9999. Beyond it a date means nothing, and the
// conversion from float would give another one on each kind of processor.
const lastSecond = 253402300799

// claims is a token's payload as jwt reads and judges it (jwt.Claims). The
// library's own types are too kind for a tenant boundary: jwt.MapClaims lets the
// last of two equal names win and passes an aud of a wrong type as absent, and
// decoding into a struct ignores the case of names.
type claims map[string]any

// UnmarshalJSON refuses what could be read in two ways; what the values are
// worth is asked only once the signature is known to be good.
func (c *claims) UnmarshalJSON(raw []byte) error {
	members, err := decodeObject(raw)
	if err != nil {
		return refuse("token's payload "+err.Error(), nil)
	}
	*c = members
	return nil
}

// principal makes the caller of a token whose signature, dates, issuer and
// audience are good.
func (c claims) principal(tenantClaim string) (Principal, error) {
	tenant, err := c.tenant(tenantClaim)
	if err != nil {
		return Principal{}, refuse(fmt.Sprintf("token has no usable %s claim: it %s", tenantClaim, err), nil)
	}
	subject, err := c.GetSubject()
	if err != nil {
		return Principal{}, err
	}
	scopes, err := c.scopes()
	if err != nil {
		return Principal{}, err
	}
	expires, err := c.GetExpirationTime()
	if err != nil {
		return Principal{}, err
	}
	return Principal{tenant: tenant, subject: subject, scopes: scopes, expires: expires.Time}, nil
}

func (c claims) tenant(name string) (string, error) {
	value, present := c[name]
	if !present {
		return "", errMissing
	}
	tenant, ok := value.(string)
	if !ok {
		return "", errNoString
	}
	return tenant, CheckTenant(tenant)
}

// scopes reads scope, a string with a space between names (RFC 8693 section 4.2,
// RFC 9068), or, in a token without it, scp: such a string (Microsoft Entra) or a
// list of names (Okta). The two are never added up: where they differ, more
// would be granted than either says. Names of other services are left out.
func (c claims) scopes() (scopeSet, error) {
	scp, hasScp := c["scp"]
	names, ok := stringOrList(scp)
	if hasScp && !ok {
		return 0, refuse("token's scp claim is neither a string nor a list of strings", nil)
	}
	if text, isString := scp.(string); isString {
		names = strings.Split(text, " ")
	}
	if scope, hasScope := c["scope"]; hasScope {
		text, isString := scope.(string)
		if !isString {
			return 0, refuse("token's scope claim is not a string", nil)
		}
		names = strings.Split(text, " ")
	}
	return knownAmong(names), nil
}

// GetExpirationTime is exp. It is required.
func (c claims) GetExpirationTime() (*jwt.NumericDate, error) {
	if _, present := c["exp"]; !present {
		return nil, refuse("token has no exp claim", nil)
	}
	return c.date("exp")
}

// GetNotBefore is nbf, nil if there is none.
func (c claims) GetNotBefore() (*jwt.NumericDate, error) { return c.date("nbf") }

// GetIssuedAt is iat, nil if there is none.
func (c claims) GetIssuedAt() (*jwt.NumericDate, error) { return c.date("iat") }

// GetIssuer is iss. jwt asks for it only where one is configured; then it is
// required.
func (c claims) GetIssuer() (string, error) {
	issuer, ok := c["iss"].(string)
	if !ok {
		return "", refuse("token has no usable iss claim", nil)
	}
	return issuer, nil
}

// GetAudience is aud, a string or a list of strings. jwt asks for it only where
// one is configured; then it is required.
func (c claims) GetAudience() (jwt.ClaimStrings, error) {
	audience, ok := stringOrList(c["aud"])
	if !ok {
		return nil, refuse("token has no usable aud claim", nil)
	}
	return audience, nil
}

// GetSubject is sub, empty if there is none.
func (c claims) GetSubject() (string, error) {
	value, present := c["sub"]
	if !present {
		return "", nil
	}
	subject, ok := value.(string)
	if !ok {
		return "", refuse("token's sub claim is not a string", nil)
	}
	if err := checkSubject(subject); err != nil {
		return "", refuse("token's sub claim "+err.Error(), nil)
	}
	return subject, nil
}

// date reads a NumericDate (RFC 7519 section 2): seconds since 1970, fractions
// allowed. Nil means that there is none; null is not none.
func (c claims) date(name string) (*jwt.NumericDate, error) {
	value, present := c[name]
	if !present {
		return nil, nil
	}
	number, ok := value.(json.Number)
	if !ok {
		return nil, refuse("token's "+name+" claim is not a number", nil)
	}
	seconds, err := number.Float64()
	if err != nil || seconds < 0 || seconds > lastSecond {
		return nil, refuse("token's "+name+" claim is not a date between 1970 and 9999", nil)
	}
	whole, fraction := math.Modf(seconds)
	return &jwt.NumericDate{Time: time.Unix(int64(whole), int64(fraction*1e9))}, nil
}

// stringOrList reads a string as a list of one.
func stringOrList(value any) (list []string, ok bool) {
	switch value := value.(type) {
	case string:
		return []string{value}, true
	case []any:
		for _, element := range value {
			text, isString := element.(string)
			if !isString {
				return nil, false
			}
			list = append(list, text)
		}
		return list, true
	}
	return nil, false
}
