package faultproxy_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage/storagetest/faultproxy"
)

// cut is a fault at the messages of one note: a Query, to which the server answers CommandComplete and ReadyForQuery.
type cut struct {
	fault            faultproxy.Fault
	name             string // of the message that is hit
	forwarded        int    // bytes of it; -1: all
	stored, answered bool   // whether the server came to store the note, and the client to know
}

var cuts = []cut{
	{query(faultproxy.Before, 0), "Query", 0, false, false},
	{query(faultproxy.Inside, 1), "Query", 1, false, false},
	{query(faultproxy.Inside, 7), "Query", 7, false, false},
	{query(faultproxy.After, 0), "Query", -1, true, false},
	{answer(1, faultproxy.Before, 0), "CommandComplete", 0, true, false},
	{answer(1, faultproxy.Inside, 3), "CommandComplete", 3, true, false},
	{answer(1, faultproxy.After, 0), "CommandComplete", -1, true, false},
	{answer(2, faultproxy.Before, 0), "ReadyForQuery", 0, true, false},
	{answer(2, faultproxy.Inside, 1000), "ReadyForQuery", 5, true, false}, // of six bytes
	{answer(2, faultproxy.After, 0), "ReadyForQuery", -1, true, true},
	{faultproxy.Fault{Direction: faultproxy.Backend, Message: 1, Type: 'Z'}, "ReadyForQuery", 0, true, false},
}

func query(at faultproxy.Position, offset int) faultproxy.Fault {
	return faultproxy.Fault{Direction: faultproxy.Frontend, Message: 1, At: at, Offset: offset}
}

func answer(message int, at faultproxy.Position, offset int) faultproxy.Fault {
	return faultproxy.Fault{Direction: faultproxy.Backend, Message: message, At: at, Offset: offset}
}

// Ensure that each kind of cut lets pass what it says, to the byte: the server did what it was told completely, and the
// client was told what was let through.
func TestCuts(t *testing.T) {
	l := newLab(t)
	for i, c := range cuts {
		for _, byReset := range []bool{false, true} {
			c.fault.Reset = byReset
			t.Run(fmt.Sprintf("%v %v of %s, reset %v", c.fault.At, c.fault.Offset, c.name, byReset), func(t *testing.T) {
				l.on(t).cut(c, fmt.Sprint(i, byReset))
			})
		}
	}
}

func (l *lab) cut(c cut, note string) {
	conn := l.connect()
	before := conn.received.Load()
	armed := l.proxy.Arm(c.fault)
	err := l.note(conn.Conn, note)
	if answered := err == nil; answered != c.answered {
		l.t.Errorf("the client got: %v; want an answer: %v", err, c.answered)
	}
	wait(l.t, "the fault", armed.Fired())
	if armed.Conn() != conn.proxied {
		l.t.Errorf("the fault hit connection %d, want %d", armed.Conn().ID(), conn.proxied.ID())
	}
	l.serverEnds(conn.proxied.PID())
	if stored := l.stored(note); stored != c.stored {
		l.t.Errorf("the note is stored: %v, want %v", stored, c.stored)
	}
	l.judgeMessage(armed.Message(), c)
	if err := l.note(conn.Conn, note+" again"); err == nil {
		l.t.Error("the connection is still good")
	}
	if !c.fault.Reset {
		l.judgeBytes(conn, before)
	}
}

func (l *lab) judgeMessage(m faultproxy.Message, c cut) {
	forwarded := c.forwarded
	if forwarded < 0 {
		forwarded = m.Length
	}
	if m.Name != c.name || m.Direction != c.fault.Direction || m.Forwarded != forwarded {
		l.t.Errorf("the fault hit %v; want %d bytes of %s forwarded", m, forwarded, c.name)
	}
}

// judgeBytes holds what the client has received against what the proxy says it forwarded.
func (l *lab) judgeBytes(conn *client, before int64) {
	var forwarded int
	for _, m := range conn.proxied.Trace() {
		if m.Direction == faultproxy.Backend {
			forwarded += m.Forwarded
		}
	}
	if got := int(conn.received.Load()); got != forwarded {
		l.t.Errorf("the client received %d bytes, %d of them before; the proxy forwarded %d", got, before, forwarded)
	}
}

// Ensure that the server's end is told when its process has ended, after a cut on either side of a message.
func TestServerGone(t *testing.T) {
	l := newLab(t)
	for _, at := range []faultproxy.Position{faultproxy.Before, faultproxy.After} {
		conn := l.connect()
		armed := l.proxy.Arm(faultproxy.Fault{Message: 1, At: at})
		if err := l.note(conn.Conn, at.String()); err == nil {
			t.Errorf("%v: the note was answered", at)
		}
		wait(t, "the fault", armed.Fired())
		wait(t, "the server's end", conn.proxied.ServerGone())
		if ask[bool](l, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", conn.proxied.PID()) {
			t.Errorf("%v: process %d still runs", at, conn.proxied.PID())
		}
		if stored := l.stored(at.String()); stored != (at == faultproxy.After) {
			t.Errorf("%v: the note is stored: %v", at, stored)
		}
	}
}

