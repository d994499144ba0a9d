package client

import (
	"bufio"
	"bytes"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// capture is the ResponseWriter of a handler behind [Middleware]. It holds the answer back until that is recorded, or the
// handler flushes, or it is too large to be held; from then on it passes everything on, and goes on keeping it up to its limit.
type capture struct {
	base     http.ResponseWriter
	outer    http.Header // what others had set before the handler ran
	header   http.Header // the handler's view
	limit    int64
	status   int // 0 until the handler chose
	sent     http.Header
	body     bytes.Buffer
	size     int64 // of the body, kept or not
	length   int64 // of the body, as the handler announced it; -1 when it did not
	dropped  bool  // the body is over the limit
	started  bool  // the answer is on its way
	hijacked bool
	done     bool // the handler came back
}

func newCapture(base http.ResponseWriter, limit int64) *capture {
	return &capture{base: base, outer: base.Header().Clone(), header: base.Header().Clone(), limit: limit}
}

// Header is the handler's.
func (c *capture) Header() http.Header { return c.header }

// WriteHeader takes the status. Informational ones (1xx) go out at once, and are not the answer.
func (c *capture) WriteHeader(status int) {
	switch {
	case c.status != 0 || c.hijacked:
		return
	case status >= 100 && status < 200 && status != http.StatusSwitchingProtocols:
		c.inform(status)
		return
	}
	c.status = status
	c.sent = c.header.Clone()
	c.length = -1
	if n, err := strconv.ParseInt(c.sent.Get("Content-Length"), 10, 64); err == nil && bodyAllowed(status) {
		c.length = n
	}
}

// inform sends an informational answer with the lines that are set now, which are then not set any more.
func (c *capture) inform(status int) {
	h := c.base.Header()
	before := h.Clone()
	copyHeader(h, c.header)
	c.base.WriteHeader(status)
	copyHeader(h, before)
}

// copyHeader makes to the same as from.
func copyHeader(to, from http.Header) {
	clear(to)
	maps.Copy(to, from.Clone())
}

// Write takes a part of the body.
func (c *capture) Write(b []byte) (int, error) {
	if c.hijacked {
		return 0, http.ErrHijacked
	}
	c.WriteHeader(http.StatusOK)
	if !bodyAllowed(c.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if c.length >= 0 && c.size+int64(len(b)) > c.length {
		return 0, http.ErrContentLength
	}
	c.size += int64(len(b))
	if !c.dropped && c.size <= c.limit {
		c.body.Write(b)
		if !c.started {
			return len(b), nil
		}
		return c.base.Write(b)
	}
	if err := c.overflow(); err != nil {
		return 0, err
	}
	return c.base.Write(b)
}

// overflow lets go of an answer that is too large to be kept.
func (c *capture) overflow() error {
	if c.dropped {
		return nil
	}
	c.dropped = true
	err := c.start()
	c.body = bytes.Buffer{}
	return err
}

func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// start sends the head, and what there is of the body.
func (c *capture) start() error {
	if c.started || c.hijacked {
		return nil
	}
	c.WriteHeader(http.StatusOK)
	c.started = true
	c.setType()
	copyHeader(c.base.Header(), c.sent)
	c.base.WriteHeader(c.status)
	if c.body.Len() == 0 {
		return nil
	}
	_, err := c.base.Write(c.body.Bytes())
	return err
}

// setType says what net/http would guess of the body, so that a replay says the same.
func (c *capture) setType() {
	_, has := c.sent["Content-Type"]
	if !has && c.body.Len() > 0 && c.sent.Get("Content-Encoding") == "" && c.sent.Get("Transfer-Encoding") == "" {
		c.sent.Set("Content-Type", http.DetectContentType(c.body.Bytes()))
	}
}

// finish is called when the handler came back.
func (c *capture) finish() {
	c.done = true
	if !c.hijacked {
		c.WriteHeader(http.StatusOK)
	}
	if !c.hijacked && !c.started { // what has begun was typed by what there was then
		c.setType()
	}
}

// mark says what became of the answer, if it has not begun.
func (c *capture) mark(status string) {
	if !c.started && !c.hijacked {
		c.sent.Set(statusHeader, status)
	}
}

// send sends what was held back, and the trailers.
func (c *capture) send() {
	if c.hijacked {
		return
	}
	_ = c.start() // the client has gone: nobody is left to be told
	for name, values := range c.header {
		if strings.HasPrefix(name, http.TrailerPrefix) || slices.Contains(c.trailers(), name) {
			c.base.Header()[name] = values
		}
	}
}

func (c *capture) trailers() (names []string) {
	for _, line := range c.sent["Trailer"] {
		for name := range strings.SplitSeq(line, ",") {
			names = append(names, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	return names
}

// isBrokenOff tells that net/http will break the connection, because less came than was announced.
func (c *capture) isBrokenOff() bool { return c.size < c.length }

// settlement is what is recorded.
func (c *capture) settlement() *Settlement {
	r := &Response{Status: c.status, Body: []byte{}}
	if c.body.Len() > 0 {
		r.Body = bytes.Clone(c.body.Bytes())
	}
	for _, name := range slices.Sorted(maps.Keys(c.sent)) {
		if volatile(name) || slices.Equal(c.sent[name], c.outer[name]) {
			continue
		}
		for _, value := range c.sent[name] {
			r.Headers = append(r.Headers, [2]string{name, value})
		}
	}
	if c.dropped {
		r.Body = nil
	}
	return &Settlement{Response: r, ResponseDropped: c.dropped}
}

// volatile are lines of one request, one caller or one moment, which a replay must not repeat. The service leaves out more:
// Set-Cookie, and what belongs to the connection.
func volatile(name string) bool {
	switch name {
	case "Age", "Content-Length", "Date", "Idempotency-Key", "Idempotency-Status", "Idempotent-Replayed", "Server-Timing", "Set-Cookie", "Traceparent",
		"Tracestate", "Www-Authenticate", "X-Correlation-Id", "X-Request-Id", "X-Trace-Id":
		return true
	}
	return strings.HasPrefix(name, "Ratelimit") || strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, http.TrailerPrefix)
}

// Unwrap lets [http.ResponseController] set deadlines. What is written past the capture is not recorded.
func (c *capture) Unwrap() http.ResponseWriter { return c.base }

// FlushError sends what there is, for [http.ResponseController].
func (c *capture) FlushError() error {
	if !flushes(c.base) {
		return errors.ErrUnsupported
	}
	if err := c.start(); err != nil {
		return err
	}
	return http.NewResponseController(c.base).Flush()
}

func (c *capture) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(c.base).Hijack()
	c.hijacked = c.hijacked || err == nil
	return conn, rw, err
}

// writer gives the capture with those optional methods that its base has, no others.
func (c *capture) writer() http.ResponseWriter {
	_, hijacks := c.base.(http.Hijacker)
	switch {
	case flushes(c.base) && hijacks:
		return flushingHijacker{flusher{c}}
	case flushes(c.base):
		return flusher{c}
	case hijacks:
		return hijacker{c}
	}
	return c
}

func flushes(w http.ResponseWriter) bool {
	_, ok := w.(http.Flusher)
	return ok
}

type flusher struct{ *capture }

// Flush sends what there is.
func (f flusher) Flush() { _ = f.FlushError() }

type hijacker struct{ *capture }

// Hijack gives the connection to the handler; its answer is then not recorded.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.hijack() }

type flushingHijacker struct{ flusher }

// Hijack gives the connection to the handler; its answer is then not recorded.
func (h flushingHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.hijack() }
