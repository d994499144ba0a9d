package faultproxy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// bufferSize is what is read and written at once. A message may be much larger: it passes in pieces.
const bufferSize = 64 << 10

// pump carries one direction of a connection.
type pump struct {
	conn      *Conn
	direction Direction
	from, to  socket
	in        *bufio.Reader
	out       *bufio.Writer
	unsent    []share // what out holds
	ended     error   // why nothing more can be read; nil until then
}

func newPump(c *Conn, d Direction, pieces func(io.Reader) io.Reader) *pump {
	p := &pump{conn: c, direction: d, from: c.sides[d], to: c.sides[d.opposite()]}
	p.in = bufio.NewReaderSize(pieces(source{p}), bufferSize)
	p.out = bufio.NewWriterSize(sink{p}, bufferSize)
	return p
}

// run carries bytes until the side that they come from has closed.
func (p *pump) run() {
	p.forward()
	// Either that side has ended, or nothing may pass any more, or the other side is gone, which its own direction tells.
	// This side is read on all the same: closing it with bytes under way would reset it.
	for p.ended == nil {
		_, _ = io.Copy(io.Discard, source{p})
	}
	if p.out.Flush() != nil || p.conn.pass(p.direction) != nil {
		return
	}
	if errors.Is(p.ended, io.EOF) {
		_ = p.to.CloseWrite()
	} else {
		p.conn.Reset() // as this side did
	}
}

// forward carries messages; what cannot be read as such, it carries as it is.
func (p *pump) forward() {
	var err error
	for err == nil {
		var m *Message
		if m, err = p.next(); err == nil {
			err = p.carry(m)
		}
	}
	for errors.Is(err, errOpaque) {
		err = p.carryOpaque()
	}
}

// next waits for a message to begin, and reads what tells it.
func (p *pump) next() (*Message, error) {
	first, err := p.peek(1)
	if err != nil {
		return nil, err
	}
	size, err := p.conn.session.header(p.direction, first[0])
	if err != nil {
		return nil, err
	}
	header, err := p.peek(size)
	if errors.Is(err, io.EOF) {
		return nil, errOpaque // half a header is all that comes
	}
	if err != nil {
		return nil, err
	}
	m, err := p.conn.session.begin(p.direction, header)
	if err != nil {
		return nil, err
	}
	m.Conn = p.conn.id
	p.noteProcess(m)
	p.conn.proxy.book.began(m)
	return m, nil
}

// noteProcess reads the id of the server's process, where the server tells it.
func (p *pump) noteProcess(m *Message) {
	const pidAt, pidEnd = typedHeader, typedHeader + 4
	if p.direction != Backend || m.Type != 'K' || m.Length < pidEnd {
		return
	}
	if begin, err := p.peek(pidEnd); err == nil {
		p.conn.noteProcess(int(binary.BigEndian.Uint32(begin[pidAt:])))
	}
}

// carry forwards a message, and stops where a fault says so.
func (p *pump) carry(m *Message) error {
	stops := p.conn.proxy.meet(p.conn, m)
	if err := p.delay(); err != nil {
		return err
	}
	done := 0
	for _, s := range stops {
		if err := p.copy(m, s.offset-done); err != nil {
			return err
		}
		done = s.offset
		if err := p.conn.happen(s.armed, p.out.Flush); err != nil {
			return err
		}
		if err := p.conn.pass(p.direction); err != nil { // so that a stall reads nothing more
			return err
		}
	}
	return p.copy(m, m.Length-done)
}

// delay holds a message for as long as this direction is delayed.
func (p *pump) delay() error {
	d := p.conn.proxy.delay(p.direction)
	if d <= 0 {
		return nil
	}
	if err := p.out.Flush(); err != nil {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.conn.cut:
		return errCut
	}
}

// copy forwards n bytes of a message, or of none.
func (p *pump) copy(m *Message, n int) error {
	for n > 0 {
		if _, err := p.peek(1); err != nil {
			return err
		}
		some, _ := p.in.Peek(min(n, p.in.Buffered()))
		p.unsent = append(p.unsent, share{m, len(some)})
		if _, err := p.out.Write(some); err != nil {
			return err
		}
		_, _ = p.in.Discard(len(some))
		n -= len(some)
	}
	return nil
}

// carryOpaque forwards what has come; it waits if nothing has.
func (p *pump) carryOpaque() error {
	if _, err := p.peek(1); err != nil {
		return err
	}
	if err := p.copy(nil, p.in.Buffered()); err != nil {
		return err
	}
	return errOpaque // and so is what comes next
}

// peek waits for n bytes, and brings on its way what was copied before.
func (p *pump) peek(n int) ([]byte, error) {
	if p.in.Buffered() < n {
		if err := p.out.Flush(); err != nil {
			return nil, err
		}
	}
	return p.in.Peek(n)
}
