// Package httpapi speaks HTTP: it turns a request into a call of the service and the answer into a response. What every
// call shares (who is calling, strict decoding, problems) exists once; a handler is the difference. It is the only
// package that imports echo.
package httpapi

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
)

// Config is what the API needs.
type Config struct {
	Service  *service.Service
	Verifier *auth.Verifier
	OpenAPI  []byte // openapi.yaml
	Log      *slog.Logger
	MaxBody  int64 // bytes of a request's body; DefaultMaxBody when zero
}

// DefaultMaxBody bounds a request's body: a stored response of 1 MiB in base64, with its headers, and room to spare, so
// that a response which is only too large to be kept is still taken.
const DefaultMaxBody = 4 << 20

// API answers HTTP requests.
type API struct {
	Config
	echo     *echo.Echo
	draining atomic.Bool
}

// New makes the API.
func New(c Config) *API {
	if c.MaxBody == 0 {
		c.MaxBody = DefaultMaxBody
	}
	a := &API{Config: c, echo: echo.New()}
	a.echo.IPExtractor = echo.ExtractIPDirect()
	a.echo.HTTPErrorHandler = a.writeError
	a.echo.Use(requestID, a.recoverPanic)
	a.routes()
	return a
}

func (a *API) routes() {
	a.echo.GET("/livez", a.livez)
	a.echo.HEAD("/livez", a.livez)
	a.echo.GET("/readyz", a.readyz)
	a.echo.HEAD("/readyz", a.readyz)
	a.echo.GET("/openapi.yaml", a.openAPI)

	a.onKeys("/reserve", call(a, strict, a.reserve))
	a.onKeys("/complete", call(a, tolerantComplete, a.complete))
	a.onKeys("/release", call(a, tolerant, a.release))
	a.onKeys("/heartbeat", call(a, tolerant, a.heartbeat))
	a.onKeys("/lookup", call(a, strict, a.lookup))
}

// onKeys routes a call on keys. Each is authenticated by itself: a group that does it for all makes echo answer a wrong
// method with a 404, as if the path did not exist.
func (a *API) onKeys(path string, h echo.HandlerFunc) {
	a.echo.POST("/v1/keys"+path, h, a.authenticate)
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.echo.ServeHTTP(w, r) }

// Drain makes /readyz answer 503, so that no new work is sent here; everything else is still answered.
func (a *API) Drain() { a.draining.Store(true) }

// Limits of a connection, so that none can be held open by doing nothing.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second // a body of the largest size over a slow line
	writeTimeout      = 60 * time.Second // longer than a store waits, and the answer has to be read
	idleTimeout       = 2 * time.Minute  // longer than the usual load balancer's, so that it hangs up first
	maxHeaderBytes    = 32 << 10         // a token of 16 KiB, and the rest
)

// Server gives an HTTP server for the API, with every limit set.
func (a *API) Server() *http.Server {
	return &http.Server{
		Handler:           a,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(a.Log.Handler(), slog.LevelWarn),
	}
}
