package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/service/httpapi/hangup"
)

// parked is a call by HTTP/1 that waits without a goroutine: its connection, taken from the HTTP server, which would keep 25 KB
// of buffers and stacks for it, and what is needed of its request. As the server does not take a connection back, the
// answer ends it (RFC 9112 section 9.6).
type parked struct {
	api       *API
	conn      net.Conn
	minor     int // of the version of HTTP
	requestID string
	principal auth.Principal
	name      wire.Name
	began     time.Time
	waits     *waits
}

// park takes a call that has to wait from the HTTP server, where that is possible: not by HTTP/2, whose calls share a
// connection.
func (a *API) park(c echo.Context, w *waits) bool {
	if c.Request().ProtoMajor != 1 || !w.waiting.HasPlace() || !hangup.Possible() {
		return false
	}
	a.parked.Add(1)                       // before the HTTP server forgets the connection, so that one of the two always knows of it
	conn, _, err := c.Response().Hijack() // a request that was sent behind this one is not answered; the end of the connection says so
	if err != nil {
		a.parked.Done()
		return false
	}
	p := &parked{api: a, conn: conn, minor: min(c.Request().ProtoMinor, 1), requestID: c.Response().Header().Get(requestIDHeader),
		principal: principal(c), began: c.Get(beganKey).(time.Time), waits: w}
	p.name, _ = c.Get(nameKey).(wire.Name)
	p.wait()
	return true
}

// AwaitParked comes back when all calls that waited apart from the HTTP server are answered, with an error if that is not so
// by the end of ctx. It is for a service that goes down, when its HTTP server takes no calls any more.
func (a *API) AwaitParked(ctx context.Context) error {
	answered := make(chan struct{})
	go func() {
		a.parked.Wait()
		close(answered)
	}()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait comes back at once; the call is answered when it has waited.
func (p *parked) wait() {
	ctx, hangUp := context.WithCancel(context.Background())
	forget, err := hangup.Watch(p.conn, hangUp)
	if err != nil { // it waits all the same; only its hanging up would not be noticed
		p.api.Log.Warn("a connection is not watched while its call waits", "err", err)
		forget = func() {}
	}
	p.waits.waiting.AwaitThen(ctx, func() {
		go func() {
			defer p.api.parked.Done()
			defer hangUp()
			answer := p.answer(ctx)
			forget()
			p.send(answer)
		}()
	})
}

// answer gives what answers the call; nil after a fault of ours, which must not end the process.
func (p *parked) answer(ctx context.Context) (answer *collected) {
	defer func() {
		if r := recover(); r != nil {
			p.api.Log.Error("a call that waited could not be answered", "err", panicked(r))
			answer = nil
		}
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, pathReserve, http.NoBody)
	if err != nil {
		panic(err)
	}
	var to collected
	c := p.api.echo.NewContext(request, &to)
	c.SetPath(pathReserve)
	c.Set(principalKey, p.principal)
	c.Set(nameKey, p.name)
	c.Set(beganKey, p.began)
	p.api.introduce(c, p.requestID)
	err = p.api.answerWaited(c, p.waits)
	p.api.ended(c, wire.CallReserve, err)
	if err != nil {
		p.api.writeError(err, c)
	}
	return &to
}

// A caller has as long to hang up after its answer as it may need to read it, at no less than slowest bytes a second: if
// anything that it sent is unread when the connection is closed, what it has not received yet may be taken from it.
const (
	lingering = 500 * time.Millisecond
	slowest   = 32 << 10
)

// send writes the answer and ends the connection. What fails has no one to be told: the caller has gone, and the call was
// done.
func (p *parked) send(answer *collected) {
	defer p.conn.Close()
	if answer == nil {
		return
	}
	size := time.Duration(answer.body.Len())
	_ = p.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_ = answer.write(p.conn, p.minor)
	if half, ok := p.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		_ = p.conn.SetReadDeadline(time.Now().Add(min(lingering+size*time.Second/slowest, writeTimeout)))
		_, _ = io.Copy(io.Discard, p.conn)
	}
}

// collected is an answer that is written at once.
type collected struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header gives the lines that can be set.
func (c *collected) Header() http.Header {
	if c.header == nil {
		c.header = http.Header{}
	}
	return c.header
}

// WriteHeader keeps the status.
func (c *collected) WriteHeader(status int) { c.status = status }

// Write keeps the body.
func (c *collected) Write(body []byte) (int, error) { return c.body.Write(body) }

// write sends the answer, which is used up by it.
func (c *collected) write(to io.Writer, minor int) error {
	c.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	answer := http.Response{StatusCode: c.status, ProtoMajor: 1, ProtoMinor: minor, Header: c.header, Close: true,
		ContentLength: int64(c.body.Len()), Body: io.NopCloser(&c.body)}
	buffered := bufio.NewWriter(to) // for the head; a large body is not copied
	return errors.Join(answer.Write(buffered), buffered.Flush())
}
