package faultproxy

import (
	"fmt"
	"sync"
)

// Message is one message as the proxy saw it.
type Message struct {
	Conn      int // id of its connection
	Direction Direction
	Type      byte   // its letter; 0 for those without one, with which a client begins
	Name      string // as the documentation of PostgreSQL calls it; "unknown" if it does not
	Length    int    // bytes, with type letter and length
	Forwarded int    // how many of them were written to the other side
}

// String gives a line of a trace.
func (m Message) String() string {
	return fmt.Sprintf("%d %v %s %d/%d", m.Conn, m.Direction, m.Name, m.Forwarded, m.Length)
}

// Counters are sums over the life of a proxy. Those of two are indexed by [Direction].
type Counters struct {
	Accepted int      // connections that reached the server
	Refused  int      // connections that did not: it could not be reached, and the client got a reset
	Messages [2]int   // that began
	Bytes    [2]int64 // that were forwarded, in messages or not
	Fired    int      // faults that happened
}

// book is what a proxy remembers.
type book struct {
	mu    sync.Mutex
	trace []*Message
	sums  Counters
}

// Trace gives the messages of all connections in the order in which they began, since the proxy was made or last forgot.
func (p *Proxy) Trace() []Message { return p.book.copy(0) }

// Forget empties the trace, so that a long run does not fill the memory. Counters go on.
func (p *Proxy) Forget() {
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	p.book.trace = nil
}

// Counters gives the sums so far.
func (p *Proxy) Counters() Counters {
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	return p.book.sums
}

// copy gives the messages of one connection, or of all.
func (b *book) copy(conn int) (messages []Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.trace {
		if conn == 0 || m.Conn == conn {
			messages = append(messages, *m)
		}
	}
	return messages
}

func (b *book) read(m *Message) Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return *m
}

func (b *book) began(m *Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trace = append(b.trace, m)
	b.sums.Messages[m.Direction]++
}

// forwarded notes bytes, of a message or of none.
func (b *book) forwarded(d Direction, m *Message, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sums.Bytes[d] += int64(n)
	if m != nil {
		m.Forwarded += n
	}
}

// count changes the sums.
func (b *book) count(change func(*Counters)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.sums)
}

var names = [2]map[byte]string{
	Frontend: {'B': "Bind", 'C': "Close", 'D': "Describe", 'E': "Execute", 'F': "FunctionCall", 'H': "Flush", 'P': "Parse",
		'Q': "Query", 'S': "Sync", 'X': "Terminate", 'c': "CopyDone", 'd': "CopyData", 'f': "CopyFail", 'p': "PasswordMessage"},
	Backend: {'1': "ParseComplete", '2': "BindComplete", '3': "CloseComplete", 'A': "NotificationResponse",
		'C': "CommandComplete", 'D': "DataRow", 'E': "ErrorResponse", 'G': "CopyInResponse", 'H': "CopyOutResponse",
		'I': "EmptyQueryResponse", 'K': "BackendKeyData", 'N': "NoticeResponse", 'R': "Authentication",
		'S': "ParameterStatus", 'T': "RowDescription", 'V': "FunctionCallResponse", 'W': "CopyBothResponse",
		'Z': "ReadyForQuery", 'c': "CopyDone", 'd': "CopyData", 'n': "NoData", 's': "PortalSuspended",
		't': "ParameterDescription", 'v': "NegotiateProtocolVersion"},
}

func nameOf(d Direction, letter byte) string {
	if name, ok := names[d][letter]; ok {
		return name
	}
	return "unknown"
}
