package httpapi

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
)

const (
	requestIDHeader = "X-Request-Id"
	versionHeader   = "Reprise-Version"
	maxRequestID    = 128
	principalKey    = "principal"
)

// identify says which version answers, and names the request, by the caller's own id where it is one, so that an answer, a
// log line and the caller's own log can be brought together.
func (a *API) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(requestIDHeader)
		if id == "" || len(id) > maxRequestID || strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
			id = uuid.Must(uuid.NewV7()).String()
		}
		a.introduce(c, id)
		return next(c)
	}
}

// introduce sets what every answer has.
func (a *API) introduce(c echo.Context, requestID string) {
	c.Response().Header().Set(requestIDHeader, requestID)
	c.Response().Header().Set(versionHeader, a.Version)
}

// recoverPanic makes a panic an error of this one request.
func (a *API) recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = panicked(r)
			}
		}()
		return next(c)
	}
}

func panicked(r any) error { return fmt.Errorf("panic: %v\n%s", r, debug.Stack()) }

// authenticate finds out who is calling. Nothing of the body is read before.
func (a *API) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		token, err := bearer(c.Request().Header.Values("Authorization"))
		if err != nil {
			return err
		}
		p, err := a.Verifier.Verify(token)
		if err != nil {
			return err
		}
		c.Set(principalKey, p)
		return next(c)
	}
}

// bearer reads the one Authorization line (RFC 6750 section 2.1).
func bearer(lines []string) (string, error) {
	if len(lines) != 1 {
		return "", &service.Error{Code: service.CodeUnauthenticated, Detail: "Authorization: one line is required: Bearer <token>"}
	}
	scheme, token, ok := strings.Cut(lines[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", &service.Error{Code: service.CodeUnauthenticated, Detail: "Authorization: must be: Bearer <token>"}
	}
	return token, nil
}

// principal gives the caller; one without a tenant and without rights where none was authenticated.
func principal(c echo.Context) auth.Principal {
	p, _ := c.Get(principalKey).(auth.Principal)
	return p
}
