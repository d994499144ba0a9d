package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Event is a message that is delivered at least once, and is to be handled once.
type Event struct {
	Source  string // who sends it and what is done with it, such as "webhook:stripe": the operation, 1 to 200 bytes
	Subject string // on whose behalf, where one source delivers for several customers
	ID      string // of the event, the same at each delivery: 1 to 255 bytes; also its fingerprint

	Lease     time.Duration // as in Op
	Retention time.Duration // longer than the source delivers again; 0: the tenant's default, usually 24 h
	OnLapse   OnLapse
	Wait      time.Duration // for another delivery that is being handled; 0: not at all
}

// Consume handles an event once, by the rules of [Client.Run]. done says whether to acknowledge it: it was handled, now or
// before, or failed for good ([Final]). While another delivery of it is handled, after a failure, and during an outage done is
// false: it must be delivered again. With done an err is for the log: a [*Failure], or [ErrNotRecorded].
func Consume(ctx context.Context, c *Client, e Event, handle func(ctx context.Context, lease *Lease) error) (done bool, err error) {
	op := Op{Operation: e.Source, Subject: e.Subject, Key: e.ID, Input: e.ID,
		Lease: e.Lease, Retention: e.Retention, OnLapse: e.OnLapse, Wait: or(e.Wait, NoWait)}
	outcome, err := c.Run(ctx, op, func(ctx context.Context, lease *Lease) (*Settlement, error) {
		return nil, handle(ctx, lease)
	})
	switch {
	case errors.Is(err, ErrResponseUnavailable):
		return true, nil
	case outcome == nil:
		return false, err
	case outcome.Failed:
		return true, errors.Join(err, failureOf(outcome))
	}
	return true, err
}

// maxWebhook bounds the body of a webhook.
const maxWebhook = 1 << 20

// Webhook is a handler for events that come by HTTP. identify checks who sent a request, by its signature, and gives the event;
// it must not trust anything that is not signed. Its error is answered with 400. An event that is done is answered with 204, others
// so that they are delivered again: 409 while another delivery is handled, 500 after a failure, 503 during an outage.
// The body may have 1 MiB.
func Webhook(c *Client, identify func(r *http.Request, body []byte) (Event, error),
	handle func(ctx context.Context, lease *Lease, body []byte) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhook))
		var event Event
		if err == nil {
			event, err = identify(r, body)
		}
		if err != nil {
			edgeProblem{status: http.StatusBadRequest, code: "invalid_request", detail: "the event is not accepted"}.write(w)
			return
		}
		ran := false
		done, err := Consume(r.Context(), c, event, func(ctx context.Context, lease *Lease) error {
			ran = true
			return handle(ctx, lease, body)
		})
		if err != nil {
			c.logger.Warn("reprise: an event", "source", event.Source, "done", done, "error", err)
		}
		switch {
		case done:
			w.WriteHeader(http.StatusNoContent)
		case ran:
			edgeProblem{status: http.StatusInternalServerError, code: "failed", detail: "the event was not handled"}.write(w)
		default:
			refusal(err, http.StatusUnprocessableEntity).write(w)
		}
	})
}
