package faultproxy_test

import (
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage/storagetest/faultproxy"
)

// Ensure that a stall holds a connection where it says, and that everything comes when it is released.
func TestStall(t *testing.T) {
	for _, f := range []struct {
		faultproxy.Fault
		arrives bool // at the server, while the stall holds
	}{
		{faultproxy.Fault{Direction: faultproxy.Frontend, Message: 1, At: faultproxy.Before}, false},
		{faultproxy.Fault{Direction: faultproxy.Frontend, Message: 1, At: faultproxy.Inside, Offset: 9}, false},
		{faultproxy.Fault{Direction: faultproxy.Frontend, Message: 1, At: faultproxy.After}, true},
		{faultproxy.Fault{Direction: faultproxy.Backend, Message: 1, At: faultproxy.Before}, true},
		{faultproxy.Fault{Direction: faultproxy.Backend, Message: 2, At: faultproxy.Inside, Offset: 2}, true},
	} {
		for _, f.OneWay = range []bool{false, true} {
			l := newLab(t)
			conn := l.connect()
			f.Action = faultproxy.Stall
			armed := l.proxy.Arm(f.Fault)
			answered := begin(func() error { return l.note(conn.Conn, "1") })
			wait(t, "the fault", armed.Fired())
			if f.arrives {
				l.eventually("the note is stored", func() bool { return l.stored("1") })
			} else if l.stored("1") {
				t.Errorf("%+v: the note was stored", f)
			}
			// A stall of one direction after its only message lets the answer pass, the other way.
			if f.OneWay && f.At == faultproxy.After {
				if err := wait(t, "the answer", answered); err != nil {
					t.Errorf("%+v: %v", f, err)
				}
				armed.Release()
			} else {
				select {
				case err := <-answered:
					t.Errorf("%+v: while it was held, the client got %v", f, err)
				default:
				}
				armed.Release()
				if err := wait(t, "the answer", answered); err != nil {
					t.Errorf("%+v: %v", f, err)
				}
			}
			if err := l.note(conn.Conn, "2"); err != nil || !l.stored("1") || !l.stored("2") {
				t.Errorf("%+v: after the release: %v", f, err)
			}
		}
	}
}

// Ensure that a stall of both directions holds what comes from the other side too, and one of a single direction does
// not.
func TestStallOfOneDirection(t *testing.T) {
	for _, oneWay := range []bool{false, true} {
		l := newLab(t)
		conn := l.connect()
		armed := l.proxy.Arm(faultproxy.Fault{Message: 1, Action: faultproxy.Stall, OneWay: oneWay})
		answered := begin(func() error { return l.note(conn.Conn, "1") })
		wait(t, "the fault", armed.Fired())
		l.exec(l.observer, "SELECT pg_terminate_backend($1)", conn.proxied.PID())
		l.serverEnds(conn.proxied.PID())
		if !oneWay {
			select {
			case err := <-answered:
				t.Errorf("while both directions were held, the client got %v", err)
			default:
			}
			armed.Release()
		}
		if err := wait(t, "the server's farewell", answered); sqlState(err) != "57P01" {
			t.Errorf("one way %v: got %v, want the server's farewell", oneWay, err)
		}
		armed.Release()
		wait(t, "the end of the connection", conn.proxied.Done())
	}
}

// Ensure that a stall can be ended by a cut, and that what it held never comes.
func TestStallThatIsCut(t *testing.T) {
	l := newLab(t)
	conn := l.connect()
	armed := l.proxy.Arm(faultproxy.Fault{Message: 1, Action: faultproxy.Stall})
	answered := begin(func() error { return l.note(conn.Conn, "1") })
	wait(t, "the fault", armed.Fired())
	conn.proxied.Cut()
	if err := wait(t, "the client's end", answered); err == nil {
		t.Error("the client got an answer")
	}
	armed.Release()
	wait(t, "the server's end", conn.proxied.ServerGone())
	if l.stored("1") {
		t.Error("the note is stored")
	}
}

// Ensure that two faults at one message happen in the order of their places.
func TestTwoFaultsAtOneMessage(t *testing.T) {
	l := newLab(t)
	conn := l.connect()
	cut := l.proxy.Arm(faultproxy.Fault{Message: 1, At: faultproxy.After})
	stall := l.proxy.Arm(faultproxy.Fault{Message: 1, At: faultproxy.Inside, Offset: 4, Action: faultproxy.Stall})
	answered := begin(func() error { return l.note(conn.Conn, "1") })
	wait(t, "the stall", stall.Fired())
	if m := stall.Message(); m.Forwarded != 4 {
		t.Errorf("%d bytes were forwarded before the stall, want 4", m.Forwarded)
	}
	select {
	case <-cut.Fired():
		t.Error("the cut did not wait for the stall")
	default:
	}
	stall.Release()
	wait(t, "the cut", cut.Fired())
	if err := wait(t, "the client's end", answered); err == nil {
		t.Error("the client got an answer")
	}
	wait(t, "the server's end", conn.proxied.ServerGone())
	if !l.stored("1") {
		t.Error("the note is not stored")
	}
}

// Ensure that each message of a delayed direction is held for that long, and none of the other one or afterwards.
func TestDelay(t *testing.T) {
	const each = 20 * time.Millisecond
	l := newLab(t)
	conn := l.connect()
	for _, d := range []faultproxy.Direction{faultproxy.Frontend, faultproxy.Backend} {
		l.proxy.Delay(d, each)
		start := time.Now()
		if err := l.note(conn.Conn, d.String()); err != nil {
			t.Fatal(err)
		}
		messages := map[faultproxy.Direction]time.Duration{faultproxy.Frontend: 1, faultproxy.Backend: 2}[d] // of one note
		if took := time.Since(start); took < messages*each {
			t.Errorf("%v: a note took %v, want no less than %v", d, took, messages*each)
		}
		l.proxy.Delay(d, 0)
	}
	l.proxy.Delay(faultproxy.Backend, time.Hour)
	answered := begin(func() error { return l.note(conn.Conn, "never") })
	l.eventually("the note is stored", func() bool { return l.stored("never") })
	conn.proxied.Cut()
	if err := wait(t, "the client's end", answered); err == nil {
		t.Error("a cut did not end the delay")
	}
}
