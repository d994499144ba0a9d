package auth

import (
	"encoding/base64"
	"slices"
	"strings"
)

// maxTokenBytes is twice what common proxies let through in one header line, and
// bounds the work that an unknown caller can ask for.
const maxTokenBytes = 16 << 10

// checkForm refuses what is not a compact JWS (RFC 7515 section 3.1): three
// base64url parts, none empty, with nothing before, between or after. jwt would
// let line breaks through, because encoding/base64 skips them.
func checkForm(token string) error {
	switch {
	case token == "":
		return refuse("token is missing", nil)
	case len(token) > maxTokenBytes:
		return refuse("token is longer than 16 KiB", nil)
	case strings.ContainsFunc(token, outsideJWS),
		strings.Count(token, ".") != 2,
		slices.Contains(strings.Split(token, "."), ""):
		return refuse("token is not a JWT in compact signed form", nil)
	}
	return nil
}

func outsideJWS(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
		return false
	}
	return true
}

// checkHeader refuses a token by its header, before any key is touched.
func checkHeader(token string, keys keySet) error {
	part, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil {
		return refuse("token's header is not base64url", err)
	}
	header, err := decodeObject(raw)
	if err != nil {
		return refuse("token's header "+err.Error(), nil)
	}
	if _, present := header["crit"]; present {
		// RFC 7515 section 4.1.11: refuse what must be understood and is not. We
		// understand no extension.
		return refuse("token's header has crit, which is not supported", nil)
	}
	alg, _ := header["alg"].(string)
	if _, fits := keys[alg]; !fits {
		return refuse("token's algorithm does not fit the configured key", nil)
	}
	return nil
}
