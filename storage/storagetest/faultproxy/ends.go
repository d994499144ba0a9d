package faultproxy

import "slices"

// share is what a message, or none, has in the bytes that are to be written.
type share struct {
	of    *Message
	bytes int
}

// source is where a pump reads.
type source struct{ *pump }

func (s source) Read(b []byte) (int, error) {
	n, err := s.from.Read(b)
	if err != nil {
		s.ended = err
		if s.direction == Backend {
			s.conn.noteEnd(err)
		}
	}
	return n, err
}

// sink is where a pump writes: nothing passes a stall or a cut.
type sink struct{ *pump }

func (s sink) Write(b []byte) (int, error) {
	if err := s.conn.pass(s.direction); err != nil {
		return 0, err
	}
	shares := s.take(len(b))
	s.count(shares, len(b)) // before anybody can know of them
	n, err := s.to.Write(b)
	slices.Reverse(shares)
	s.count(shares, n-len(b)) // the last ones were not written
	return n, err
}

// take gives whose bytes are written next.
func (p *pump) take(n int) (shares []share) {
	for n > 0 {
		first := &p.unsent[0]
		part := min(n, first.bytes)
		shares = append(shares, share{first.of, part})
		n -= part
		if first.bytes -= part; first.bytes == 0 {
			p.unsent = p.unsent[1:]
		}
	}
	return shares
}

// count notes the first n bytes of shares as forwarded; when n is negative, it takes back as many.
func (p *pump) count(shares []share, n int) {
	for _, s := range shares {
		part := max(min(n, s.bytes), -s.bytes)
		p.conn.proxy.book.forwarded(p.direction, s.of, part)
		n -= part
	}
}
