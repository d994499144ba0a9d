// Package httpapi speaks HTTP: it turns a request into a call of the service and the answer into a response. What every
// call shares (who is calling, strict decoding, problems) exists once; a handler is the difference. It is the only
// package that imports echo.
package httpapi

import (
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
)

// Config is what the API needs.
type Config struct {
	Service  *service.Service
	Verifier *auth.Verifier
	OpenAPI  []byte       // openapi.yaml
	Docs     http.Handler // pages under /docs; nil: none
	Metrics  http.Handler // /metrics; nil: it is served elsewhere
	Observer Observer     // nil: nobody
	Version  string       // of the service, for the header Reprise-Version; "unknown" when empty
	Log      *slog.Logger
	MaxBody  int64 // bytes of a request's body; DefaultMaxBody when zero
	MaxBatch int64 // bytes of a batch; DefaultMaxBatch when zero
}

// DefaultMaxBody bounds a request's body: a stored response of 1 MiB in base64, with its headers, and room to spare, so
// that a response which is only too large to be kept is still taken.
const DefaultMaxBody = 4 << 20

// DefaultMaxBatch bounds a batch as a whole.
const DefaultMaxBatch = 8 << 20

// API answers HTTP requests.
type API struct {
	Config
	echo     *echo.Echo
	observer Observer
	draining atomic.Bool
	parked   sync.WaitGroup // calls that wait, or are being answered after it, apart from the HTTP server
}

// New makes the API.
func New(c Config) *API {
	if c.MaxBody == 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.Version == "" {
		c.Version = "unknown"
	}
	if c.MaxBatch == 0 {
		c.MaxBatch = DefaultMaxBatch
	}
	a := &API{Config: c, echo: echo.New(), observer: c.Observer}
	if a.observer == nil {
		a.observer = nobody{}
	}
	a.echo.IPExtractor = echo.ExtractIPDirect()
	a.echo.HTTPErrorHandler = a.writeError
	a.echo.Use(a.identify, a.observe, a.await, a.recoverPanic)
	a.routes()
	return a
}

func (a *API) routes() {
	a.echo.GET("/livez", a.livez)
	a.echo.HEAD("/livez", a.livez)
	a.echo.GET("/readyz", a.readyz)
	a.echo.HEAD("/readyz", a.readyz)
	a.echo.GET("/openapi.yaml", a.openAPI)

	if a.Docs != nil {
		a.echo.Any("/docs", echo.WrapHandler(a.Docs))
		a.echo.Any("/docs/*", echo.WrapHandler(a.Docs))
	}
	if a.Metrics != nil {
		a.echo.GET("/metrics", echo.WrapHandler(a.Metrics))
	}

	none := []string{}
	turns := &decoding{semaphore.NewWeighted(decodedAtOnce)}
	one := bound{a.MaxBody, "to complete a key, repeat the call without response.body and with response_dropped: true", none, turns}
	many := bound{a.MaxBatch, "send fewer calls at once", none, turns}
	lenient := one // the work may have been done, and a newer client must be able to say so
	lenient.parameters = nil
	// Each is authenticated by itself: a group that does it for all makes echo answer a wrong method with a 404, as if the
	// path did not exist.
	a.echo.POST(pathReserve, call(one, strict, a.reserve), a.authenticate)
	a.echo.POST(pathComplete, call(lenient, tolerantComplete, a.complete), a.authenticate)
	a.echo.POST(pathRelease, call(lenient, tolerant, a.release), a.authenticate)
	a.echo.POST(pathHeartbeat, call(lenient, tolerant, a.heartbeat), a.authenticate)
	a.echo.POST(pathLookup, call(one, strict, a.lookup), a.authenticate)
	a.echo.POST(pathBatch, call(many, a.readBatch, a.batch), a.authenticate)
	a.echo.GET(pathList, ask(listParameters, a.list), a.authenticate)
	a.echo.GET(pathStats, ask(statsParameters, a.stats), a.authenticate)
	a.echo.POST(pathResolve, call(one, strict, a.resolve), a.authenticate)
	a.echo.POST(pathExpire, call(one, strict, a.expire), a.authenticate)
	a.echo.GET(pathAudit, ask(auditParameters, a.audit), a.authenticate)
}

// The paths of the calls.
const (
	pathReserve   = "/v1/keys/reserve"
	pathComplete  = "/v1/keys/complete"
	pathRelease   = "/v1/keys/release"
	pathHeartbeat = "/v1/keys/heartbeat"
	pathLookup    = "/v1/keys/lookup"
	pathBatch     = "/v1/keys/batch"
	pathList      = "/v1/keys"
	pathStats     = "/v1/stats"
	pathResolve   = "/v1/admin/keys/resolve"
	pathExpire    = "/v1/admin/keys/expire"
	pathAudit     = "/v1/admin/audit"
)

// calls are their names, as metrics have them.
var calls = map[string]string{pathReserve: wire.CallReserve, pathComplete: wire.CallComplete, pathRelease: wire.CallRelease,
	pathHeartbeat: wire.CallHeartbeat, pathLookup: wire.CallLookup, pathBatch: "batch", pathList: "list", pathStats: "stats",
	pathResolve: "resolve", pathExpire: "expire", pathAudit: "audit"}

// operators are the calls that change what is not the caller's own.
var operators = map[string]bool{pathResolve: true, pathExpire: true}

// The parameters of the calls that have a query.
var (
	listParameters  = []string{"operation", "subject", "state", "key", "key_prefix", "created_after", "created_before", "limit", "cursor", "tenant"}
	statsParameters = []string{"operation", "tenant"}
	auditParameters = []string{"operation", "subject", "key", "limit", "cursor", "tenant"}
)

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.echo.ServeHTTP(w, r) }

// Drain makes /readyz answer 503, so that no new work is sent here, and sends away who waits; everything else is still
// answered.
func (a *API) Drain() {
	a.draining.Store(true)
	a.Service.StopWaiting()
}

// Limits of a connection, so that none can be held open by doing nothing.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second // a body of the largest size over a slow line
	writeTimeout      = 60 * time.Second // longer than a store waits, and the answer has to be read
	idleTimeout       = 2 * time.Minute  // longer than the usual load balancer's, so that it hangs up first
	maxHeaderBytes    = 32 << 10         // a token of 16 KiB, and the rest
)

// Server gives an HTTP server for the API, with every limit set. It speaks HTTP/1.1, and HTTP/2 to whoever begins with that
// (RFC 9113 section 3.3): thousands of calls that wait then share a few connections.
func (a *API) Server() *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           a,
		Protocols:         &protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(a.Log.Handler(), slog.LevelWarn),
	}
}
