package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service"
)

// Observer is told of every call, for metrics.
type Observer interface {
	// Called is told how a call ended, by its name, such as reserve or list, and its outcome as in [Outcomes], and how long
	// it took; a call of a batch takes no time of its own. name is empty when a batch has something that is no call.
	Called(name, outcome string, took time.Duration)
	// Began and Ended are told of requests.
	Began()
	Ended()
}

type nobody struct{}

func (nobody) Called(string, string, time.Duration) {}
func (nobody) Began()                               {}
func (nobody) Ended()                               {}

const (
	outcomeOK       = "ok"       // the call was answered, and has no outcome of its own
	outcomeCanceled = "canceled" // the caller hung up, and the call was given up
)

// Outcomes are how calls end: what reserve says, ok, canceled, or the code of a problem.
func Outcomes() []string {
	all := []string{wire.OutcomeAcquired, wire.OutcomeReplay, outcomeOK, outcomeCanceled}
	for code := range problems {
		all = append(all, string(code))
	}
	return all
}

// Keys of what is noted of a call: when it began, the name that it is about, what it came to.
const (
	beganKey   = "began"
	nameKey    = "name"
	outcomeKey = "outcome"
)

// noteName keeps the name that a call is about.
func noteName(c echo.Context, request any) {
	if r, ok := request.(interface{ KeyName() wire.Name }); ok {
		c.Set(nameKey, r.KeyName())
	}
}

func noteOutcome(c echo.Context, answer any) { c.Set(outcomeKey, outcomeOf(answer)) }

func outcomeOf(answer any) string {
	switch a := answer.(type) {
	case wire.ReserveAnswer:
		return a.Outcome
	case wire.Problem:
		return a.Code
	}
	return outcomeOK
}

// observe counts and logs what was asked and what came of it.
func (a *API) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		call, counted := calls[c.Path()]
		if !counted { // probes, pages, wrong paths
			err := next(c)
			a.log(c, "", err, 0)
			return err
		}
		a.observer.Began()
		c.Set(beganKey, time.Now())
		err := next(c)
		if isParked(err) {
			return nil
		}
		a.ended(c, call, err)
		return err
	}
}

// ended counts and logs a call that came to an error, or to what noteOutcome was told.
func (a *API) ended(c echo.Context, call string, err error) {
	a.observer.Ended()
	took := time.Since(c.Get(beganKey).(time.Time))
	outcome, _ := c.Get(outcomeKey).(string)
	switch {
	case isCanceled(c.Request().Context(), err):
		outcome = outcomeCanceled
	case err != nil:
		outcome = string(asServiceError(err).Code)
	case outcome == "":
		outcome = outcomeOK
	}
	a.observer.Called(call, outcome, took)
	a.log(c, outcome, err, took)
}

// isCanceled tells whether a call failed because its caller hung up, which is no fault of the service.
func isCanceled(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// log writes a line for a call: at the level error for a fault that an operator has to know of, at info for what operators
// do, else at debug. It holds no key, token or body; a key is known by its hash.
func (a *API) log(c echo.Context, outcome string, err error, took time.Duration) {
	level, message := slog.LevelDebug, "a call"
	switch {
	case outcome == outcomeCanceled:
	case outcome == "" && err != nil && asServiceError(err).Code == service.CodeStoreUnavailable:
		level, message = slog.LevelWarn, "not ready"
	case err != nil && problems[asServiceError(err).Code].status >= http.StatusInternalServerError:
		level, message = slog.LevelError, "a call failed"
	case outcome == "":
		return
	case operators[c.Path()]:
		level, message = slog.LevelInfo, "an operator's call"
	}
	ctx := c.Request().Context()
	if !a.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("call", c.Path()), slog.String("outcome", outcome), slog.Float64("took_ms", float64(took.Microseconds())/1000),
		slog.String("request_id", c.Response().Header().Get(requestIDHeader)), slog.String("tenant", principal(c).Tenant())}
	if name, ok := c.Get(nameKey).(wire.Name); ok {
		attrs = append(attrs, slog.String("operation", clean(name.Operation)), slog.String("key_hash", hashOf(name)))
	}
	if err != nil {
		attrs = append(attrs, slog.Any("err", err))
	}
	a.Log.LogAttrs(context.WithoutCancel(ctx), level, message, attrs...)
}

// logFault writes a line for the calls of a batch that failed, with the cause of the first: the batch itself was answered.
func (a *API) logFault(ctx context.Context, by caller, err error) {
	a.Log.LogAttrs(context.WithoutCancel(ctx), slog.LevelError, "a call of a batch failed", slog.String("call", pathBatch),
		slog.String("outcome", string(asServiceError(err).Code)), slog.String("request_id", by.RequestID), slog.String("tenant", by.Tenant()), slog.Any("err", err))
}

// hashOf tells keys apart in a log that must not hold them.
func hashOf(n wire.Name) string {
	sum := sha256.Sum256([]byte(n.Operation + "\x00" + n.Subject + "\x00" + n.Key))
	return hex.EncodeToString(sum[:8])
}
