package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// call is one call on keys, which is one request or several.
type call struct {
	name  string        // and the end of its path
	wait  time.Duration // how long the service may wait before it answers
	tries tries
	reads bool          // it changes nothing, so that no answer leaves nothing unknown
	limit time.Duration // of each request, where that is shorter than the client's
}

// tries says when a call is not repeated any more.
type tries struct {
	most   int  // requests; 0 for no bound but the context
	access bool // a refused token, and an answer that is none of the service's, are tried again, too: the work is done, and both may pass
}

// once is a call that its caller repeats in its own way.
var once = tries{most: 1}

func (c *Client) tries() tries { return tries{most: 1 + c.maxRetries} }

// do sends request until the answer says what came of it. sent is when the request that was answered went out: a lease
// is counted from there. read understands an answer; one that it refuses leaves the outcome unknown. The error is an *Error.
func (c *Client) do(ctx context.Context, call call, request any, read func(body []byte) error) (sent time.Time, err error) {
	body, err := plainJSON(request)
	if err != nil {
		return time.Time{}, &Error{Call: call.name, Detail: err.Error(), Advice: AdviceFixRequest, kind: ErrInvalidRequest}
	}
	unknown := false // whether an earlier request may have been stored
	for n := 1; ; n++ {
		sent, failed := c.exchange(ctx, call, n, body, read)
		if failed == nil {
			return sent, nil
		}
		failed.Requests = n
		unknown = unknown || failed.kind == ErrOutcomeUnknown
		if !c.again(ctx, call, n, failed) {
			return time.Time{}, failed.concluded(call, unknown)
		}
	}
}

// again pauses before the next request, and tells whether there is one.
func (c *Client) again(ctx context.Context, call call, n int, failed *Error) bool {
	access := call.tries.access && (failed.kind == ErrUnauthenticated || failed.kind == ErrForbidden || failed.kind == ErrUnexpectedAnswer)
	if !failed.repeatable() && !access || call.tries.most > 0 && n >= call.tries.most || ctx.Err() != nil {
		return false
	}
	pause := c.backoff.pause(n, failed.RetryAfter)
	if end, ok := ctx.Deadline(); ok && call.tries.most == 0 {
		pause = min(pause, max(time.Until(end)/2, c.backoff.first)) // whatever was asked, there is time for one more
	}
	c.logger.Debug("reprise: repeating a call", "call", call.name, "after", pause, "error", failed)
	if !sleep(ctx, pause) {
		failed.cause = errors.Join(failed.cause, ended(ctx))
		return false
	}
	return true
}

// concluded is the error of the whole call: an earlier request that may have been stored is not undone by a later one that
// never left. A refusal by the service stays what it is: it is the answer to all of them.
func (e *Error) concluded(call call, unknown bool) *Error {
	e.unknown = unknown && !call.reads
	switch {
	case call.reads && e.kind == ErrOutcomeUnknown:
		e.kind = ErrUnavailable
	case unknown && !call.reads && e.kind == ErrUnavailable:
		e.kind = ErrOutcomeUnknown
	}
	return e
}

// plainJSON is JSON without the escapes that HTML needs: they would make a body of text six times as long.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// into reads an answer, and holds it to what the call must have done.
func into[T any](answer *T, check func(T) error) func([]byte) error {
	return func(body []byte) error {
		var fresh T // nothing of an earlier answer stays
		if err := json.Unmarshal(body, &fresh); err != nil {
			return errors.New("it is not JSON as the service writes it")
		}
		*answer = fresh
		return check(fresh)
	}
}

// longestPause bounds what a service may ask for: a mistaken Retry-After must not stop a caller for a day.
const longestPause = time.Minute

func clampPause(d time.Duration) time.Duration { return max(0, min(d, longestPause)) }

// backoff says how long to pause between requests.
type backoff struct{ first, most time.Duration }

// pause is that after the nth request. What the service asks for is kept, and some chance added to it, so that callers who
// were refused together do not come back together.
func (b backoff) pause(n int, asked time.Duration) time.Duration {
	doubled := b.most
	if n < 32 && b.first<<(n-1) > 0 {
		doubled = min(b.most, b.first<<(n-1))
	}
	if asked > 0 {
		return asked + jitter(min(asked, doubled)/2)
	}
	return doubled/2 + jitter(doubled/2)
}

// jitter is a random part of d.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d + 1)
}

// sleep waits for d, and tells whether ctx was still good then.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// millis is a duration as the API takes it. It is never rounded to nothing.
func millis(d time.Duration) *string {
	if d == 0 {
		return nil
	}
	text := fmt.Sprintf("%dms", (d + time.Millisecond - 1).Milliseconds())
	return &text
}

// ended says why ctx is over: as context.Canceled or DeadlineExceeded, and with its cause where that says more.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
