package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// exchange sends one request and reads its answer.
func (c *Client) exchange(ctx context.Context, call call, n int, body []byte, read func([]byte) error) (sent time.Time, failed *Error) {
	limit := c.attemptTimeout + call.wait
	if call.limit > 0 {
		limit = min(limit, call.limit)
	}
	attempt, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	start := time.Now()
	reply := c.send(attempt, call, body)
	if reply.failed != nil {
		failed = reply.failed
		if attempt.Err() != nil && ctx.Err() == nil { // the caller's own deadline is not over
			failed.cause = fmt.Errorf("no answer within %v", limit)
		} else if ctx.Err() != nil {
			failed.cause = ended(ctx)
		}
	} else {
		failed = reply.understand(call, read)
	}
	c.count(call, n, start, reply, failed)
	return start, failed
}

// reply is what came of one request.
type reply struct {
	status int
	header http.Header
	body   []byte
	failed *Error // when there is no whole answer
	unsent bool
}

// send puts one request on the wire, once: without GetBody net/http cannot send it again by itself.
func (c *Client) send(ctx context.Context, call call, body []byte) reply {
	fail := func(kind, cause error) reply {
		return reply{failed: &Error{Call: call.name, Advice: AdviceRepeatCall, kind: kind, cause: cause}}
	}
	token, err := c.tokens(ctx)
	if err == nil {
		err = checkToken(token)
	}
	if err != nil {
		kind := ErrUnauthenticated // which is no outage
		if ctx.Err() != nil {
			kind = ErrUnavailable
		}
		r := fail(kind, fmt.Errorf("no token: %w", err))
		r.unsent = true
		return r
	}
	// Only a trace that looked for a connection, and found none, proves that nothing can have been stored.
	var looked, connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { looked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/keys/"+call.name, bytes.NewReader(body))
	if err != nil {
		return fail(ErrInvalidRequest, err)
	}
	request.GetBody = nil
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, application/problem+json")
	request.Header.Set("User-Agent", "reprise-go/"+Version)

	unanswered := func(err error) reply {
		if looked.Load() && !connected.Load() {
			return fail(ErrUnavailable, err)
		}
		return fail(ErrOutcomeUnknown, err)
	}
	if err := ctx.Err(); err != nil {
		return fail(ErrUnavailable, err)
	}
	got, err := c.http.Do(request)
	if err != nil {
		return unanswered(err)
	}
	defer got.Body.Close()
	connected.Store(true)
	if got.StatusCode < http.StatusOK { // 101: what follows is another protocol, which nothing would end
		return reply{status: got.StatusCode, header: got.Header}
	}
	text, err := io.ReadAll(io.LimitReader(got.Body, c.maxAnswer+1))
	if err != nil {
		return unanswered(err)
	}
	if int64(len(text)) > c.maxAnswer {
		r := fail(ErrTooLarge, fmt.Errorf("the answer has more than %d bytes: see client.MaxAnswer", c.maxAnswer))
		r.status, r.header = got.StatusCode, got.Header
		r.failed.Status, r.failed.Advice = got.StatusCode, AdviceNone
		return r
	}
	return reply{status: got.StatusCode, header: got.Header, body: text}
}

// understand reads an answer, or gives the error that it is.
func (r reply) understand(call call, read func([]byte) error) *Error {
	if isProblem(r.header) {
		var p wire.Problem
		if err := json.Unmarshal(r.body, &p); err == nil && p.Code != "" {
			p.Status = r.status // what HTTP says counts
			e := problemError(call.name, p)
			e.RetryAfter = or(e.RetryAfter, retryAfter(r.header, time.Now()))
			return r.withID(e)
		}
	}
	if r.status == http.StatusOK || r.status == http.StatusCreated {
		err := read(r.body)
		if err == nil {
			return nil
		}
		// It was acted upon, perhaps; what is known is that this answer is of no use.
		return r.withID(&Error{Call: call.name, Status: r.status, Advice: AdviceRepeatCall, kind: ErrOutcomeUnknown,
			cause: fmt.Errorf("the answer is of no use: %w", err)})
	}
	return r.withID(&Error{Call: call.name, Status: r.status, RetryAfter: retryAfter(r.header, time.Now()), kind: byStatus(r.status)})
}

func (r reply) withID(e *Error) *Error {
	if e.RequestID == "" {
		e.RequestID = r.header.Get("X-Request-Id")
	}
	return e
}

func isProblem(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "application/problem+json"
}

// retryAfter reads the header of that name (RFC 9110, section 10.2.3): seconds, or a date. 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return clampPause(time.Duration(min(seconds, int(longestPause/time.Second))) * time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return clampPause(at.Sub(now))
	}
	return 0
}

// count notes one request, for statistics and hooks.
func (c *Client) count(call call, n int, start time.Time, r reply, failed *Error) {
	if r.unsent {
		return
	}
	c.stats.requests.Add(1)
	if n > 1 {
		c.stats.retries.Add(1)
	}
	if c.hooks.Request == nil {
		return
	}
	info := RequestInfo{Call: call.name, Try: n, Status: r.status, RequestID: r.header.Get("X-Request-Id"), Took: time.Since(start)}
	if failed != nil {
		info.Code, info.Err = failed.Code, failed
	}
	c.hooks.Request(info)
}
