package service

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reprise-idempotency/reprise/storage"
)

// Response is what the work answered, as the caller gives it.
type Response struct {
	Status      *int
	Headers     [][2]string
	Body        []byte // nil when none was given
	BodyDropped bool   // there was a body, and the caller does not send it
}

const (
	minStatus = 100
	maxStatus = 999
)

// storable gives what is stored of a response. Only an invalid status is refused; what cannot be kept is dropped and
// marked, because the effect has happened, and to lose the record would make it happen again.
func (s *Service) storable(r *Response) (*storage.Response, error) {
	if r == nil {
		return nil, nil
	}
	k := &storage.Response{Body: r.Body, BodyDropped: r.BodyDropped}
	if r.Status != nil {
		if *r.Status < minStatus || *r.Status > maxStatus {
			return nil, Invalid("response.status", "must be %d to %d", minStatus, maxStatus)
		}
		k.Status = *r.Status
	}
	if len(k.Body) > s.limits.Body || k.BodyDropped {
		k.Body, k.BodyDropped = nil, true
	}
	k.Headers, k.DroppedHeaders = keptHeaders(r.Headers, s.limits.HeaderLines, s.limits.HeaderBytes)
	return k, nil
}

// neverKept are the header lines that belong to one connection, one moment or one person, and not to the response: what
// they say would be wrong, or a secret, in a replay. (RFC 9110 section 7.6.1; RFC 6265; Proxy-* as a whole.)
var neverKept = []string{"set-cookie", "set-cookie2", "authorization", "connection", "keep-alive", "te", "trailer",
	"transfer-encoding", "upgrade", "date", "content-length"}

// keptHeaders gives the lines that are stored, in order, and the names of those that should have been.
func keptHeaders(lines [][2]string, mostLines, mostBytes int) (kept [][2]string, dropped []string) {
	hopByHop := connectionOptions(lines)
	for _, line := range lines {
		name, value := line[0], line[1]
		if !isFieldName(name) || !isFieldValue(value) {
			dropped = withDropped(dropped, name)
			continue
		}
		if lower := strings.ToLower(name); slices.Contains(neverKept, lower) || strings.HasPrefix(lower, "proxy-") || hopByHop[lower] {
			continue
		}
		if len(kept) == mostLines || len(name)+len(value) > mostBytes {
			dropped = withDropped(dropped, name)
			continue
		}
		mostBytes -= len(name) + len(value)
		kept = append(kept, line)
	}
	return kept, dropped
}

// connectionOptions are the fields that a Connection line makes hop-by-hop, in lower case.
func connectionOptions(lines [][2]string) map[string]bool {
	names := map[string]bool{}
	for _, line := range lines {
		if strings.EqualFold(line[0], "connection") {
			for option := range strings.SplitSeq(line[1], ",") {
				names[strings.ToLower(strings.TrimSpace(option))] = true
			}
		}
	}
	return names
}

const (
	maxDroppedNames = 64
	maxDroppedName  = 100
)

// withDropped notes the name of a line that was not kept, within bounds, and only where it is one.
func withDropped(dropped []string, name string) []string {
	if !isFieldName(name) || len(name) > maxDroppedName {
		name = "(not a field name)"
	}
	if len(dropped) == maxDroppedNames || slices.Contains(dropped, name) {
		return dropped
	}
	return append(dropped, name)
}

// isFieldName follows RFC 9110 section 5.1: a token.
func isFieldName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// isFieldValue follows RFC 9110 section 5.5, in UTF-8: no control characters but the tab.
func isFieldValue(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\t' || r == 0x7f
	})
}

// resultHash is what makes a repeated complete the same: the result, the resource id and the response as they were
// given, before anything was dropped. Every part carries its length, so that nothing can move from one to another.
func resultHash(result storage.State, resourceID string, r *Response) []byte {
	h := sha256.New()
	part := func(b []byte) {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		_, _ = h.Write(b)
	}
	number := func(n int) { _, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	number(int(result))
	part([]byte(resourceID))
	if r == nil {
		return h.Sum(nil)
	}
	status := 0
	if r.Status != nil {
		status = *r.Status
	}
	number(status)
	number(len(r.Headers))
	for _, line := range r.Headers {
		part([]byte(line[0]))
		part([]byte(line[1]))
	}
	switch {
	case r.BodyDropped:
		number(2)
	case r.Body != nil:
		number(1)
		part(r.Body)
	default:
		number(0)
	}
	return h.Sum(nil)
}
