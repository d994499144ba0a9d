package auth

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxTenantBytes is what every storage backend can index with room to spare.
	maxTenantBytes = 200
	// maxSubjectBytes holds the longest subject seen in the wild, a Kubernetes
	// service account (339 bytes); the audit log stores it with every act.
	maxSubjectBytes = 512
)

// Each sentence goes on from "it".
var (
	errMissing  = errors.New("is missing")
	errNoString = errors.New("is not a string")
	errBlank    = errors.New("is blank")
	errTooLong  = errors.New("is too long")
	errControl  = errors.New("contains a control character")
	errNotUTF8  = errors.New("is not valid UTF-8")
)

// CheckTenant says why a tenant cannot be used, in words that go on from its
// name: it needs 1 to 200 bytes of UTF-8 with something visible. Control characters are refused
// rather than removed: removing them would let two tenants meet, and NUL is
// stored by one database and refused by another.
func CheckTenant(tenant string) error {
	if !strings.ContainsFunc(tenant, visible) {
		return errBlank
	}
	return checkText(tenant, maxTenantBytes)
}

func checkSubject(subject string) error { return checkText(subject, maxSubjectBytes) }

func checkText(s string, maxBytes int) error {
	switch {
	case len(s) > maxBytes:
		return errTooLong
	case !utf8.ValidString(s):
		return errNotUTF8
	case strings.ContainsFunc(s, unicode.IsControl):
		return errControl
	}
	return nil
}

// visible is false for spaces, control characters and zero-width characters: a
// name of those alone looks empty wherever it is shown.
func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
