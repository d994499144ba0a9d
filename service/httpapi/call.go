package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"
	"github.com/labstack/echo/v4"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
)

// handler is what differs between calls: from a decoded request to a status and an answer.
type handler[Request any] func(ctx context.Context, p auth.Principal, r *Request) (status int, answer any, err error)

// decoder reads a body into a request.
type decoder[Request any] func(body []byte, into *Request) error

// call makes a route of a handler.
func call[Request any](a *API, read decoder[Request], h handler[Request]) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := onceEach(c.QueryParams()); err != nil {
			return err
		}
		body, err := a.readBody(c)
		if err != nil {
			return err
		}
		var r Request
		if err := read(body, &r); err != nil {
			return err
		}
		status, answer, err := h(c.Request().Context(), principal(c), &r)
		if err != nil {
			return err
		}
		return respond(c, status, "application/json", answer)
	}
}

// onceEach refuses a query parameter that is given twice: which one was meant must not be guessed.
func onceEach(query url.Values) error {
	for name, values := range query {
		if len(values) > 1 {
			return service.Invalid(clean(name), "is given twice in the query")
		}
	}
	return nil
}

// respond writes an answer. None is to be cached: it holds leases and other people's responses.
func respond(c echo.Context, status int, contentType string, answer any) error {
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	c.Response().WriteHeader(status)
	_, err = c.Response().Write(body)
	return err
}

// readBody reads a body within the limit, whatever the request says of its length.
func (a *API) readBody(c echo.Context) ([]byte, error) {
	r := c.Request()
	if err := acceptsAsJSON(r.Header); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, a.MaxBody))
	if err != nil {
		return nil, bodyError(err, a.MaxBody)
	}
	return body, nil
}
