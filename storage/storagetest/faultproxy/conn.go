package faultproxy

import (
	"errors"
	"net"
	"sync"
)

// errCut ends the forwarding of a direction: what comes from now on is read and dropped.
var errCut = errors.New("the connection was cut")

// socket is one side of a connection: TCP, or towards the server a Unix socket.
type socket interface {
	net.Conn
	CloseWrite() error
}

// reset closes a socket at once, with a reset where there is one.
func reset(s socket) {
	if tcp, ok := s.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = s.Close()
}

// Conn is one connection of a client, with that to the server behind it. It is safe for concurrent use.
type Conn struct {
	id      int
	proxy   *Proxy
	sides   [2]socket // by the direction that comes from it: the client is [Frontend]
	session session

	serverGone chan struct{}
	isGone     sync.Once
	cut        chan struct{}
	done       chan struct{}

	mu     sync.Mutex
	pid    int
	silent [2]bool     // directions in which nothing more is forwarded
	holds  [2][]*Armed // stalls, by the direction that they hold
}

func newConn(p *Proxy, client, server socket) *Conn {
	return &Conn{proxy: p, sides: [2]socket{Frontend: client, Backend: server},
		serverGone: make(chan struct{}), cut: make(chan struct{}), done: make(chan struct{})}
}

// ID is the number of the connection: 1 is the first that reached the server.
func (c *Conn) ID() int { return c.id }

// Trace gives the messages of this connection, as far as the proxy has not been told to forget them.
func (c *Conn) Trace() []Message { return c.proxy.book.copy(c.id) }

// PID gives the id of the server's process, as in pg_stat_activity; 0 until the server has told it.
func (c *Conn) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pid
}

// Opaque tells that the connection passes without being understood: it is encrypted, or speaks another protocol.
func (c *Conn) Opaque() bool { return c.session.isOpaque() }

// ServerGone is closed when the server has closed its side. Its process has ended then, and let go of all locks. It stays
// open after a reset of the server's side, about which nobody tells the proxy (ask pg_stat_activity for PID), and while
// a stall holds the backend's direction.
func (c *Conn) ServerGone() <-chan struct{} { return c.serverGone }

// Done is closed when both sides have closed, and the connection is no more.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Cut ends the connection now, in good order.
func (c *Conn) Cut() { c.end(false, false) }

// Reset ends the connection now, with RST on both sides.
func (c *Conn) Reset() { c.end(true, true) }

// run carries the bytes of both directions until both sides have closed.
func (c *Conn) run(pumps [2]*pump) {
	var other sync.WaitGroup
	other.Go(pumps[Backend].run)
	pumps[Frontend].run()
	other.Wait()
	for _, s := range c.sides {
		_ = s.Close()
	}
	c.markCut() // for who waits to be released
	close(c.done)
}

func (c *Conn) isCut() bool {
	select {
	case <-c.cut:
		return true
	default:
		return false
	}
}

func (c *Conn) markCut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = [2]bool{true, true}
	if !c.isCut() {
		close(c.cut)
	}
}

// silence stops a direction before the next byte is written.
func (c *Conn) silence(d Direction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent[d] = true
}

// end ends both sides: by FIN, after which the pumps read on until the other end has closed, or by RST.
func (c *Conn) end(resetClient, resetServer bool) {
	c.markCut()
	for d, byReset := range [2]bool{Frontend: resetClient, Backend: resetServer} {
		if byReset {
			reset(c.sides[d])
		} else {
			_ = c.sides[d].CloseWrite() // an error says that this side has ended already
		}
	}
}

// happen does what a fault at this place in a direction does, and reports it. The error says that the direction ends
// here; write brings what was read so far on its way.
func (c *Conn) happen(a *Armed, write func() error) error {
	f := a.fault
	if f.Action == Cut && !f.OneWay {
		c.silence(f.Direction.opposite())
	}
	if err := write(); err != nil {
		return err
	}
	var end error
	switch {
	case f.Action == Stall:
		c.hold(a)
	case f.OneWay:
		c.silence(f.Direction)
		end = errCut
	default:
		keep := f.At == After
		c.end(f.Reset && !(keep && f.Direction == Backend), f.Reset && !(keep && f.Direction == Frontend))
		end = errCut
	}
	c.proxy.book.count(func(s *Counters) { s.Fired++ })
	close(a.fired)
	return end
}

// hold makes a direction, or both, wait for the release of a stall.
func (c *Conn) hold(a *Armed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range []Direction{Frontend, Backend} {
		if d == a.fault.Direction || !a.fault.OneWay {
			c.holds[d] = append(c.holds[d], a)
		}
	}
}

// pass waits until nothing holds a direction. The error says that nothing passes any more.
func (c *Conn) pass(d Direction) error {
	for {
		hold, err := c.firstHold(d)
		if hold == nil || err != nil {
			return err
		}
		select {
		case <-hold.released:
		case <-c.cut:
		}
	}
}

// firstHold gives a stall that holds a direction and is not released yet; nil when there is none.
func (c *Conn) firstHold(d Direction) (*Armed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent[d] {
		return nil, errCut
	}
	for len(c.holds[d]) > 0 {
		first := c.holds[d][0]
		select {
		case <-first.released:
			c.holds[d] = c.holds[d][1:]
		default:
			return first, nil
		}
	}
	return nil, nil
}

// noteProcess notes the process id that the server told.
func (c *Conn) noteProcess(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pid = pid
}

// noteEnd notes that the server's side has ended, unless it was we who closed it.
func (c *Conn) noteEnd(err error) {
	if err != nil && !errors.Is(err, net.ErrClosed) {
		c.isGone.Do(func() { close(c.serverGone) })
	}
}
