package auth

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// DefaultTenantClaim is where the tenant is looked for unless configured.
	DefaultTenantClaim = "tenant_id"
	// DefaultLeeway absorbs the usual difference between two machines' clocks.
	DefaultLeeway = 30 * time.Second

	// maxLeeway is RFC 7519's "no more than a few minutes" (section 4.1.4): more
	// than that lengthens every token's life to hide a broken clock.
	maxLeeway = 5 * time.Minute
	// minSecretBytes is the size of HS256's output (RFC 7518 section 3.2). A
	// shorter secret can be guessed offline from any one token.
	minSecretBytes = 32
	// maxNameBytes keeps a token with all these names far below maxTokenBytes.
	maxNameBytes = 500
)

// Config says whose tokens are accepted. Exactly one kind of key is needed.
type Config struct {
	// HS256Secret is shared with whoever signs the tokens; at least 32 bytes,
	// used exactly as given. Only HS256 is accepted with it.
	HS256Secret []byte `json:"-"`

	// PublicKeyPEM holds one or more public keys, as PUBLIC KEY (PKIX), RSA
	// PUBLIC KEY (PKCS #1) or CERTIFICATE blocks. The key decides the algorithms:
	//
	//	RSA, at least 2048 bits   RS256, PS256
	//	EC P-256                  ES256
	//	Ed25519                   EdDSA
	//
	// Every key in it may sign tokens: put the old and the new one there to
	// rotate, and no chain of certificates. Of a certificate only the key counts,
	// not its dates or who signed it. Private keys are refused.
	PublicKeyPEM []byte

	// Issuer is what the iss claim must be, byte for byte. Empty: not checked.
	Issuer string

	// Audience is what the aud claim must be or, if that is a list, contain, byte
	// for byte. Empty: not checked, so that tokens which the issuer made for its
	// other services are accepted too.
	Audience string

	// TenantClaim is the name of the claim that holds the tenant, case-sensitive.
	// Empty: DefaultTenantClaim.
	TenantClaim string

	// Leeway is how far exp, nbf and iat may be off, at most 5 minutes. Zero:
	// DefaultLeeway.
	Leeway time.Duration
}

// String describes the configuration without the secret.
func (c Config) String() string {
	return fmt.Sprintf("{HS256Secret:%d bytes PublicKeyPEM:%d bytes Issuer:%q Audience:%q TenantClaim:%q Leeway:%s}",
		len(c.HS256Secret), len(c.PublicKeyPEM), c.Issuer, c.Audience, c.TenantClaim, c.Leeway)
}

// GoString keeps the secret out of %#v as well.
func (c Config) GoString() string { return "auth.Config" + c.String() }

// Validate reports every mistake at once, joined, each with what to do about it.
func (c Config) Validate() error {
	_, err := c.check()
	return err
}

// check validates, and gives the keys it had to parse for that.
func (c Config) check() (keySet, error) {
	keys, keyErr := c.keys()
	err := errors.Join(
		keyErr,
		checkName("issuer", c.Issuer),
		checkName("audience", c.Audience),
		checkName("tenant claim", c.TenantClaim),
		checkTenantClaim(c.TenantClaim),
		checkLeeway(c.Leeway),
	)
	if err != nil {
		return nil, err
	}
	return keys, nil
}

func (c Config) withDefaults() Config {
	if c.TenantClaim == "" {
		c.TenantClaim = DefaultTenantClaim
	}
	if c.Leeway == 0 {
		c.Leeway = DefaultLeeway
	}
	return c
}

// keys parses whatever is configured, also when it is one kind too many, so that
// the mistakes of both are told.
func (c Config) keys() (keySet, error) {
	var (
		keys      keySet
		secretErr error
		publicErr error
		countErr  error
		secret    = len(c.HS256Secret) > 0
		public    = len(c.PublicKeyPEM) > 0
	)
	if secret {
		keys, secretErr = secretKeys(c.HS256Secret), checkSecret(c.HS256Secret)
	}
	if public {
		keys, publicErr = parsePublicKeys(c.PublicKeyPEM)
	}
	switch {
	case secret && public:
		countErr = errors.New("both an HS256 secret and a public key are configured: keep the one that your issuer signs with")
	case !secret && !public:
		countErr = errors.New("neither an HS256 secret nor a public key is configured: set the one that your issuer signs with")
	}
	return keys, errors.Join(countErr, secretErr, publicErr)
}

func checkSecret(secret []byte) error {
	if bytes.Contains(secret, []byte("-----BEGIN ")) {
		// Everybody may know a public key: as a secret it would let anyone sign.
		return errors.New("the HS256 secret is a PEM file: if it is a public key, configure it as the public key")
	}
	if len(secret) < minSecretBytes || len(bytes.TrimSpace(secret)) == 0 {
		return fmt.Errorf("the HS256 secret is blank or shorter than %d bytes (RFC 7518 section 3.2): make one with `openssl rand -hex 32`", minSecretBytes)
	}
	return nil
}

// checkName refuses a name that could only be a slip. Compared byte for byte, a
// blank or padded one would refuse every token; better not to start.
func checkName(what, name string) error {
	switch {
	case name == "":
		return nil
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("the %s is blank: give its value, or leave it out", what)
	case name != strings.TrimSpace(name):
		return fmt.Errorf("the %s has spaces around it: remove them", what)
	case len(name) > maxNameBytes:
		return fmt.Errorf("the %s is longer than %d bytes: check what was pasted", what, maxNameBytes)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the %s has control characters or is not UTF-8: give it as plain text", what)
	}
	return nil
}

// claimsWithMeaning cannot be the tenant too. sub may be: where every caller is
// its own tenant, it is the natural one.
var claimsWithMeaning = []string{"iss", "aud", "exp", "nbf", "iat", "jti", "scope", "scp"}

func checkTenantClaim(name string) error {
	if slices.Contains(claimsWithMeaning, name) {
		return fmt.Errorf("the tenant claim cannot be %s, which means something else: use a claim of its own such as %s", name, DefaultTenantClaim)
	}
	return nil
}

func checkLeeway(d time.Duration) error {
	if d < 0 || d > maxLeeway {
		return fmt.Errorf("the leeway is %s: choose between 1s and %s, or leave it out for %s", d, maxLeeway, DefaultLeeway)
	}
	return nil
}
