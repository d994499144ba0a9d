package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
)

// settling is a context for what has to be said when the work is over, whatever became of the caller's.
func (c *Client) settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), c.settleTimeout)
}

// settleTries are bounded by the time alone, unless the user wants one request.
func (c *Client) settleTries(access bool) tries {
	if c.maxRetries == 0 {
		return once
	}
	return tries{access: access}
}

// record completes the key. What was done is never released: it is completed, or said to be not recorded.
func (c *Client) record(ctx context.Context, l *Lease, s *Settlement) (*Outcome, error) {
	ctx, cancel := c.settling(ctx)
	defer cancel()
	request := CompleteRequest{Name: l.op.name(), Token: l.grant.Token, Failed: s.Failed, Response: s.Response,
		ResponseDropped: s.ResponseDropped, ResourceID: s.ResourceID, Retention: s.Retention}
	record, err := c.complete(ctx, request, c.settleTries(true))
	for _, less := range []CompleteRequest{request.withoutBody(), request.bare()} {
		if !cannotBeTaken(err) {
			break
		}
		c.logger.Warn("reprise: a response cannot be stored as it is, and is left out", "operation", l.op.Operation, "error", err)
		record, err = c.complete(ctx, less, c.settleTries(true))
	}
	if err != nil {
		c.stats.notRecorded.Add(1)
		c.logger.Error("reprise: work was done and could not be recorded", "operation", l.op.Operation, "attempt", l.grant.Attempt, "error", err)
		return &Outcome{How: NotRecorded, Settlement: *s, Record: recordIn(err)}, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	return &Outcome{How: Ran, Settlement: *s, Record: record}, nil
}

// cannotBeTaken tells that what is in the response is refused, rather than the settlement: to keep that it was done matters
// more.
func cannotBeTaken(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == http.StatusRequestEntityTooLarge || e.kind == ErrInvalidRequest)
}

// withoutBody keeps of the response what is small.
func (r CompleteRequest) withoutBody() CompleteRequest {
	if r.Response != nil {
		r.Response = &Response{Status: r.Response.Status, Headers: r.Response.Headers}
	}
	r.ResponseDropped = true
	return r
}

// bare says no more than that it was done.
func (r CompleteRequest) bare() CompleteRequest {
	return CompleteRequest{Name: r.Name, Token: r.Token, Failed: r.Failed, ResponseDropped: true}
}

func recordIn(err error) *Record {
	var e *Error
	if errors.As(err, &e) {
		return e.Record
	}
	return nil
}

// giveUp gives the key back when that is right, after work that did not end well. broken tells that its context had ended.
func (c *Client) giveUp(ctx context.Context, l *Lease, err error, broken bool) (*Outcome, error) {
	w := word(err)
	doubtful := w.unsure || broken || l.isHeld()
	if doubtful && !w.notDone || l.isLost() {
		return &Outcome{How: LeftOpen}, err
	}
	return c.giveBack(ctx, l.op, l.grant.Token, err)
}

// giveBack releases a key, and gives the error that it is released for.
func (c *Client) giveBack(ctx context.Context, op Op, token string, err error) (*Outcome, error) {
	ctx, cancel := c.settling(ctx)
	defer cancel()
	request := ReleaseRequest{Name: op.name(), Token: token, Reason: reason(err), Forget: word(err).forget}
	_, failed := c.release(ctx, request, c.settleTries(false))
	var e *Error
	if errors.As(failed, &e) && e.unknown && e.kind == ErrLeaseLost { // it was released, and somebody has acquired since
		failed = nil
	}
	if failed != nil {
		c.logger.Warn("reprise: a key could not be given back; its lease runs out", "operation", op.Operation, "error", failed)
		return &Outcome{How: LeftOpen}, err
	}
	return &Outcome{How: Released}, err
}

// isLost tells that the service said so: then a release is of no use.
func (l *Lease) isLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost != nil
}

// reason is what an error says, in the 1,000 bytes of text that the service takes.
func reason(err error) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(err.Error(), "\uFFFD"))
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "")
	}
	return text
}

// settlementOf is how a record says that its work ended.
func settlementOf(r Record) Settlement {
	return Settlement{Failed: r.State == StateFailed, Response: r.Response, ResponseDropped: r.ResponseDropped, ResourceID: r.ResourceID}
}
