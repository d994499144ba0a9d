package httpapi

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
)

// problem is what the API says of a code.
type problem struct {
	status int
	title  string
	advice string
}

// problems is the one table from an error to its status.
var problems = map[service.Code]problem{
	service.CodeInvalidRequest:      {400, "The request is not valid", wire.AdviceFixRequest},
	service.CodeUnauthenticated:     {401, "The caller is not known", wire.AdviceFixRequest},
	service.CodeForbidden:           {403, "The caller may not do this", wire.AdviceFixRequest},
	service.CodeNotFound:            {404, "There is no such key", wire.AdviceNone},
	service.CodeNoSuchCall:          {404, "There is no such call", wire.AdviceFixRequest},
	service.CodeMethodNotAllowed:    {405, "The call takes another method", wire.AdviceFixRequest},
	service.CodeInProgress:          {409, "Another attempt is in progress", wire.AdviceReserveAgain},
	service.CodeUncertain:           {409, "Nobody knows whether it happened", wire.AdviceOperator},
	service.CodeVersionConflict:     {409, "The key changed meanwhile", wire.AdviceLookAgain},
	service.CodeLeaseLost:           {409, "The lease is lost", wire.AdviceReserveAgain},
	service.CodeAlreadyCompleted:    {409, "The key is settled already", wire.AdviceNone},
	service.CodeResponseUnavailable: {409, "It was done, and the response was not kept", wire.AdviceNone},
	service.CodePayloadTooLarge:     {413, "The request is too large", wire.AdviceFixRequest},
	service.CodeUnsupportedMedia:    {415, "The body is not JSON", wire.AdviceFixRequest},
	service.CodeFingerprintMismatch: {422, "The key belongs to another request", wire.AdviceNewKey},
	service.CodeInternal:            {500, "A fault of the service", wire.AdviceRepeatCall},
	service.CodeStoreUnavailable:    {503, "The store cannot be reached", wire.AdviceRepeatCall},
	service.CodeOutcomeUnknown:      {503, "The outcome is not known", wire.AdviceRepeatCall},
}

// writeError answers with a problem (RFC 9457). What is no [service.Error] is a fault of ours, whose text stays in the
// log.
func (a *API) writeError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	h := c.Response().Header()
	p := problemOf(asServiceError(err), h.Get(requestIDHeader))
	if p.RetryAfterMS != nil {
		h.Set("Retry-After", strconv.FormatInt((*p.RetryAfterMS+999)/1000, 10))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="reprise"`)
	}
	if err := respond(c, p.Status, "application/problem+json", p); err != nil {
		a.Log.Warn("an answer could not be written", "err", err)
	}
}

// problemOf writes an error as callers see it.
func problemOf(e *service.Error, requestID string) wire.Problem {
	p := problems[e.Code]
	body := wire.Problem{Type: "/docs/problems/" + string(e.Code), Title: p.title, Status: p.status, Detail: e.Detail,
		Code: string(e.Code), Advice: p.advice, RequestID: requestID}
	if e.RetryAfter > 0 {
		ms := max(1, int64(math.Ceil(float64(e.RetryAfter)/float64(time.Millisecond))))
		body.RetryAfterMS = &ms
	}
	if e.Record != nil {
		r := record(*e.Record, e.Code == service.CodeResponseUnavailable)
		body.Record = &r
	}
	return body
}

// asServiceError finds what the caller is told.
func asServiceError(err error) *service.Error {
	var e *service.Error
	var routing *echo.HTTPError
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, auth.ErrUnauthenticated):
		return &service.Error{Code: service.CodeUnauthenticated, Detail: err.Error()}
	case errors.As(err, &routing) && routing.Code == http.StatusNotFound:
		return &service.Error{Code: service.CodeNoSuchCall, Detail: "there is no such path; the calls are listed in /openapi.yaml"}
	case errors.As(err, &routing) && routing.Code == http.StatusMethodNotAllowed:
		return &service.Error{Code: service.CodeMethodNotAllowed, Detail: "the path takes another method; see the header Allow"}
	}
	return &service.Error{Code: service.CodeInternal, Detail: "a fault of the service; it has been logged"}
}
