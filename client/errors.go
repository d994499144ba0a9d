package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// What a call may be refused for, to be asked with [errors.Is]. What the service said is in the [*Error] around it.
var (
	// ErrInProgress: another attempt holds a live lease. Reserve again later.
	ErrInProgress = errors.New("another attempt is in progress")
	// ErrFingerprintMismatch: the key belongs to another request. Repeating changes nothing; the caller needs a new key.
	ErrFingerprintMismatch = errors.New("the key was used for another request")
	// ErrLeaseLost: the lease is not, or no longer, the caller's. Also the cause with which the context of [Do] ends.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrUncertain: it may have happened, and nobody runs it again before an operator has looked.
	ErrUncertain = errors.New("nobody knows whether it happened: an operator has to look")
	// ErrAlreadyCompleted: the key was settled otherwise. Error.Record has how.
	ErrAlreadyCompleted = errors.New("the key was settled otherwise")
	// ErrResponseUnavailable: it was done, and its response was not kept. Error.Record has status, headers and resource id.
	ErrResponseUnavailable = errors.New("it was done, and its response was not kept")
	// ErrNotFound: there is no record of the key.
	ErrNotFound = errors.New("there is no such key")
	// ErrInvalidRequest: the service cannot take the request; Error.Detail names the field and the limit.
	ErrInvalidRequest = errors.New("the request is not valid")
	// ErrUnauthenticated: the token is missing, wrong or over.
	ErrUnauthenticated = errors.New("the token is not accepted")
	// ErrForbidden: the token lacks a scope; Error.Detail names it.
	ErrForbidden = errors.New("the token does not allow it")
	// ErrTooLarge: the request is over the limit of the service, or the answer over [MaxAnswer].
	ErrTooLarge = errors.New("too large")
	// ErrRateLimited: there were too many calls.
	ErrRateLimited = errors.New("too many calls")
	// ErrUnexpectedAnswer: what answered does not speak as Reprise does. Is the address right?
	ErrUnexpectedAnswer = errors.New("the answer is none of Reprise's")
	// ErrUnavailable: the service or its store could not be asked, after all repetitions. Nothing was granted.
	ErrUnavailable = errors.New("the service cannot be asked")
	// ErrOutcomeUnknown: a request went out, and nothing says whether it was stored. The same call with the same ids
	// tells. It is an [ErrUnavailable], too.
	ErrOutcomeUnknown = fmt.Errorf("the outcome is unknown: %w", ErrUnavailable)
	// ErrNotRecorded: the work was done, and the service has not recorded its result, so another attempt may do it again.
	// What [Do] returns beside it is the result of its own work. Why is in the same error.
	ErrNotRecorded = errors.New("it was done, and could not be recorded")
)

// Advice is what the service says a caller should do after a refusal. The set may grow; one that is not known is
// [AdviceNone].
type Advice string

const (
	AdviceNone         Advice = wire.AdviceNone         // nothing: the answer is final
	AdviceFixRequest   Advice = wire.AdviceFixRequest   // the request is wrong: repeating it changes nothing
	AdviceReserveAgain Advice = wire.AdviceReserveAgain // reserve again, after Error.RetryAfter
	AdviceRepeatCall   Advice = wire.AdviceRepeatCall   // the same call again, with the same ids
	AdviceNewKey       Advice = wire.AdviceNewKey       // the key belongs to another request
	AdviceOperator     Advice = wire.AdviceOperator     // a person has to look
	AdviceLookAgain    Advice = wire.AdviceLookAgain    // it changed meanwhile
)

// Error is how a call failed, for [errors.As]. It is one of the errors of this package for [errors.Is].
type Error struct {
	Call       string        // "reserve", "complete", "release", "heartbeat", "lookup" or "batch"
	Status     int           // HTTP status; 0 when there was no answer
	Code       string        // of the service, such as "in_progress"; empty when it was not the service that answered
	Detail     string        // for people
	Advice     Advice        // what to do next
	RetryAfter time.Duration // how long to wait before; 0 when nobody said
	RequestID  string        // what the service's log calls the last request
	Requests   int           // how many were sent or tried
	Record     *Record       // where the key stands, when the service says so

	kind    error // one of the errors above
	unknown bool  // an earlier request of the call may have been stored
	cause   error // of no answer: the network, the context
}

