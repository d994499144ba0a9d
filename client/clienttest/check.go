package clienttest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reprise-idempotency/reprise/client/fingerprint"
	"github.com/reprise-idempotency/reprise/client/wire"
)

// checked is a request that names a key.
type checked interface{ KeyName() wire.Name }

// check refuses what the service refuses, by its default limits.
func check(q checked) *refusal {
	n := q.KeyName()
	if no := first(text("operation", n.Operation, 1, 200), text("subject", n.Subject, 0, 200), text("key", n.Key, 1, 255)); no != nil {
		return no
	}
	switch q := q.(type) {
	case wire.ReserveRequest:
		return checkReserve(q)
	case wire.CompleteRequest:
		return first(token(q.LeaseToken), within("retention", q.Retention, time.Second, 90*24*time.Hour),
			text("resource_id", value(q.ResourceID), 0, 255), one("result", q.Result, "completed", "failed"), checkResponse(q.Response))
	case wire.ReleaseRequest:
		return first(token(q.LeaseToken), length("reason", value(q.Reason), 0, 1000))
	case wire.HeartbeatRequest:
		return first(token(q.LeaseToken), within("lease", q.Lease, 100*time.Millisecond, time.Hour),
			one("on_lapse", q.OnLapse, "retry", "hold"), checkCheckpoint(q.Checkpoint))
	case wire.ResolveRequest:
		return first(length("reason", q.Reason, 1, 1000), one("to", &q.To, "completed", "failed", "released"), text("version", q.Version, 1, 64), checkResolution(q))
	case wire.ExpireRequest:
		return first(length("reason", q.Reason, 1, 1000), text("version", q.Version, 1, 64))
	}
	return nil
}

func checkReserve(q wire.ReserveRequest) *refusal {
	if (q.Fingerprint == nil) == (q.Request == nil) {
		return invalid("fingerprint", "give exactly one of fingerprint and request")
	}
	if q.Fingerprint != nil {
		if err := fingerprint.Validate(*q.Fingerprint); err != nil {
			return &refusal{code: "invalid_request", detail: err.Error()}
		}
	}
	if id := q.AttemptID; id != nil && (len(*id) < 8 || len(*id) > 128 || strings.ContainsFunc(*id, func(r rune) bool { return r < 0x21 || r > 0x7e })) {
		return invalid("attempt_id", "must be 8 to 128 visible ASCII characters")
	}
	return first(within("lease", q.Lease, 100*time.Millisecond, time.Hour), within("retention", q.Retention, time.Second, 90*24*time.Hour),
		within("wait", q.Wait, time.Millisecond, 20*time.Second), one("on_lapse", q.OnLapse, "retry", "hold"), text("holder", value(q.Holder), 0, 255))
}

func checkResponse(r *wire.Response) *refusal {
	if r == nil {
		return nil
	}
	if r.Status != nil && (*r.Status < 100 || *r.Status > 999) {
		return invalid("response.status", "must be 100 to 999")
	}
	if value(r.BodyEncoding) == "base64" {
		if _, err := base64.StdEncoding.Strict().DecodeString(value(r.Body)); err != nil {
			return invalid("response.body", "is not base64")
		}
	}
	return one("response.body_encoding", r.BodyEncoding, "utf-8", "base64")
}

func checkResolution(q wire.ResolveRequest) *refusal {
	if q.To == "released" && (q.Response != nil || q.ResourceID != nil) {
		return invalid("response", "what is released has none")
	}
	return checkResponse(q.Response)
}

func checkCheckpoint(c *wire.Checkpoint) *refusal {
	if c == nil {
		return nil
	}
	if c.Seq < 1 || c.Seq >= 1<<53 {
		return invalid("checkpoint.seq", "must be 1 to 2^53-1")
	}
	if c.Data == nil || len(*c.Data) > 16<<10 {
		return invalid("checkpoint.data", "must have 0 to 16384 bytes")
	}
	return nil
}

