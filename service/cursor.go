package service

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// A cursor is where a page ended. It carries a hash of what was asked for, so that it is not taken for a place in another
// list. It is no secret, and a made-up one shows nothing that its caller may not see: the tenant is not in it.

// cursor is what a cursor holds.
type cursor struct {
	Filters string `json:"f"`
	Micro   int64  `json:"t"`
	First   string `json:"a,omitempty"` // operation, or the id of an act
	Subject string `json:"s,omitempty"`
	Key     string `json:"k,omitempty"`
	Open    bool   `json:"o,omitempty"`
}

func (c cursor) String() string {
	b, _ := json.Marshal(c) // of strings and numbers
	return base64.RawURLEncoding.EncodeToString(b)
}

// maxMicro is the end of the year 9999: no page ends later.
const maxMicro = 253_402_300_799_999_999

// parseCursor reads a cursor that was given; nil when none was.
func parseCursor(filters string, s *string) (*cursor, error) {
	if s == nil {
		return nil, nil
	}
	var c cursor
	b, err := base64.RawURLEncoding.DecodeString(*s)
	if err != nil || json.Unmarshal(b, &c) != nil || c.String() != *s || strings.ContainsFunc(c.First+c.Subject+c.Key, isControl) ||
		c.Micro < 0 || c.Micro > maxMicro {
		return nil, Invalid("cursor", "is none that a page gave")
	}
	if c.Filters != filters {
		return nil, Invalid("cursor", "belongs to another list: send it with the parameters of the page that gave it")
	}
	return &c, nil
}

// filtersOf hashes what a list was asked for.
func filtersOf(parts ...any) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%q\n", fmt.Sprint(p))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:9])
}

func listFilters(q storage.ListQuery) string {
	subject := "any"
	if q.Subject != nil {
		subject = "=" + *q.Subject
	}
	return filtersOf("keys", q.Tenant, q.Operation, subject, q.Key, q.KeyPrefix, q.State, q.CreatedFrom.UnixMicro(), q.CreatedBefore.UnixMicro())
}

func listCursor(q storage.ListQuery, at storage.Position) string {
	return cursor{Filters: listFilters(q), Micro: at.CreatedAt.UnixMicro(), First: at.Operation, Subject: at.Subject, Key: at.Key, Open: at.Open}.String()
}

func parseListCursor(q storage.ListQuery, s *string) (*storage.Position, error) {
	c, err := parseCursor(listFilters(q), s)
	if c == nil {
		return nil, err
	}
	return &storage.Position{CreatedAt: time.UnixMicro(c.Micro).UTC(), Operation: c.First, Subject: c.Subject, Key: c.Key, Open: c.Open}, nil
}

func actFilters(q storage.ActQuery) string {
	subject := "any"
	if q.Subject != nil {
		subject = "=" + *q.Subject
	}
	return filtersOf("acts", q.Tenant, q.Operation, subject, q.Key)
}
