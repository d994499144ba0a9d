// Package faultproxy is a proxy between a client and PostgreSQL that breaks the connection between them at a chosen
// message of the protocol: before it, after it, or in the middle.
//
//	proxy, err := faultproxy.New(databaseURL)
//	address, err := proxy.URL(databaseURL) // for the client
//	...
//	armed := proxy.Arm(faultproxy.Fault{Direction: faultproxy.Frontend, At: faultproxy.After, Message: 3})
//	answer := call()  // its third message arrives, and nothing else does, in either direction
//	<-armed.Fired()   // it did happen
//	<-armed.Conn().ServerGone() // and the server has come to its end with what it was sent
//
// It knows the framing of protocol version 3 and nothing of what the messages say. Bytes are never changed. They may be
// grouped otherwise than they came: a message may arrive in pieces, and many in one segment. The first bytes of a message
// are held until its length is known, which nobody can notice, because nobody can do anything with less.
//
// # What a cut promises
//
// Whatever was before the place of the cut has been written to the socket of the other side, and nothing after it ever
// will be. The other direction is shut before the last bytes are written: the answer to a message after which the
// connection was cut cannot arrive.
//
// Written to a socket is not yet read by the other side. A connection that ends with a reset (RST), as it does when a
// machine dies or a firewall loses patience, may take with it what is under way. A cut therefore ends both sides in good
// order, unless [Fault.Reset] is set: by FIN, which comes after all bytes, and by reading on until the other side has
// closed too, because closing a socket that holds unread bytes sends a reset. With Reset both sides get their RST, but
// for the receiver of a message after which is cut: that one gets FIN all the same, to have its chance to read the
// message. When [Conn.ServerGone] is closed, the server's process has ended, and whatever it made of the messages is
// in the database, or is not, for good.
//
// # What it cannot do
//
// Encrypted connections pass, but cannot be read: nothing is counted on them, and no fault fires (see [Conn.Opaque]).
// [Proxy.URL] switches encryption off. Only one server stands behind a proxy.
package faultproxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// dialPatience is for hangs alone: the server is on this machine or near it.
	dialPatience = 30 * time.Second

	// acceptPause is how long a proxy without a free file descriptor waits for one.
	acceptPause = 10 * time.Millisecond
)

// Proxy listens on a port of this machine and forwards each connection to one server. It is safe for concurrent use.
type Proxy struct {
	target   endpoint
	listener net.Listener
	ctx      context.Context // ends with the proxy
	stop     context.CancelFunc
	running  sync.WaitGroup
	book     book

	mu     sync.Mutex
	closed bool
	last   int // id of the latest connection
	conns  map[int]*Conn
	armed  []*Armed
	delays [2]time.Duration
	pieces func(io.Reader) io.Reader // how bytes come in: as they do, but for tests of just that
}

// New starts a proxy in front of a server: the host:port of one, or the postgres:// URL of one of its databases, of which
// only host and port count. It does not connect before a client does.
func New(target string) (*Proxy, error) {
	e, err := endpointOf(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	p := &Proxy{target: e, listener: listener, conns: map[int]*Conn{}, pieces: func(r io.Reader) io.Reader { return r }}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p, nil
}

// Addr gives the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close resets all connections, takes no more, and returns when no goroutine is left. Stalled bytes are lost.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	conns := p.all()
	p.mu.Unlock()
	p.stop()
	err := p.listener.Close()
	for _, c := range conns {
		c.Reset()
	}
	p.running.Wait()
	return err
}

// Conns gives the connections that are open, the oldest first: those that were neither cut nor closed by both sides.
func (p *Proxy) Conns() []*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(p.all(), (*Conn).isCut)
}

// all needs p.mu.
func (p *Proxy) all() []*Conn {
	conns := make([]*Conn, 0, len(p.conns))
	for _, c := range p.conns {
		conns = append(conns, c)
	}
	slices.SortFunc(conns, func(a, b *Conn) int { return a.id - b.id })
	return conns
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		switch {
		case err == nil:
			p.running.Go(func() { p.serve(client.(socket)) })
		case p.ctx.Err() != nil:
			return
		default:
			time.Sleep(acceptPause)
		}
	}
}

// serve carries one connection from its beginning to its end.
func (p *Proxy) serve(client socket) {
	dialer := net.Dialer{Timeout: dialPatience}
	server, err := dialer.DialContext(p.ctx, p.target.network, p.target.address)
	if err != nil {
		p.book.count(func(c *Counters) { c.Refused++ })
		reset(client)
		return
	}
	c := newConn(p, client, server.(socket))
	pumps, open := p.enter(c)
	if !open {
		c.Reset()
	}
	c.run(pumps)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c.id)
}

// enter puts a connection on the list, and makes what carries it; open is false when the proxy was closed meanwhile.
func (p *Proxy) enter(c *Conn) (pumps [2]*pump, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	c.id = p.last
	p.conns[c.id] = c
	p.book.count(func(c *Counters) { c.Accepted++ })
	return [2]*pump{Frontend: newPump(c, Frontend, p.pieces), Backend: newPump(c, Backend, p.pieces)}, !p.closed
}
