package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

const (
	badSignature = "token's signature is not valid for the configured key"
	badAlgorithm = "token's algorithm does not fit the configured key"
	badForm      = "token is not a JWT in compact signed form"
)

// Ensure each kind of key accepts exactly the algorithms that belong to it, with
// every token really signed.
func TestAlgorithmsAreTiedToTheKey(t *testing.T) {
	p384 := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	methods := []struct {
		jwt.SigningMethod
		key any
	}{
		{jwt.SigningMethodHS256, testSecret},
		{jwt.SigningMethodHS384, testSecret},
		{jwt.SigningMethodHS512, testSecret},
		{jwt.SigningMethodRS256, rsaKey()},
		{jwt.SigningMethodRS384, rsaKey()},
		{jwt.SigningMethodRS512, rsaKey()},
		{jwt.SigningMethodPS256, rsaKey()},
		{jwt.SigningMethodPS384, rsaKey()},
		{jwt.SigningMethodPS512, rsaKey()},
		{jwt.SigningMethodES256, ecKey()},
		{jwt.SigningMethodES384, p384},
		{jwt.SigningMethodEdDSA, edKey()},
		{jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType},
	}
	configs := []struct {
		name    string
		cfg     Config
		accepts []string
	}{
		{"secret", Config{HS256Secret: testSecret}, []string{"HS256"}},
		{"RSA", Config{PublicKeyPEM: publicPEM(rsaKey())}, []string{"RS256", "PS256"}},
		{"EC", Config{PublicKeyPEM: publicPEM(ecKey())}, []string{"ES256"}},
		{"Ed25519", Config{PublicKeyPEM: publicPEM(edKey())}, []string{"EdDSA"}},
	}
	for _, c := range configs {
		v, _ := verifierAt(t, c.cfg)
		for _, m := range methods {
			t.Run(c.name+"/"+m.Alg(), func(t *testing.T) {
				token := signed(m.SigningMethod, m.key, nil)
				switch {
				case slices.Contains(c.accepts, m.Alg()):
					accepted(t, v, token)
				case m.Alg() == "none":
					refused(t, v, token, badForm)
					refused(t, v, token+"AA", badAlgorithm)
				default:
					refused(t, v, token, badAlgorithm)
				}
			})
		}
	}
}

// Ensure nothing that everybody may know of a public key works as a secret.
func TestPublicKeyIsNoSecret(t *testing.T) {
	for name, key := range map[string]crypto.Signer{"RSA": rsaKey(), "EC": ecKey(), "Ed25519": edKey()} {
		text := publicPEM(key)
		v, _ := verifierAt(t, Config{PublicKeyPEM: text})
		secrets := map[string][]byte{
			"PEM":          text,
			"PEM, trimmed": []byte(strings.TrimSpace(string(text))),
			"PKIX DER":     must(x509.MarshalPKIXPublicKey(key.Public())),
			"JWKS":         must(json.Marshal(map[string]any{"keys": []any{key.Public()}})),
			"empty":        {},
		}
		if name == "RSA" {
			secrets["PKCS #1 DER"] = x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey)
			secrets["modulus"] = rsaKey().N.Bytes()
		}
		for kind, secret := range secrets {
			t.Run(name+"/"+kind, func(t *testing.T) {
				refused(t, v, signed(jwt.SigningMethodHS256, secret, nil), badAlgorithm)
			})
		}
	}
}

