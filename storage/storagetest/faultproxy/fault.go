package faultproxy

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Direction is the way that a message goes.
type Direction int

const (
	Frontend Direction = iota // from the client to the server
	Backend                   // from the server to the client
)

// String names the direction in traces and failures.
func (d Direction) String() string { return [...]string{"frontend", "backend"}[d] }

func (d Direction) opposite() Direction { return 1 - d }

// Position is a place in relation to a message.
type Position int

const (
	Before Position = iota // not a byte of the message is forwarded
	Inside                 // its first [Fault.Offset] bytes are
	After                  // all of it is
)

// String names the position in traces and failures.
func (p Position) String() string { return [...]string{"before", "inside", "after"}[p] }

// Action is what a fault does.
type Action int

const (
	Cut   Action = iota // ends the connection: see the comment of the package
	Stall               // holds all bytes, the end of a connection too, until [Armed.Release]
)

// Fault is what happens, once, at a message.
type Fault struct {
	Direction Direction
	// Message is the number of the message among those of Direction that begin after the fault was armed: 1 is the next.
	// Startup messages, cancel requests and the one-byte answers to requests for encryption are messages too.
	Message int
	At      Position
	// Offset is how many bytes of the message are forwarded by a fault Inside it, type letter and length included; at
	// least 1. One byte is missing at least: too large an offset is taken for that of the last byte.
	Offset int

	Action Action
	// OneWay leaves the other direction as it is: a cut then leaves the sockets open and forwards nothing more in
	// Direction, not even its end; a stall holds only Direction.
	OneWay bool
	// Reset ends a cut connection with RST instead of FIN: see the comment of the package.
	Reset bool

	// Conn is the id of the only connection that counts; 0: all of them count, together.
	Conn int
	// Type is the letter of the only messages that count; 0: all count.
	Type byte
}

// validate panics about what no fault can mean.
func (f Fault) validate() {
	switch {
	case f.Message < 1:
		panic(fmt.Sprintf("faultproxy: message %d: the first one is 1", f.Message))
	case f.At == Inside && f.Offset < 1:
		panic(fmt.Sprintf("faultproxy: offset %d is not inside a message", f.Offset))
	}
}

// place gives how many bytes of a message come before the fault.
func (f Fault) place(length int) int {
	switch f.At {
	case Before:
		return 0
	case Inside:
		return min(f.Offset, length-1)
	}
	return length
}

// Armed is a fault that waits for its message, or has met it.
type Armed struct {
	fault    Fault
	left     int // messages until it happens
	fired    chan struct{}
	release  sync.Once
	released chan struct{}
	conn     *Conn
	message  *Message
}

// Arm counts messages from now on, and makes the fault happen at its message. Several faults may be armed; each counts
// for itself. It panics if the fault has no message, or no offset inside it.
func (p *Proxy) Arm(f Fault) *Armed {
	f.validate()
	a := &Armed{fault: f, left: f.Message, fired: make(chan struct{}), released: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = append(p.armed, a)
	return a
}

// Disarm takes back every fault that has not met its message yet, and tells how many. What is stalled stays so until it
// is released.
func (p *Proxy) Disarm() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := len(p.armed)
	p.armed = nil
	return taken
}

// Delay holds every message of a direction for a while before it is forwarded, one after the other: ten messages take
// ten delays. Zero ends it.
func (p *Proxy) Delay(d Direction, each time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delays[d] = each
}

func (p *Proxy) delay(d Direction) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delays[d]
}

// Fired is closed when the fault has happened: a cut connection has ended, a stalled one holds.
func (a *Armed) Fired() <-chan struct{} { return a.fired }

// Release lets go what a stall holds, or would hold.
func (a *Armed) Release() { a.release.Do(func() { close(a.released) }) }

// Conn is the connection on which the fault happened. Ask it after Fired.
func (a *Armed) Conn() *Conn { return a.conn }

// Message is the one at which the fault happened, with what was forwarded of it. Ask it after Fired.
func (a *Armed) Message() Message { return a.conn.proxy.book.read(a.message) }

// stop is a place in a message at which a fault happens.
type stop struct {
	offset int
	armed  *Armed
}

// meet counts a message, and gives the places at which it is stopped, in their order.
func (p *Proxy) meet(c *Conn, m *Message) []stop {
	p.mu.Lock()
	defer p.mu.Unlock()
	var stops []stop
	p.armed = slices.DeleteFunc(p.armed, func(a *Armed) bool {
		f := a.fault
		if f.Direction != m.Direction || f.Conn != 0 && f.Conn != c.id || f.Type != 0 && f.Type != m.Type {
			return false
		}
		if a.left--; a.left > 0 {
			return false
		}
		a.conn, a.message = c, m
		stops = append(stops, stop{f.place(m.Length), a})
		return true
	})
	slices.SortStableFunc(stops, func(a, b stop) int { return a.offset - b.offset })
	return stops
}
