package httpapi

import (
	"github.com/labstack/echo/v4"

	"github.com/reprise-idempotency/reprise/service"
)

// waits says that a call has to wait. It goes up to where nothing of the call is on the stack any more: thousands wait at
// once, and the stack of a goroutine is given back to half its size when only a quarter of it is in use.
type waits struct{ waiting *service.Waiting }

func (*waits) Error() string { return "the call has to wait" }

// await waits for a call that has to, and then answers it.
func (a *API) await(next echo.HandlerFunc) echo.HandlerFunc {
	answer := a.recoverPanic(a.answerWaited)
	return func(c echo.Context) error {
		err := next(c)
		w, ok := err.(*waits)
		if !ok {
			return err
		}
		w.waiting.Await(c.Request().Context())
		c.Set(waitedKey, w.waiting)
		return answer(c)
	}
}

const waitedKey = "waited"

func (a *API) answerWaited(c echo.Context) error {
	waiting := c.Get(waitedKey).(*service.Waiting)
	status, answer, err := reserveAnswer(waiting.Reservation(c.Request().Context()))
	if err != nil {
		return err
	}
	noteOutcome(c, answer)
	return respond(c, status, "application/json", answer)
}
