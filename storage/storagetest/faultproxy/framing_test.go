package faultproxy_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/reprise-idempotency/reprise/storage/storagetest/faultproxy"
)

// names gives what a connection sent in a direction, from the message that is called first on.
func names(c *faultproxy.Conn, d faultproxy.Direction, first string) (names []string) {
	for _, m := range c.Trace() {
		if m.Direction == d && (len(names) > 0 || m.Name == first) {
			names = append(names, m.Name)
		}
	}
	return names
}

// Ensure that the messages of a connection are told as they are, in whatever pieces they come.
func TestTrace(t *testing.T) {
	for what, pieces := range map[string]func(io.Reader) io.Reader{
		"as they come": func(r io.Reader) io.Reader { return r },
		"byte by byte": iotest.OneByteReader,
		"by halves":    iotest.HalfReader,
	} {
		t.Run(what, func(t *testing.T) {
			l := newLab(t)
			l.proxy.InPieces(pieces)
			conn := l.connect()
			sum := conn.PgConn().ExecParams(l.ctx(), "SELECT $1::int + 1", [][]byte{[]byte("41")}, nil, nil, nil).Read()
			if sum.Err != nil || string(sum.Rows[0][0]) != "42" {
				t.Errorf("got %s, %v", sum.Rows, sum.Err)
			}
			if err := conn.Close(l.ctx()); err != nil {
				t.Error(err)
			}
			wait(t, "the end of the connection", conn.proxied.Done())
			l.same("frontend", names(conn.proxied, faultproxy.Frontend, "StartupMessage"), []string{"StartupMessage", "PasswordMessage",
				"Parse", "Bind", "Describe", "Execute", "Sync", "Terminate"})
			l.same("backend", names(conn.proxied, faultproxy.Backend, "BackendKeyData"), []string{"BackendKeyData", "ReadyForQuery",
				"ParseComplete", "BindComplete", "RowDescription", "DataRow", "CommandComplete", "ReadyForQuery"})
			for _, m := range conn.proxied.Trace() {
				if m.Forwarded != m.Length || m.Conn != conn.proxied.ID() {
					t.Errorf("%v: want all of it forwarded, on connection %d", m, conn.proxied.ID())
				}
			}
		})
	}
}

func (l *lab) same(what string, got, want []string) {
	l.t.Helper()
	if !slices.Equal(got, want) {
		l.t.Errorf("%s: got\n%q, want\n%q", what, got, want)
	}
}

// Ensure that a cut finds its place among bytes that come one by one.
func TestCutsByteByByte(t *testing.T) {
	l := newLab(t)
	l.proxy.InPieces(iotest.OneByteReader)
	for i, c := range cuts {
		t.Run(fmt.Sprintf("%v %v of %s", c.fault.At, c.fault.Offset, c.name), func(t *testing.T) { l.on(t).cut(c, fmt.Sprint(i)) })
	}
}

// Ensure that a cut finds its place among many messages that come in one segment: of a hundred notes, each committed by a
// message of its own, exactly those before the cut are stored.
func TestManyMessagesInOneSegment(t *testing.T) {
	const notes = 100
	for _, at := range []faultproxy.Position{faultproxy.Before, faultproxy.Inside, faultproxy.After} {
		for _, number := range []int{1, 37, notes} {
			t.Run(fmt.Sprintf("%v the %d.", at, number), func(t *testing.T) {
				l := newLab(t)
				conn := l.connect()
				armed := l.proxy.Arm(faultproxy.Fault{Message: number, At: at, Offset: 3, Type: 'S'})
				pipeline := conn.PgConn().StartPipeline(l.ctx())
				for i := range notes {
					pipeline.SendQueryParams("INSERT INTO notes VALUES ($1)", [][]byte{fmt.Append(nil, i)}, nil, nil, nil)
					if err := pipeline.Sync(); err != nil {
						break // the cut came while it was still sending
					}
				}
				_ = pipeline.Close()
				wait(t, "the fault", armed.Fired())
				wait(t, "the server's end", conn.proxied.ServerGone())
				want := number
				if at != faultproxy.After {
					want--
				}
				if got := ask[int](l, "SELECT count(*) FROM notes"); got != want {
					t.Errorf("%d notes are stored, want %d", got, want)
				}
			})
		}
	}
}