// Ensure an algorithm is known by its exact name, and that a header cannot choose
// another one or bring its own key.
func TestHeader(t *testing.T) {
	v, _ := verifierAt(t, Config{PublicKeyPEM: publicPEM(rsaKey())})
	payload := string(must(json.Marshal(goodClaims(nil))))
	ownKey := base64.RawURLEncoding.EncodeToString(otherRSAKey().N.Bytes())
	tests := map[string]struct{ header, reason string }{
		"good":            {`{"alg":"RS256","typ":"JWT","kid":"x"}`, ""},
		"kid is a path":   {`{"alg":"RS256","kid":"../../etc/passwd"}`, ""},
		"None":            {`{"alg":"None"}`, badAlgorithm},
		"NONE":            {`{"alg":"NONE"}`, badAlgorithm},
		"lower case":      {`{"alg":"rs256"}`, badAlgorithm},
		"padded":          {`{"alg":"RS256 "}`, badAlgorithm},
		"fits not":        {`{"alg":"ES256"}`, badAlgorithm},
		"says HS256":      {`{"alg":"HS256"}`, badAlgorithm},
		"says PS256":      {`{"alg":"PS256"}`, badSignature},
		"missing":         {`{"typ":"JWT"}`, badAlgorithm},
		"wrong case":      {`{"ALG":"RS256"}`, badAlgorithm},
		"null":            {`{"alg":null}`, badAlgorithm},
		"list":            {`{"alg":["RS256"]}`, badAlgorithm},
		"twice":           {`{"alg":"none","alg":"RS256"}`, "token's header has a name twice in one object"},
		"twice, escaped":  {`{"alg":"none","\u0061lg":"RS256"}`, "token's header has a name twice in one object"},
		"crit":            {`{"alg":"RS256","crit":["exp"]}`, "token's header has crit, which is not supported"},
		"crit empty":      {`{"alg":"RS256","crit":[]}`, "token's header has crit, which is not supported"},
		"crit null":       {`{"alg":"RS256","crit":null}`, "token's header has crit, which is not supported"},
		"b64":             {`{"alg":"RS256","b64":false,"crit":["b64"]}`, "token's header has crit, which is not supported"},
		"not JSON":        {`{"alg":"RS256"`, "token's header is not JSON"},
		"trailing data":   {`{"alg":"RS256"}{}`, "token's header is not JSON"},
		"list of members": {`["alg","RS256"]`, "token's header is not a JSON object"},
		"null header":     {`null`, "token's header is not a JSON object"},
		"byte order mark": {"\ufeff" + `{"alg":"RS256"}`, "token's header is not JSON"},
		"not UTF-8":       {"{\"alg\":\"RS256\",\"kid\":\"\xff\"}", "token's header is not valid UTF-8"},
		"half surrogate":  {`{"alg":"RS256","kid":"\ud800"}`, "token's header has half a surrogate pair"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			token := signedText(jwt.SigningMethodRS256, rsaKey(), tt.header, payload)
			if tt.reason == "" {
				accepted(t, v, token)
				return
			}
			refused(t, v, token, tt.reason)
		})
	}
	t.Run("own key", func(t *testing.T) {
		header := `{"alg":"RS256","jwk":{"kty":"RSA","e":"AQAB","n":"` + ownKey + `"},"jku":"https://example.com/keys"}`
		refused(t, v, signedText(jwt.SigningMethodRS256, otherRSAKey(), header, payload), badSignature)
	})
}

// Ensure a token that was signed by somebody else, or changed on its way, is
// refused, whichever byte it is.
func TestSignature(t *testing.T) {
	_, otherEdKey, _ := ed25519.GenerateKey(rand.Reader)
	keys := []struct {
		jwt.SigningMethod
		key, other any
		cfg        Config
	}{
		{jwt.SigningMethodHS256, testSecret, []byte(strings.Repeat("x", 32)), Config{HS256Secret: testSecret}},
		{jwt.SigningMethodRS256, rsaKey(), otherRSAKey(), Config{PublicKeyPEM: publicPEM(rsaKey())}},
		{jwt.SigningMethodPS256, rsaKey(), otherRSAKey(), Config{PublicKeyPEM: publicPEM(rsaKey())}},
		{jwt.SigningMethodES256, ecKey(), must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), Config{PublicKeyPEM: publicPEM(ecKey())}},
		{jwt.SigningMethodEdDSA, edKey(), otherEdKey, Config{PublicKeyPEM: publicPEM(edKey())}},
	}
	for _, k := range keys {
		t.Run(k.Alg(), func(t *testing.T) {
			v, _ := verifierAt(t, k.cfg)
			token := signed(k.SigningMethod, k.key, nil)
			parts := strings.Split(token, ".")
			accepted(t, v, token)

			refused(t, v, signed(k.SigningMethod, k.other, nil), badSignature)
			refused(t, v, parts[0]+"."+parts[1]+".AAAA", badSignature)
			refused(t, v, parts[0]+"."+encode(`{"tenant_id":"evil","exp":9999999999}`)+"."+parts[2], badSignature)
			sig := must(base64.RawURLEncoding.DecodeString(parts[2]))
			for i := range sig {
				changed := slices.Clone(sig)
				changed[i] ^= 1
				refused(t, v, parts[0]+"."+parts[1]+"."+encode(string(changed)), badSignature)
			}
			refused(t, v, parts[0]+"."+parts[1]+"."+encode(string(sig[:len(sig)-1])), badSignature)
			refused(t, v, parts[0]+"."+parts[1]+"."+encode(string(sig)+"\x00"), badSignature)
			refused(t, v, parts[0]+"."+parts[1]+"."+encode("\x00"+string(sig)), badSignature)
		})
	}
}