// Ensure that a server which is at work when the connection is cut is not said to be gone before it has finished.
func TestServerIsNotGoneWhileItWorks(t *testing.T) {
	l := newLab(t)
	conn := l.connect()
	l.exec(l.observer, "BEGIN")
	l.exec(l.observer, "LOCK TABLE notes")
	armed := l.proxy.Arm(faultproxy.Fault{Message: 1, At: faultproxy.After})
	if err := l.note(conn.Conn, "late"); err == nil {
		t.Error("the note was answered")
	}
	wait(t, "the fault", armed.Fired())
	l.eventually("the server waits for the lock", func() bool {
		return ask[bool](l, "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)", conn.proxied.PID())
	})
	select {
	case <-conn.proxied.ServerGone():
		t.Error("the server is said to be gone while it waits for a lock")
	default:
	}
	if len(l.proxy.Conns()) != 0 {
		t.Errorf("connections that are open: got %d, want none", len(l.proxy.Conns()))
	}
	l.exec(l.observer, "ROLLBACK")
	wait(t, "the server's end", conn.proxied.ServerGone())
	if !l.stored("late") {
		t.Error("the note is not stored")
	}
}

// Ensure that a fault counts the messages of the one connection that was chosen, and else those of all together.
func TestOneConnectionOrAll(t *testing.T) {
	l := newLab(t)
	first, second := l.connect(), l.connect()
	chosen := l.proxy.Arm(faultproxy.Fault{Message: 2, Conn: second.proxied.ID()})
	for i, conn := range []*client{first, second, first, first} {
		if err := l.note(conn.Conn, fmt.Sprint(i)); err != nil {
			t.Fatalf("note %d: %v", i, err)
		}
	}
	any := l.proxy.Arm(faultproxy.Fault{Message: 3})
	if err := l.note(second.Conn, "second"); err == nil {
		t.Error("the second note of the chosen connection was answered")
	}
	wait(t, "the fault", chosen.Fired())
	if err := l.note(first.Conn, "first"); err != nil {
		t.Errorf("the second message of all: %v", err)
	}
	if err := l.note(first.Conn, "first, again"); err == nil {
		t.Error("the third message of all was answered")
	}
	wait(t, "the fault", any.Fired())
	if any.Conn() != first.proxied {
		t.Errorf("the fault hit connection %d, want %d", any.Conn().ID(), first.proxied.ID())
	}
}

// Ensure that a fault which was taken back does not happen, and that one happens once.
func TestDisarm(t *testing.T) {
	l := newLab(t)
	conn := l.connect()
	taken := l.proxy.Arm(faultproxy.Fault{Message: 1})
	if n := l.proxy.Disarm(); n != 1 {
		t.Errorf("%d faults were taken back, want 1", n)
	}
	if err := l.note(conn.Conn, "1"); err != nil {
		t.Errorf("after Disarm: %v", err)
	}
	armed := l.proxy.Arm(faultproxy.Fault{Message: 1})
	if err := l.note(conn.Conn, "2"); err == nil {
		t.Error("the armed fault did not happen")
	}
	wait(t, "the fault", armed.Fired())
	if n := l.proxy.Disarm(); n != 0 {
		t.Errorf("%d faults were taken back after they happened, want none", n)
	}
	if err := l.note(l.connect().Conn, "3"); err != nil {
		t.Errorf("after the fault: %v", err)
	}
	select {
	case <-taken.Fired():
		t.Error("the fault that was taken back says that it happened")
	default:
	}
}

// Ensure that a cut in one direction leaves both sockets open, forwards nothing more that way, and all the other way.
func TestCutInOneDirection(t *testing.T) {
	for _, d := range []faultproxy.Direction{faultproxy.Frontend, faultproxy.Backend} {
		t.Run(d.String(), func(t *testing.T) {
			l := newLab(t)
			conn := l.connect()
			armed := l.proxy.Arm(faultproxy.Fault{Direction: d, Message: 1, OneWay: true})
			answered := begin(func() error { return l.note(conn.Conn, "1") })
			wait(t, "the fault", armed.Fired())
			if d == faultproxy.Backend {
				l.eventually("the note is stored", func() bool { return l.stored("1") })
			}
			if open := l.proxy.Conns(); len(open) != 1 || open[0] != conn.proxied {
				t.Errorf("open connections: got %v, want the one", open)
			}
			// The server ends by itself: that reaches the client only if its own direction is whole.
			l.exec(l.observer, "SELECT pg_terminate_backend($1)", conn.proxied.PID())
			wait(t, "the server's end", conn.proxied.ServerGone())
			if d == faultproxy.Backend {
				select {
				case err := <-answered:
					t.Fatalf("the client was told: %v", err)
				default:
				}
				conn.proxied.Cut()
			}
			if err := wait(t, "the client's end", answered); (sqlState(err) == "57P01") != (d == faultproxy.Frontend) {
				t.Errorf("the client got %v; want the server's farewell: %v", err, d == faultproxy.Frontend)
			}
			if stored := l.stored("1"); stored != (d == faultproxy.Backend) {
				t.Errorf("the note is stored: %v", stored)
			}
		})
	}
}

// Ensure that a test can end a connection at any time, in good order or by a reset.
func TestCutNow(t *testing.T) {
	l := newLab(t)
	for name, end := range map[string]func(*faultproxy.Conn){
		"cut": (*faultproxy.Conn).Cut, "reset": (*faultproxy.Conn).Reset,
	} {
		conn := l.connect()
		answered := begin(func() error {
			_, err := conn.Exec(l.ctx(), "SELECT pg_sleep(3600)", pgx.QueryExecModeSimpleProtocol)
			return err
		})
		l.sleeps(conn.proxied.PID())
		end(conn.proxied)
		if err := wait(t, "the client's end", answered); err == nil {
			t.Errorf("%s: the client got an answer", name)
		}
		l.exec(l.observer, "SELECT pg_terminate_backend($1)", conn.proxied.PID()) // it sleeps, and does not look
		l.serverEnds(conn.proxied.PID())
		wait(t, "the end of the connection", conn.proxied.Done())
	}
}