// Ensure that a message much larger than what is read at once passes unchanged both ways, and can be cut in the middle of
// it.
func TestLargeMessages(t *testing.T) {
	const size = 2 << 20
	l := newLab(t)
	data := make([]byte, size)
	rand.Read(data)
	const insert, selects = "INSERT INTO notes VALUES ($1, $2)", "SELECT data FROM notes WHERE note = $1"
	conn := l.connect()
	l.exec(conn.Conn, insert, "whole", data)
	if got := ask[[]byte](l, "SELECT sha256(data) FROM notes WHERE note = 'whole'"); !bytes.Equal(got, sum(data)) {
		t.Error("the server got other bytes than were sent")
	}
	var back []byte
	if err := conn.QueryRow(l.ctx(), selects, "whole").Scan(&back); err != nil || !bytes.Equal(back, data) {
		t.Errorf("the client got other bytes than were stored, %v", err)
	}
	for _, d := range []faultproxy.Direction{faultproxy.Frontend, faultproxy.Backend} {
		largest := slices.MaxFunc(conn.proxied.Trace(), func(a, b faultproxy.Message) int { return of(d, a) - of(d, b) })
		if largest.Length < size || largest.Forwarded != largest.Length {
			t.Errorf("the largest message: got %v, want more than %d bytes", largest, size)
		}
	}

	for _, f := range []faultproxy.Fault{{Direction: faultproxy.Frontend, Type: 'B'}, {Direction: faultproxy.Backend, Type: 'D'}} {
		f.Message, f.At, f.Offset = 1, faultproxy.Inside, size/2+1
		conn := l.connect()
		armed := l.proxy.Arm(f)
		if _, err := conn.Exec(l.ctx(), insert, f.Direction.String(), data); (err == nil) != (f.Direction == faultproxy.Backend) {
			t.Errorf("%v: storing: %v", f.Direction, err)
		}
		if err := conn.QueryRow(l.ctx(), selects, f.Direction.String()).Scan(&back); err == nil {
			t.Errorf("%v: reading succeeded", f.Direction)
		}
		wait(t, "the fault", armed.Fired())
		wait(t, "the server's end", conn.proxied.ServerGone())
		if m := armed.Message(); m.Forwarded != f.Offset || m.Length < size {
			t.Errorf("%v: got %v, want %d bytes forwarded", f.Direction, m, f.Offset)
		}
		if stored := l.stored(f.Direction.String()); stored != (f.Direction == faultproxy.Backend) {
			t.Errorf("%v: stored: %v", f.Direction, stored)
		}
	}
}

func sum(b []byte) []byte { s := sha256.Sum256(b); return s[:] }

// of gives the length of a message that goes in a direction, and else nothing.
func of(d faultproxy.Direction, m faultproxy.Message) int {
	if m.Direction != d {
		return 0
	}
	return m.Length
}

// Ensure that what is not this protocol passes as it is.
func TestOtherProtocol(t *testing.T) {
	l := newLab(t)
	socket := l.raw()
	const request = "GET / HTTP/1.1\r\n\r\n"
	if _, err := socket.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(socket); err != nil { // the server hangs up
		t.Errorf("got %v, want the end", err)
	}
	got := l.proxy.Counters()
	if got.Messages[faultproxy.Frontend] != 0 || got.Bytes[faultproxy.Frontend] != int64(len(request)) {
		t.Errorf("got %+v; want no messages and %d bytes", got, len(request))
	}
}

// Ensure that half a header is forwarded, and the end after it.
func TestHalfAHeader(t *testing.T) {
	l := newLab(t)
	socket := l.raw()
	if _, err := socket.Write([]byte{0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if err := socket.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(socket); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v; want the end", got, err)
	}
	if got := l.proxy.Counters().Bytes[faultproxy.Frontend]; got != 3 {
		t.Errorf("%d bytes were forwarded, want 3", got)
	}
}
