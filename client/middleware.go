package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/reprise-idempotency/reprise/client/fingerprint"
)

// Policy says which requests [Middleware] protects, and how.
type Policy struct {
	// Subject gives the id of the authenticated customer on whose behalf a request is: two customers who send the same key never
	// meet. It is required and has no default. An error is answered with 401. "" is right only for an API with a single customer.
	Subject func(*http.Request) (string, error)
	// Operation names what a request does. nil: the method and the pattern of [http.ServeMux], or the path where there is no
	// pattern, as in other routers before they have chosen: give one there.
	Operation func(*http.Request) string
	Methods   []string // that are protected; nil: POST and PATCH
	Optional  bool     // a request without a key passes unprotected; else it is answered with 400

	Lease     time.Duration // as in Op
	Retention time.Duration
	OnLapse   OnLapse
	OnOutage  OutagePolicy
	Wait      time.Duration // how long to wait for another attempt before 409; 0: not at all

	// Final says of an answer that it is the result of the operation, to be stored, rather than a failure that gives the key
	// back. nil: FinalStatus.
	Final          func(status int, header http.Header) bool
	MaxRequest     int64 // bytes of a request's body, which is read before the handler runs; 0: 4 MiB. Over it: 413
	MaxResponse    int64 // bytes of an answer that are stored; 0: 1 MiB. A larger one is sent whole, and never run again
	MismatchStatus int   // when the key was used for another request; 0: 422; or 409
}

// FinalStatus is the rule of [Policy.Final]: 2xx, 3xx and 4xx are final, but for 401, 403, 408, 409, 425 and 429.
func FinalStatus(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status < 500
}

