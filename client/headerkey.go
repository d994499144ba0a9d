package client

import (
	"errors"
	"fmt"
	"strings"
)

// KeyHeader is the header line that carries a caller's key (draft-ietf-httpapi-idempotency-key-header).
const KeyHeader = "Idempotency-Key"

// maxKey is the most bytes of a key.
const maxKey = 255

// ErrNoKey says that a request has no Idempotency-Key.
var ErrNoKey = errors.New("Idempotency-Key: there is none")

// ParseKey reads the values of Idempotency-Key, as [net/http.Header.Values] gives them. A quoted value (a string of RFC 8941)
// and a bare one name the same key, so that a client which begins to quote does not become another one. No line is [ErrNoKey]. Two
// lines, even of the same key, are an error, and so are an empty key, parameters, bad quoting, a list, more than 255 bytes, and
// what is not visible ASCII: nothing is guessed. Errors do not repeat the key.
func ParseKey(values []string) (string, error) {
	if len(values) == 0 {
		return "", ErrNoKey
	}
	if len(values) > 1 {
		return "", fmt.Errorf("%s: there are %d lines; there must be one", KeyHeader, len(values))
	}
	key, problem := unquoted(strings.Trim(values[0], " \t"))
	if problem == "" && len(key) > maxKey {
		problem = fmt.Sprintf("it has %d bytes; there must be 1 to %d", len(key), maxKey)
	}
	if problem != "" {
		return "", fmt.Errorf("%s: %s", KeyHeader, problem)
	}
	return key, nil
}

func unquoted(s string) (key, problem string) {
	if s == "" || s == `""` {
		return "", "it is empty"
	}
	if s[0] != '"' {
		if i := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;`, r) }); i >= 0 {
			return "", fmt.Sprintf("byte %d: a key without quotes is visible ASCII without quote, comma and semicolon", i)
		}
		return s, ""
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' && i == len(s)-1:
			return b.String(), ""
		case c == '"':
			return "", "something stands behind the closing quote; parameters are not supported"
		case c == '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", fmt.Sprintf(`byte %d: \ must be followed by " or \`, i-1)
			}
			b.WriteByte(s[i])
		case c < ' ' || c > '~':
			return "", fmt.Sprintf("byte %d is not printable ASCII", i)
		default:
			b.WriteByte(c)
		}
	}
	return "", "the closing quote is missing"
}
