package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Transport is an [http.RoundTripper] for callers of an API that takes Idempotency-Key: it gives each POST and PATCH a key, unless
// the caller gave one, and sends the request again, with the same key, when it was not answered, when another attempt is in
// progress (409), and after 408, 425, 429 and 5xx. It needs no Reprise service of its own. The zero value is ready; it must not be
// changed once it is used.
//
// Requests of other methods get no key; those that are idempotent by themselves (RFC 9110, section 9.2.2) are repeated alike. What
// cannot be sent again is sent once: another method, or a body over MaxBody that has no GetBody.
//
// Do not set [http.Client.Timeout] with it: that ends all attempts together. Use the context of the request for that.
type Transport struct {
	Base           http.RoundTripper                       // nil: http.DefaultTransport
	MaxRetries     int                                     // 0: 4; below 0: none, so that one request goes out
	Backoff        time.Duration                           // before the first retry; 0: 200 ms. It doubles, to at most 5 s
	AttemptTimeout time.Duration                           // until the header of an answer is there; 0: 30 s
	MaxBody        int64                                   // of bodies that are kept in memory to be sent again; 0: 4 MiB
	NewKey         func(r *http.Request) string            // nil: 128 random bits
	Retry          func(r *http.Response) bool             // replaces the rule on answers; it must leave the body as it is
	OnRetry        func(r *http.Request, n int, err error) // is told before the nth retry; err says why
}

// RoundTrip sends the request until it is answered. After the last retry it gives what came of that. It does not change the
// request, and closes its body once.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, repeatable, err := t.bodyOf(r)
	if err != nil {
		return nil, err
	}
	sent, keyed, err := t.prepare(r)
	if err != nil {
		body.close()
		return nil, err
	}
	defer body.close()
	most := t.retries()
	if !repeatable || !keyed && !isIdempotent(r.Method) {
		most = 0
	}
	pauses := backoff{first: or(t.Backoff, 200*time.Millisecond), most: max(5*time.Second, t.Backoff)}
	for n := 1; ; n++ {
		attempt := sent.Clone(sent.Context())
		if attempt.Body, err = body.next(); err != nil {
			return nil, err
		}
		attempt.ContentLength = body.length
		got, err := t.attempt(attempt)
		why := t.reason(got, err)
		if why == nil || r.Context().Err() != nil {
			return got, err
		}
		if n > most {
			if err != nil && !repeatable {
				err = fmt.Errorf("%w (sent once: its body has more than %d bytes, and no GetBody)", err, or(t.MaxBody, 4<<20))
			}
			return got, err
		}
		asked := discard(got)
		if t.OnRetry != nil {
			t.OnRetry(r, n, why)
		}
		if !sleep(r.Context(), pauses.pause(n, asked)) {
			return nil, ended(r.Context())
		}
	}
}

func (t *Transport) retries() int {
	switch {
	case t.MaxRetries < 0:
		return 0
	case t.MaxRetries == 0:
		return 4
	}
	return t.MaxRetries
}

// prepare gives the request as it is sent each time: with a key, where one belongs. A key of the caller must be one.
func (t *Transport) prepare(r *http.Request) (sent *http.Request, keyed bool, err error) {
	sent = r.Clone(r.Context())
	sent.GetBody = nil // net/http would send some requests again by itself
	if given := r.Header.Values(KeyHeader); len(given) > 0 {
		_, err := ParseKey(given)
		return sent, true, err
	}
	if r.Method != http.MethodPost && r.Method != http.MethodPatch {
		return sent, false, nil
	}
	key := NewAttemptID()
	if t.NewKey != nil {
		key = t.NewKey(r)
	}
	sent.Header.Set(KeyHeader, key)
	_, err = ParseKey([]string{key})
	return sent, true, err
}

func isIdempotent(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// attempt sends one request. Its time is over when the header of the answer is there; the body may take longer.
func (t *Transport) attempt(r *http.Request) (*http.Response, error) {
	limit := or(t.AttemptTimeout, 30*time.Second)
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("no answer within %v", limit)) })
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	got, err := base.RoundTrip(r.WithContext(ctx))
	if !timer.Stop() && err == nil {
		_ = got.Body.Close()
		got, err = nil, context.Canceled
	}
	if err != nil {
		if ctx.Err() != nil && r.Context().Err() == nil {
			err = context.Cause(ctx)
		}
		cancel(nil)
		return nil, err
	}
	got.Body = &cancelingBody{got.Body, cancel}
	return got, nil
}

// cancelingBody ends the context of its request when it is closed.
type cancelingBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close closes the body.
func (b *cancelingBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

// reason says why a request is to be sent again; nil if it is not.
func (t *Transport) reason(got *http.Response, err error) error {
	if err != nil {
		return err
	}
	if t.Retry != nil && !t.Retry(got) || t.Retry == nil && !worthARetry(got) {
		return nil
	}
	return fmt.Errorf("answered %s", got.Status)
}

// worthARetry is the rule on answers. A 409 is one only when it says that another attempt is in progress: an application's own
// conflict stays.
func worthARetry(r *http.Response) bool {
	switch r.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusConflict:
		return saysInProgress(r)
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return r.StatusCode >= 500
}

// saysInProgress looks into the body, and leaves it as it was.
func saysInProgress(r *http.Response) bool {
	if !isProblem(r.Header) {
		return false
	}
	head, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	r.Body = &peeked{io.MultiReader(bytes.NewReader(head), failing{err}, r.Body), r.Body}
	var problem struct {
		Code string `json:"code"`
	}
	return json.Unmarshal(head, &problem) == nil && problem.Code == "in_progress"
}

// peeked is a body of which the beginning was read before.
type peeked struct {
	io.Reader
	io.Closer
}

// failing gives an error that was met before, if there was one.
type failing struct{ err error }

// Read gives the error, or the end.
func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// discard lets go of an answer, and tells how long it asks to wait.
func discard(r *http.Response) (asked time.Duration) {
	if r == nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 64<<10)) // so that the connection can be used again
	_ = r.Body.Close()
	return retryAfter(r.Header, time.Now())
}

// sentBody is a body that can be had again.
type sentBody struct {
	length   int64
	make     func() (io.ReadCloser, error)
	original io.ReadCloser // to be closed once; nil when that is up to whoever sends it
}

func (b *sentBody) next() (io.ReadCloser, error) { return b.make() }

func (b *sentBody) close() {
	if b.original != nil {
		_ = b.original.Close()
	}
}

// bodyOf gives the body of a request so that it can be sent again, where that is possible.
func (t *Transport) bodyOf(r *http.Request) (body *sentBody, repeatable bool, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return &sentBody{make: func() (io.ReadCloser, error) { return r.Body, nil }}, true, nil
	}
	if r.GetBody != nil {
		return &sentBody{length: r.ContentLength, make: r.GetBody, original: r.Body}, true, nil
	}
	limit := or(t.MaxBody, 4<<20)
	head, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, false, errors.Join(fmt.Errorf("reading the body of the request: %w", err), r.Body.Close())
	}
	if int64(len(head)) <= limit {
		made := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(head)), nil }
		return &sentBody{length: int64(len(head)), make: made, original: r.Body}, true, nil
	}
	once := func() (io.ReadCloser, error) {
		return &peeked{io.MultiReader(bytes.NewReader(head), r.Body), r.Body}, nil
	}
	return &sentBody{length: r.ContentLength, make: once}, false, nil
}

// or is v, or what stands for nothing.
func or[T comparable](v, missing T) T {
	var zero T
	if v == zero {
		return missing
	}
	return v
}