// Middleware makes retries of HTTP requests safe, as draft-ietf-httpapi-idempotency-key-header describes it: the first request
// with an Idempotency-Key runs the handler, retries get its answer. It is for net/http and all that builds on it: chi takes
// it as it is, echo by echo.WrapMiddleware. Put it behind authentication, which [Policy.Subject] asks.
//
// The handler runs as the work of [Client.Run]: its context ends with the lease, and [LeaseFrom] gives that. An answer
// that is not flushed is recorded before it is sent. An answer that is not final gives the key back, unless the key is on hold.
// A handler that panics, breaks off or hijacks its connection is never recorded: its lease runs out.
//
// The request is fixed before the handler sees it: method, target, content type and body make its fingerprint. The handler does
// not see Accept-Encoding, so that what is stored can be sent to everybody: compress outside of Middleware. Lines that middleware around
// it has set, and those that belong to one request (see the source of volatile), are not stored. Answers carry
// Idempotency-Status: stored, replayed or conflict.
func Middleware(c *Client, p Policy) (func(http.Handler) http.Handler, error) {
	if p.Subject == nil {
		return nil, errors.New("client.Middleware: Policy.Subject is required: it keeps customers who send the same key apart")
	}
	if p.OnOutage == FailOpen && c.tenant == "" {
		return nil, errors.New("client.Middleware: Policy.OnOutage: FailOpen needs client.Tenant")
	}
	if p.MismatchStatus != 0 && p.MismatchStatus != http.StatusConflict && p.MismatchStatus != http.StatusUnprocessableEntity {
		return nil, fmt.Errorf("client.Middleware: Policy.MismatchStatus: %d: must be 422 or 409", p.MismatchStatus)
	}
	p.MismatchStatus = or(p.MismatchStatus, http.StatusUnprocessableEntity)
	p.MaxRequest, p.MaxResponse = or(p.MaxRequest, 4<<20), or(p.MaxResponse, 1<<20)
	p.Wait = or(p.Wait, NoWait)
	if p.Methods == nil {
		p.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	if p.Operation == nil {
		p.Operation = operationOf
	}
	if p.Final == nil {
		p.Final = func(status int, _ http.Header) bool { return FinalStatus(status) }
	}
	return func(next http.Handler) http.Handler { return &protected{c, p, next} }, nil
}

// operationOf is the default of [Policy.Operation].
func operationOf(r *http.Request) string {
	pattern := r.Pattern
	if _, path, ok := strings.Cut(pattern, " "); ok {
		pattern = strings.TrimLeft(path, " \t")
	}
	if pattern == "" {
		pattern = r.URL.EscapedPath()
	}
	return r.Method + " " + pattern
}

type leaseKey struct{}

// LeaseFrom gives the lease under which a handler runs behind [Middleware]; nil when the request is not protected.
func LeaseFrom(ctx context.Context) *Lease {
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	return l
}

// protected is a handler behind [Middleware].
type protected struct {
	client *Client
	policy Policy
	next   http.Handler
}

// ServeHTTP runs the handler, or gives its earlier answer.
func (p *protected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(p.policy.Methods, r.Method) {
		p.next.ServeHTTP(w, r)
		return
	}
	key, err := ParseKey(r.Header.Values(KeyHeader))
	switch {
	case errors.Is(err, ErrNoKey) && p.policy.Optional:
		p.next.ServeHTTP(w, r)
		return
	case err != nil:
		edgeProblem{status: http.StatusBadRequest, code: "invalid_request", detail: err.Error()}.write(w)
		return
	}
	w.Header().Set(KeyHeader, r.Header.Get(KeyHeader))
	subject, err := p.policy.Subject(r)
	if err != nil {
		edgeProblem{status: http.StatusUnauthorized, code: "unauthenticated", detail: "nobody says on whose behalf the request is"}.write(w)
		return
	}
	body, problem := p.read(w, r)
	if problem != nil {
		problem.write(w)
		return
	}
	op := Op{Operation: p.policy.Operation(r), Subject: subject, Key: key, Fingerprint: fingerprint.Of(fingerprint.Request{
		Method: r.Method, Target: target(r), ContentType: r.Header.Get("Content-Type"), Body: body}),
		Lease: p.policy.Lease, Retention: p.policy.Retention, OnLapse: p.policy.OnLapse, OnOutage: p.policy.OnOutage, Wait: p.policy.Wait}
	c := newCapture(w, p.policy.MaxResponse)
	outcome, err := p.client.Run(r.Context(), op, func(ctx context.Context, lease *Lease) (*Settlement, error) {
		return p.work(ctx, lease, c, r, body)
	})
	p.answer(c, outcome, err)
}

// target is the request target as it was sent.
func target(r *http.Request) string {
	if r.RequestURI != "" {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

// read takes the body of the request, whole.
func (p *protected) read(w http.ResponseWriter, r *http.Request) ([]byte, *edgeProblem) {
	if r.Body == nil { // a request that was made by hand
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, p.policy.MaxRequest))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &edgeProblem{status: http.StatusRequestEntityTooLarge, code: "payload_too_large", detail: fmt.Sprintf("the body has more than %d bytes", p.policy.MaxRequest)}
	case err != nil:
		return nil, &edgeProblem{status: http.StatusBadRequest, code: "invalid_request", detail: "the body could not be read whole"}
	}
	return body, nil
}

// Why an answer of a handler is not recorded.
var (
	errNotFinal  = errors.New("the answer was not final")
	errHijacked  = Unsure(errors.New("the handler took the connection over"))
	errBrokenOff = Unsure(errors.New("the handler broke off: it announced more than it wrote"))
)

// work runs the handler, and says what is recorded of its answer.
func (p *protected) work(ctx context.Context, lease *Lease, c *capture, r *http.Request, body []byte) (*Settlement, error) {
	inner := r.Clone(context.WithValue(ctx, leaseKey{}, lease))
	inner.Body, inner.ContentLength, inner.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	inner.Header.Del("Accept-Encoding")
	p.next.ServeHTTP(c.writer(), inner)
	c.finish()
	switch {
	case c.hijacked:
		return nil, errHijacked
	case r.Method != http.MethodHead && c.isBrokenOff():
		return nil, errBrokenOff
	case !p.policy.Final(c.status, c.header):
		return nil, fmt.Errorf("%w: %d", errNotFinal, c.status)
	}
	return c.settlement(), nil
}

// answer sends what the client gets.
func (p *protected) answer(c *capture, o *Outcome, err error) {
	switch {
	case o != nil && o.How == Replayed:
		replay(c.base, o)
	case c.done || c.started: // the handler ran
		if o != nil && o.How == Ran {
			c.mark("stored")
		}
		c.send()
	case err != nil:
		problem := refusal(err, p.policy.MismatchStatus)
		if problem.status == http.StatusInternalServerError {
			p.client.logger.Error("reprise: a request could not be protected, and was refused", "error", err)
		}
		problem.write(c.base)
	}
}
