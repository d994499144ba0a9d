package httpapi

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
)

// caller is who calls, and from where.
type caller struct {
	auth.Principal
	service.Origin
}

func callerOf(c echo.Context) caller {
	return caller{principal(c), service.Origin{Address: c.RealIP(), RequestID: c.Response().Header().Get(requestIDHeader)}}
}

// handler is what differs between calls: from a decoded request to a status and an answer.
type handler[Request any] func(ctx context.Context, by caller, r *Request) (status int, answer any, err error)

// reader is a handler of a call that reads, and has only a query.
type reader func(ctx context.Context, by caller, q query) (answer any, err error)

// decoder reads a body into a request.
type decoder[Request any] func(body []byte, into *Request) error

// bound is what a request may be, and what to do with a body that is larger.
type bound struct {
	bytes      int64
	way        string
	parameters []string // of the query; nil: it is ignored
	decoding   *decoding
}

// decoding bounds the bytes of large bodies that are decoded and worked on at the same time: what is made of one can take
// twenty times its memory. The others wait for their turn; small ones do not.
type decoding struct{ bytes *semaphore.Weighted }

const (
	decodedAtOnce = 16 << 20
	smallBody     = 64 << 10
)

// begin waits for the turn of a body; done ends it.
func (d *decoding) begin(ctx context.Context, body []byte) (done func(), err error) {
	if len(body) <= smallBody {
		return func() {}, nil
	}
	n := int64(min(len(body), decodedAtOnce))
	if err := d.bytes.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { d.bytes.Release(n) }, nil
}

// call makes a route of a handler.
func call[Request any](most bound, read decoder[Request], h handler[Request]) echo.HandlerFunc {
	return func(c echo.Context) error {
		if most.parameters != nil {
			if _, err := queryOf(c, most.parameters); err != nil {
				return err
			}
		}
		body, err := readBody(c, most)
		if err != nil {
			return err
		}
		done, err := most.decoding.begin(c.Request().Context(), body)
		if err != nil {
			return err
		}
		defer done()
		var r Request
		if err := read(body, &r); err != nil {
			return err
		}
		noteName(c, &r)
		status, answer, err := h(c.Request().Context(), callerOf(c), &r)
		if err != nil {
			return err
		}
		noteOutcome(c, answer)
		return respond(c, status, "application/json", answer)
	}
}

// ask makes a route of a reader with the parameters that it knows.
func ask(known []string, h reader) echo.HandlerFunc {
	return func(c echo.Context) error {
		q, err := queryOf(c, known)
		if err != nil {
			return err
		}
		answer, err := h(c.Request().Context(), callerOf(c), query(q))
		if err != nil {
			return err
		}
		return respond(c, http.StatusOK, "application/json", answer)
	}
}

// queryOf reads the query, with the parameters that the call knows. It is refused when a part of it cannot be
// read, because without that filter a list would have more in it, and when a parameter is given twice, because which one was
// meant must not be guessed.
func queryOf(c echo.Context, known []string) (url.Values, error) {
	query, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return nil, service.Invalid("query", "must be name=value, percent-encoded, with & between several")
	}
	for name, values := range query {
		if len(values) > 1 {
			return nil, service.Invalid(clean(name), "is given twice in the query")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			return nil, service.Invalid(clean(name), "is not a parameter of this call; it takes %s", listOf(known))
		}
	}
	return query, nil
}

func listOf(parameters []string) string {
	if len(parameters) == 0 {
		return "none in the query"
	}
	return strings.Join(parameters, ", ")
}

// respond writes an answer. None is to be cached: it holds leases and other people's responses.
func respond(c echo.Context, status int, contentType string, answer any) error {
	body, err := json.Marshal(answer, json.Deterministic(true)) // the same answer is the same bytes
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	c.Response().WriteHeader(status)
	_, _ = c.Response().Write(body) // it fails when the caller has gone: nobody is there to be told, and the call was done
	return nil
}

// readBody reads a body within the limit, whatever the request says of its length.
func readBody(c echo.Context, most bound) ([]byte, error) {
	r := c.Request()
	if err := acceptsAsJSON(r.Header); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, most.bytes))
	if err != nil {
		return nil, bodyError(err, most)
	}
	return body, nil
}
