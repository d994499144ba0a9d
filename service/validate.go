package service

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reprise-idempotency/reprise/client/fingerprint"
	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// name checks the caller's part of a name and puts the tenant before it. Nothing is trimmed, folded or normalised.
func (s *Service) name(p auth.Principal, n Name) (storage.Name, error) {
	err := firstError(
		text("operation", n.Operation, 1, s.limits.Operation),
		text("subject", n.Subject, 0, s.limits.Subject),
		text("key", n.Key, 1, s.limits.Key),
	)
	return storage.Name{Tenant: p.Tenant(), Operation: n.Operation, Subject: n.Subject, Key: n.Key}, err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// text checks a text of a single line: its length in bytes, UTF-8, no control characters.
func text(field, s string, least, most int) error {
	if err := length(field, s, least, most); err != nil {
		return err
	}
	if strings.ContainsFunc(s, isControl) {
		return Invalid(field, "must not contain control characters")
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }

// length checks what every text must be: within its length, and UTF-8.
func length(field, s string, least, most int) error {
	switch {
	case len(s) == 0 && least > 0:
		return Invalid(field, "is required (%d to %d bytes)", least, most)
	case len(s) < least, len(s) > most:
		return Invalid(field, "is %d bytes long; it must have %d to %d bytes", len(s), least, most)
	case !utf8.ValidString(s):
		return Invalid(field, "must be valid UTF-8")
	}
	return nil
}

// attemptID checks an attempt id that was given.
func attemptID(id *string) error {
	if id == nil {
		return nil
	}
	if len(*id) < minAttemptID || len(*id) > maxAttemptID || strings.ContainsFunc(*id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return Invalid("attempt_id", "must be %d to %d visible ASCII characters", minAttemptID, maxAttemptID)
	}
	return nil
}

// duration gives what was asked for, or the default when nothing was; zero is not nothing.
func duration(field string, d *time.Duration, r Range) (time.Duration, error) {
	if d == nil {
		return r.Default, nil
	}
	if *d < r.Min || *d > r.Max {
		return 0, Invalid(field, "must be %s to %s", short(r.Min), short(r.Max))
	}
	return *d, nil
}

// short writes a duration as callers write it: "24h", not "24h0m0s".
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// onLapse reads the policy for a lease that runs out.
func onLapse(field string, s *string) (storage.OnLapse, error) {
	if s == nil {
		return storage.Retry, nil
	}
	for _, o := range []storage.OnLapse{storage.Retry, storage.Hold} {
		if *s == o.String() {
			return o, nil
		}
	}
	return 0, Invalid(field, `must be "retry" or "hold"`)
}

// token reads a lease token. A text that never was one is answered as any other lost lease: by a fresh token, which is
// nobody's.
func token(s string) (storage.Token, error) {
	if s == "" {
		return storage.Token{}, Invalid("lease_token", "is required")
	}
	if t, ok := storage.ParseToken(s); ok {
		return t, nil
	}
	return storage.NewToken(), nil
}

// ownFingerprint checks a fingerprint that a caller made itself.
func ownFingerprint(s string) error {
	if err := fingerprint.Validate(s); err != nil {
		return &Error{Code: CodeInvalidRequest, Detail: err.Error()}
	}
	return nil
}

func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
