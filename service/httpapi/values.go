package httpapi

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reprise-idempotency/reprise/service"
)

// durationForm is how durations are written in the API: one number and one unit, never the absence of either.
var durationForm = regexp.MustCompile(`^([0-9]+)(ms|s|m|h)$`)

// instantForm is how an instant is written in a query (RFC 3339); time.Parse takes more.
var instantForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

var units = map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour}

// duration reads a duration that was given; nil stays nil.
func duration(field string, s *string) (*time.Duration, error) {
	if s == nil {
		return nil, nil
	}
	m := durationForm.FindStringSubmatch(*s)
	if m == nil {
		return nil, service.Invalid(field, `must be a duration such as "30s": digits and one of ms, s, m, h`)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	unit := units[m[2]]
	if err != nil || n > int64(1<<63-1)/int64(unit) {
		n, unit = 1<<63-1, 1 // beyond every limit, which the service names
	}
	d := time.Duration(n) * unit
	return &d, nil
}

// timeText writes an instant as RFC 3339 in UTC with microseconds.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

const (
	encodingUTF8   = "utf-8"
	encodingBase64 = "base64"
)

// bytesOf reads a body that travels as text; nil stays nil.
func bytesOf(field string, body, encoding *string) ([]byte, error) {
	switch {
	case encoding != nil && *encoding != encodingUTF8 && *encoding != encodingBase64:
		return nil, service.Invalid(field+".body_encoding", `must be "utf-8" or "base64"`)
	case body == nil:
		return nil, nil
	case encoding == nil || *encoding == encodingUTF8:
		return []byte(*body), nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(*body)
	if err != nil {
		return nil, service.Invalid(field+".body", "is not base64 (RFC 4648 section 4, with padding)")
	}
	if b == nil {
		b = []byte{} // given, and empty
	}
	return b, nil
}

// textOf writes bytes as text: as they are when they are UTF-8 without NUL, else in base64.
func textOf(b []byte) (body, encoding string) {
	if utf8.Valid(b) && !strings.ContainsRune(string(b), 0) {
		return string(b), encodingUTF8
	}
	return base64.StdEncoding.EncodeToString(b), encodingBase64
}
