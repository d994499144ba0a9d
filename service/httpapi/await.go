package httpapi

import (
	"github.com/labstack/echo/v4"

	"github.com/reprise-idempotency/reprise/service"
)

// waits says that a call has to wait. It goes up to where nothing of the call is on the stack any more: thousands wait at
// once, and each is to cost as little as it can.
type waits struct{ waiting *service.Waiting }

func (*waits) Error() string { return "the call has to wait" }

// await makes a call wait that has to, and then answers it. One that can be parked is answered elsewhere: see isParked.
func (a *API) await(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		w, ok := err.(*waits)
		if !ok || a.park(c, w) {
			return err
		}
		w.waiting.Await(c.Request().Context())
		return a.answerWaited(c, w)
	}
}

// isParked tells of what await gave whether the call is answered, and ended, where it is parked.
func isParked(err error) bool {
	_, parked := err.(*waits)
	return parked
}

// answerWaited answers a call that has waited.
func (a *API) answerWaited(c echo.Context, w *waits) error {
	return a.recoverPanic(func(c echo.Context) error {
		status, answer, err := reserveAnswer(w.waiting.Reservation(c.Request().Context()))
		if err != nil {
			return err
		}
		noteOutcome(c, answer)
		return respond(c, status, "application/json", answer)
	})(c)
}