func first(all ...*refusal) *refusal {
	for _, no := range all {
		if no != nil {
			return no
		}
	}
	return nil
}

func length(field, s string, least, most int) *refusal {
	if len(s) < least || len(s) > most {
		return invalid(field, fmt.Sprintf("is %d bytes long; it must have %d to %d bytes", len(s), least, most))
	}
	return nil
}

func text(field, s string, least, most int) *refusal {
	if no := length(field, s, least, most); no != nil {
		return no
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }) {
		return invalid(field, "must be UTF-8 without control characters")
	}
	return nil
}

func token(s string) *refusal {
	if s == "" {
		return invalid("lease_token", "is required")
	}
	return nil
}

func one(field string, s *string, allowed ...string) *refusal {
	if s == nil || slices.Contains(allowed, *s) {
		return nil
	}
	return invalid(field, fmt.Sprintf("must be one of %q", allowed))
}

func within(field string, s *string, least, most time.Duration) *refusal {
	if s == nil {
		return nil
	}
	if d, ok := parseDuration(*s); !ok || d < least || d > most {
		return invalid(field, fmt.Sprintf("must be %v to %v", least, most))
	}
	return nil
}

// cutDigits gives the digits before a unit.
func cutDigits(s, unit string) (string, bool) {
	digits, ok := strings.CutSuffix(s, unit)
	return digits, ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func decoded(body, encoding *string) *string {
	if body == nil || value(encoding) != "base64" {
		return body
	}
	bytes, _ := base64.StdEncoding.DecodeString(*body)
	plain := string(bytes)
	return &plain
}

// encoded gives a body as answers have it.
func encoded(body string) (text, encoding *string) {
	e := "utf-8"
	if !utf8.ValidString(body) || strings.ContainsRune(body, 0) {
		body, e = base64.StdEncoding.EncodeToString([]byte(body)), "base64"
	}
	return &body, &e
}

// never are the header lines that belong to one connection, one moment or one person.
var never = map[string]bool{"Set-Cookie": true, "Set-Cookie2": true, "Authorization": true, "Connection": true, "Keep-Alive": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "Date": true, "Content-Length": true}

// keep stores what can be kept of a response.
func (r *record) keep(w *wire.Response, dropped bool) {
	r.droppedRows = nil
	if w == nil && !dropped {
		r.response, r.dropped = nil, false
		return
	}
	if w == nil {
		w = &wire.Response{}
	}
	kept := wire.Response{Status: w.Status}
	hop := map[string]bool{}
	for _, line := range w.Headers {
		if http.CanonicalHeaderKey(line[0]) == "Connection" {
			for option := range strings.SplitSeq(line[1], ",") {
				hop[http.CanonicalHeaderKey(strings.TrimSpace(option))] = true
			}
		}
	}
	bytes := 0
	for _, line := range w.Headers {
		key := http.CanonicalHeaderKey(line[0])
		if !isFieldName(line[0]) || strings.ContainsFunc(line[1], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			r.drop(line[0])
			continue
		}
		if never[key] || hop[key] || strings.HasPrefix(key, "Proxy-") {
			continue
		}
		if bytes += len(line[0]) + len(line[1]); len(kept.Headers) == 64 || bytes > 16<<10 {
			bytes -= len(line[0]) + len(line[1])
			r.drop(line[0])
			continue
		}
		kept.Headers = append(kept.Headers, line)
	}
	body := decoded(w.Body, w.BodyEncoding)
	r.dropped = dropped || len(value(body)) > 1<<20
	if body != nil && !r.dropped {
		kept.Body, kept.BodyEncoding = encoded(*body)
	}
	r.response = &kept
}

// drop notes the name of a line that is not kept, once.
func (r *record) drop(name string) {
	if !isFieldName(name) || len(name) > 100 {
		name = "(not a field name)"
	}
	if len(r.droppedRows) < 64 && !slices.Contains(r.droppedRows, name) {
		r.droppedRows = append(r.droppedRows, name)
	}
}

func isFieldName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
