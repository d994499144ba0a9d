package httpapi_test

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// counting is a listener that counts connections.
type counting struct {
	net.Listener
	accepted atomic.Int64
}

// Accept counts one.
func (l *counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return conn, err
}

func (l *counting) url() string { return "http://" + l.Addr().String() }

// listen serves on a port of its own for the time of a test.
func (s *server) listen(t *testing.T, server *http.Server) *counting {
	t.Helper()
	l := &counting{Listener: must(net.Listen("tcp", "127.0.0.1:0"))}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return l
}

// overHTTP2 is a client that begins with HTTP/2.
func overHTTP2() *http.Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: &protocols}, Timeout: hang}
}

// Ensure that calls may share one connection by HTTP/2, those that wait too: each waits by itself, and one that is given up
// gives up its place and not those of the others.
func TestWaitersShareAConnection(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		listener := s.listen(t, s.api.Server())
		c := s.as(t, "acme")
		c.url, c.client = listener.url(), overHTTP2()
		k := c.key("k")
		live(k)
		stays := s.waits(k, attempt(2))
		s.waits(k, attempt(3)).hangUp()
		s.until(t, "one has left", func() bool { return s.api.Service.Waiters() == 1 })
		k.complete(fields{"response": response()}).want(200, "completed")
		if got := stays.want(200, "replay").proto; got != "HTTP/2.0" {
			t.Errorf("the answer came by %s", got)
		}
		if n := listener.accepted.Load(); n != 1 {
			t.Errorf("%d connections were made, want one", n)
		}
	})
}

// Ensure that a call may wait for longer than its request may take to be read.
func TestWaitingIsNoSlowReading(t *testing.T) {
	beforeAnyStore(t, func(t *testing.T, s *server) {
		server := s.api.Server()
		server.ReadTimeout = 300 * time.Millisecond
		listener := s.listen(t, server)
		c := s.as(t, "acme")
		c.url = listener.url()
		k := c.key("k")
		live(k)
		began := time.Now()
		k.reserve(attempt(2), fields{"wait": "1s"}).want(409, "in_progress")
		if waited := time.Since(began); waited < time.Second {
			t.Errorf("the call waited %v, want 1s", waited)
		}
	})
}