// Ensure only three base64url parts are taken for a token, with nothing around
// or inside them, and no two texts for one token.
func TestForm(t *testing.T) {
	v, _ := verifierAt(t, Config{HS256Secret: testSecret})
	good := signed(jwt.SigningMethodHS256, testSecret, nil)
	accepted(t, v, good)
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"signature stripped":   parts[0] + "." + parts[1] + ".",
		"two parts":            parts[0] + "." + parts[1],
		"one part":             parts[0],
		"header stripped":      "." + parts[1] + "." + parts[2],
		"payload stripped":     parts[0] + ".." + parts[2],
		"dots":                 "..",
		"four parts":           good + "." + parts[2],
		"five parts, as a JWE": good + ".AA.AA",
		"trailing dot":         good + ".",
		"trailing space":       good + " ",
		"leading space":        " " + good,
		"trailing line break":  good + "\n",
		"line break inside":    parts[0] + "." + parts[1] + ".\r\n" + parts[2],
		"trailing NUL":         good + "\x00",
		"trailing text":        good + ",x",
		"scheme left on":       "Bearer " + good,
		"padding":              good + "=",
		"standard base64":      parts[0] + "." + parts[1] + ".+/+/",
		"not ASCII":            good + "é",
		"not UTF-8":            good + "\xff",
		"JSON form":            `{"payload":"` + parts[1] + `"}`,
	} {
		t.Run(name, func(t *testing.T) { refused(t, v, token, badForm) })
	}
	refused(t, v, "", "token is missing")
	refused(t, v, good[:len(good)-1], "token is malformed")
	refused(t, v, parts[0]+"A."+parts[1]+"."+parts[2], "token's header is not base64url")
	// 256 bits leave two bits over in the last digit: they must be zero.
	refused(t, v, good[:len(good)-1]+string(good[len(good)-1]+1), "token is malformed")
}

// Ensure the limit on a token's size holds exactly, before anything is parsed.
func TestTokenSize(t *testing.T) {
	v, _ := verifierAt(t, Config{HS256Secret: testSecret})
	tokenOf := func(pad int) string {
		return signed(jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"pad": strings.Repeat("x", pad)})
	}
	pad := (maxTokenBytes - len(tokenOf(0))) * 3 / 4
	for len(tokenOf(pad)) < maxTokenBytes {
		pad++
	}
	for len(tokenOf(pad)) > maxTokenBytes {
		pad--
	}
	accepted(t, v, tokenOf(pad))
	refused(t, v, tokenOf(pad+2), "token is longer than 16 KiB")
	refused(t, v, strings.Repeat(".", 64<<20), "token is longer than 16 KiB")
	// As deep as the limit allows, which must cost no stack that matters.
	refused(t, v, hs256Text(strings.Repeat("[", 11000)), "token is malformed")
	refused(t, v, hs256Text(strings.Repeat("[", 6000)+strings.Repeat("]", 6000)), "token's payload is not a JSON object")
}

// Ensure each key of a file with several works, and only with its algorithms.
func TestRotation(t *testing.T) {
	file := slices.Concat(publicPEM(otherRSAKey()), []byte("# the new one\n"), publicPEM(rsaKey()), publicPEM(ecKey()))
	v, _ := verifierAt(t, Config{PublicKeyPEM: file})
	accepted(t, v, signed(jwt.SigningMethodRS256, rsaKey(), nil))
	accepted(t, v, signed(jwt.SigningMethodPS256, otherRSAKey(), nil))
	accepted(t, v, signed(jwt.SigningMethodES256, ecKey(), nil))
	refused(t, v, signed(jwt.SigningMethodEdDSA, edKey(), nil), badAlgorithm)
	refused(t, v, signed(jwt.SigningMethodHS256, file, nil), badAlgorithm)
}
