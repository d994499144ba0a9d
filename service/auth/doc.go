// Package auth tells who is calling: it turns a bearer JWT into a [Principal],
// which carries the tenant and what the caller may do there.
//
//	verifier, err := auth.NewVerifier(auth.Config{HS256Secret: secret, Audience: "reprise"})
//	...
//	caller, err := verifier.Verify(token)
//	if err != nil {
//		// errors.Is(err, auth.ErrUnauthenticated); err.Error() may be shown
//		// to the caller, what it wraps belongs in the log.
//	}
//	if !caller.Has(auth.KeysWrite) { ... }
//
// The tenant comes from a verified claim and from nowhere else: there is no
// fallback tenant, and a token without a usable one is refused. A caller that
// needs no token, as a service embedded in a program, uses [NewPrincipal],
// which holds the tenant to the same rules.
//
// Tokens are JWTs (RFC 7519) in compact JWS form (RFC 7515), verified as
// RFC 8725 advises: the algorithms are an allow-list tied to the configured
// key, never the token's choice; keys and addresses inside a token (jwk, jku,
// x5c, x5u) are ignored; a header or payload that two parsers could read
// differently is refused.
//
// What the package does not do: it fetches no keys, knows one issuer, reads
// no kid (every configured key that fits the algorithm is tried), does not look
// at typ, and learns of no revocation: a token is good until it expires.
package auth
