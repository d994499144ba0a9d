package service

import (
	"fmt"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// Code says what kind of refusal an error is. The list is closed: it is part of the API.
type Code string

// The codes, and what each says.
const (
	CodeInvalidRequest      Code = "invalid_request"        // a field is wrong; the detail names it and its limit
	CodeUnauthenticated     Code = "unauthenticated"        // no token, or one that is not accepted
	CodeForbidden           Code = "forbidden"              // the token lacks a scope
	CodeNotFound            Code = "not_found"              // no such key: never made, expired or another tenant's
	CodeNoSuchCall          Code = "no_such_call"           // no such path
	CodeMethodNotAllowed    Code = "method_not_allowed"     // the path takes another method
	CodeInProgress          Code = "in_progress"            // somebody else holds a live lease
	CodeUncertain           Code = "uncertain"              // the holder lapsed under hold: an operator must look
	CodeVersionConflict     Code = "version_conflict"       // the record changed since it was looked at
	CodeLeaseLost           Code = "lease_lost"             // the token is not, or no longer, the one that counts
	CodeAlreadyCompleted    Code = "already_completed"      // settled, and not by this very call
	CodeResponseUnavailable Code = "response_unavailable"   // it was done; the body of its response was not kept
	CodePayloadTooLarge     Code = "payload_too_large"      // the request is over the limit
	CodeUnsupportedMedia    Code = "unsupported_media_type" // the body is not JSON
	CodeFingerprintMismatch Code = "fingerprint_mismatch"   // the key belongs to another request
	CodeInternal            Code = "internal"               // a fault of the service; repeat with the same ids to learn what was stored
	CodeStoreUnavailable    Code = "store_unavailable"      // the store cannot be reached; nothing was changed
	CodeOutcomeUnknown      Code = "outcome_unknown"        // the store did not confirm; repeat with the same ids
)

// Error is a refusal, or a failure, that the caller is told about.
type Error struct {
	Code       Code
	Detail     string        // a sentence for the caller; it never holds a secret, a stored body or a cause
	Record     *Record       // where it helps to understand the refusal
	RetryAfter time.Duration // when trying again may help; zero when it is not known
	cause      error
}

// Error gives the detail and, for logs, the cause.
func (e *Error) Error() string {
	if e.cause == nil {
		return string(e.Code) + ": " + e.Detail
	}
	return string(e.Code) + ": " + e.Detail + ": " + e.cause.Error()
}

// Unwrap gives the cause, which is for logs and never for callers.
func (e *Error) Unwrap() error { return e.cause }

// Invalid refuses a request for one of its fields.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidRequest, Detail: field + ": " + fmt.Sprintf(format, args...)}
}

// maxRetryAfter bounds what a caller is told to wait: a holder usually ends long before its lease does.
const maxRetryAfter = 2 * time.Second

// outageRetryAfter is what a caller is told to wait during an outage of the store.
const outageRetryAfter = time.Second

func unanswered(code Code, detail string, cause error) *Error {
	return &Error{Code: code, Detail: detail, RetryAfter: outageRetryAfter, cause: cause}
}

// refusals are the outcomes that refuse a call, with what its caller is told.
var refusals = map[storage.Outcome]Error{
	storage.OutcomeInProgress:          {Code: CodeInProgress, Detail: "another attempt holds the key"},
	storage.OutcomeUncertain:           {Code: CodeUncertain, Detail: "an attempt lapsed after its point of no return: the effect may have happened, and an operator has to resolve the key"},
	storage.OutcomeResponseUnavailable: {Code: CodeResponseUnavailable, Detail: "the work was done, but the body of its response was not kept"},
	storage.OutcomeFingerprintMismatch: {Code: CodeFingerprintMismatch, Detail: "the key was used for another request: the fingerprints differ"},
	storage.OutcomeLeaseLost:           {Code: CodeLeaseLost, Detail: "the lease is lost: another attempt acquired the key, it was settled or released, has expired, or there is none of this name"},
	storage.OutcomeAlreadyCompleted:    {Code: CodeAlreadyCompleted, Detail: "the key is settled already, with another outcome or by an operator"},
	storage.OutcomeVersionConflict:     {Code: CodeVersionConflict, Detail: "version: the key changed since it was looked at; look again"},
	storage.OutcomeNotFound:            {Code: CodeNotFound, Detail: "there is no such key"},
}

// refuse tells a caller of an outcome that refuses the call. A mismatch says nothing of the record: it is another
// request's.
func refuse(a storage.Answer) *Error {
	e, ok := refusals[a.Outcome]
	if !ok {
		return &Error{Code: CodeInternal, Detail: "the store gave an answer without an outcome", cause: fmt.Errorf("outcome %v", a.Outcome)}
	}
	if a.Record != nil && a.Outcome != storage.OutcomeFingerprintMismatch {
		e.Record = &Record{Record: a.Record, Now: a.Now}
	}
	if a.Outcome == storage.OutcomeInProgress && a.Record.StateAt(a.Now) == storage.InProgress {
		e.RetryAfter = min(a.Record.LeaseExpiresAt.Sub(a.Now), maxRetryAfter)
	}
	return &e
}