// Error says which call failed, why, and what its request is called in the service's log.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "reprise: %s: %v", e.Call, e.kind)
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	if e.cause != nil {
		fmt.Fprintf(&b, ": %v", e.cause)
	}
	var more []string
	if e.Status != 0 {
		more = append(more, strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, e.Code)))
	}
	if e.Requests > 1 {
		more = append(more, fmt.Sprintf("%d requests", e.Requests))
	}
	if e.RequestID != "" {
		more = append(more, "request "+e.RequestID)
	}
	if len(more) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(more, ", "))
	}
	return b.String()
}

// Unwrap gives what it is, and what caused it. A refusal that says nothing of the key, such as that of a token, after a request that
// may have been stored, is an [ErrOutcomeUnknown], too.
func (e *Error) Unwrap() []error {
	all := []error{e.kind}
	if e.unknown && !e.isVerdict() {
		all = append(all, ErrOutcomeUnknown)
	}
	if e.cause != nil {
		all = append(all, e.cause)
	}
	return all
}

// isVerdict tells that the answer was decided by the state of the key, and so holds for every request of the call.
func (e *Error) isVerdict() bool {
	switch e.kind {
	case ErrInProgress, ErrFingerprintMismatch, ErrLeaseLost, ErrUncertain, ErrAlreadyCompleted, ErrResponseUnavailable, ErrNotFound:
		return true
	}
	return false
}

// kinds says what each code of the service is.
var kinds = map[string]error{
	"in_progress":            ErrInProgress,
	"fingerprint_mismatch":   ErrFingerprintMismatch,
	"lease_lost":             ErrLeaseLost,
	"uncertain":              ErrUncertain,
	"already_completed":      ErrAlreadyCompleted,
	"response_unavailable":   ErrResponseUnavailable,
	"not_found":              ErrNotFound,
	"invalid_request":        ErrInvalidRequest,
	"unsupported_media_type": ErrInvalidRequest,
	"unauthenticated":        ErrUnauthenticated,
	"forbidden":              ErrForbidden,
	"payload_too_large":      ErrTooLarge,
	"rate_limited":           ErrRateLimited,
	"internal":               ErrOutcomeUnknown, // whatever broke may have broken after the store had answered
	"store_unavailable":      ErrUnavailable,
	"outcome_unknown":        ErrOutcomeUnknown,
}

// problemError is the error for a problem of the service.
func problemError(call string, p wire.Problem) *Error {
	e := &Error{
		Call: call, Status: p.Status, Code: p.Code, Detail: p.Detail, RequestID: p.RequestID,
		Advice: Advice(p.Advice), kind: kinds[p.Code],
	}
	if e.kind == nil {
		e.kind = byStatus(p.Status)
	}
	if p.RetryAfterMS != nil {
		e.RetryAfter = clampPause(time.Duration(min(*p.RetryAfterMS, int64(longestPause/time.Millisecond))) * time.Millisecond)
	}
	if p.Record != nil {
		record := recordOf(*p.Record)
		e.Record = &record
	}
	return e
}

// byStatus is what an answer means by its status alone: of something between here and the service, or of a service that is
// newer than this package. A 404 is then no key that is absent.
func byStatus(status int) error {
	switch {
	case status == 401:
		return ErrUnauthenticated
	case status == 403:
		return ErrForbidden
	case status == 413:
		return ErrTooLarge
	case status == 429:
		return ErrRateLimited
	case status == 408, status >= 500:
		return ErrOutcomeUnknown
	}
	return ErrUnexpectedAnswer
}

// repeatable tells whether the same call may be answered otherwise when it is sent again at once or after a pause.
func (e *Error) repeatable() bool {
	if kinds[e.Code] != nil {
		return e.Advice == AdviceRepeatCall
	}
	return errors.Is(e.kind, ErrUnavailable) || e.kind == ErrRateLimited || e.kind == ErrUnauthenticated && e.Status == 0
}
