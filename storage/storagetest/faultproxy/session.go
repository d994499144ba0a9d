package faultproxy

import (
	"encoding/binary"
	"errors"
	"sync"
)

// errOpaque says that the rest of a direction cannot be read.
var errOpaque = errors.New("no message of the protocol")

// Codes of the messages that have no type letter. They stand where a StartupMessage has its version.
const (
	cancelRequest = 80877102
	sslRequest    = 80877103
	gssRequest    = 80877104
)

// Each message without a letter has a length and a code; each with a letter, the letter and a length.
const (
	startupHeader = 8
	typedHeader   = 5
	// longestStartup is what Postgres takes. What claims to be longer is no such message, but encrypted from the start.
	longestStartup = 10_000
)

// session is what the two directions of a connection have to know of each other to tell where a message begins.
type session struct {
	mu      sync.Mutex
	started bool   // the client has sent its StartupMessage: its messages have a letter from now on
	asked   string // encryption that the client asked for; the server's next byte is the answer
	opaque  bool   // encrypted, or not this protocol: nothing can be read any more
}

// header tells how many bytes have to be seen, of which first is the first, before a message can be told.
func (s *session) header(d Direction, first byte) (bytes int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.opaque:
		return 0, errOpaque
	case d == Frontend && !s.started:
		return startupHeader, nil
	case d == Backend && s.asked != "" && first != 'E': // an error comes as a message, from a server in trouble
		return 1, nil
	}
	return typedHeader, nil
}

// begin reads the header of a message.
func (s *session) begin(d Direction, header []byte) (*Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m *Message
	switch len(header) {
	case 1:
		m = s.answer(header[0])
	case startupHeader:
		m = s.startup(header)
	default:
		m = typed(d, header)
		if d == Backend {
			s.asked = "" // answered by an error
		}
	}
	if m == nil {
		s.opaque = true
		return nil, errOpaque
	}
	m.Direction = d
	return m, nil
}

// answer is that to a request for encryption: a bare letter. With anything but N the encryption begins.
func (s *session) answer(letter byte) *Message {
	m := &Message{Type: letter, Name: s.asked + "Response", Length: 1}
	s.asked = ""
	s.opaque = letter != 'N'
	return m
}

func (s *session) startup(header []byte) *Message {
	m := &Message{Name: "StartupMessage", Length: int(binary.BigEndian.Uint32(header))}
	if m.Length < startupHeader || m.Length > longestStartup {
		return nil
	}
	switch binary.BigEndian.Uint32(header[4:]) {
	case cancelRequest:
		m.Name = "CancelRequest"
	case sslRequest:
		m.Name, s.asked = "SSLRequest", "SSL"
	case gssRequest:
		m.Name, s.asked = "GSSENCRequest", "GSSENC"
	default:
		s.started = true
	}
	return m
}

func typed(d Direction, header []byte) *Message {
	length := int(binary.BigEndian.Uint32(header[1:]))
	if length < typedHeader-1 {
		return nil
	}
	return &Message{Type: header[0], Name: nameOf(d, header[0]), Length: 1 + length}
}

func (s *session) isOpaque() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opaque
}
