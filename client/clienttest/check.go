package clienttest

import (
	"encoding/base64"
	"fmt"
	"net/http"
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
			text("resource_id", value(q.ResourceID), 0, 255), one("result", value(q.Result), "completed", "failed"), checkResponse(q.Response))
	case wire.ReleaseRequest:
		return first(token(q.LeaseToken), length("reason", value(q.Reason), 0, 1000))
	case wire.HeartbeatRequest:
		return first(token(q.LeaseToken), within("lease", q.Lease, 100*time.Millisecond, time.Hour),
			one("on_lapse", value(q.OnLapse), "retry", "hold"), checkCheckpoint(q.Checkpoint))
	case wire.ResolveRequest:
		return first(text("reason", q.Reason, 1, 1000), one("to", q.To, "completed", "failed", "released"), checkResponse(q.Response))
	case wire.ExpireRequest:
		return text("reason", q.Reason, 1, 1000)
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
		within("wait", q.Wait, time.Millisecond, 20*time.Second), one("on_lapse", value(q.OnLapse), "retry", "hold"), text("holder", value(q.Holder), 0, 255))
}

func checkResponse(r *wire.Response) *refusal {
	if r == nil {
		return nil
	}
	if r.Status != nil && (*r.Status < 100 || *r.Status > 999) {
		return invalid("response.status", "must be 100 to 999")
	}
	if value(r.BodyEncoding) == "base64" {
		if _, err := base64.StdEncoding.DecodeString(value(r.Body)); err != nil {
			return invalid("response.body", "is not base64")
		}
	}
	return one("response.body_encoding", value(r.BodyEncoding), "utf-8", "base64")
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

func one(field, s string, allowed ...string) *refusal {
	for _, a := range allowed {
		if s == a || s == "" {
			return nil
		}
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
	plain, _ := base64.StdEncoding.DecodeString(*body)
	return given(string(plain))
}

// never are the header lines that belong to one connection, one moment or one person.
var never = map[string]bool{"Set-Cookie": true, "Set-Cookie2": true, "Authorization": true, "Connection": true, "Keep-Alive": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "Date": true, "Content-Length": true}

// keep stores what can be kept of a response.
func (r *record) keep(w *wire.Response, dropped bool) {
	if w == nil {
		r.response, r.dropped = nil, dropped
		return
	}
	kept := *w
	kept.Headers = nil
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
		if never[key] || hop[key] || strings.HasPrefix(key, "Proxy-") {
			continue
		}
		if bytes += len(line[0]) + len(line[1]); len(kept.Headers) == 64 || bytes > 16<<10 {
			bytes -= len(line[0]) + len(line[1])
			r.droppedRows = append(r.droppedRows, line[0])
			continue
		}
		kept.Headers = append(kept.Headers, line)
	}
	if r.dropped = dropped || len(value(decoded(w.Body, w.BodyEncoding))) > 1<<20; r.dropped {
		kept.Body, kept.BodyEncoding = nil, nil
	}
	r.response = &kept
}
