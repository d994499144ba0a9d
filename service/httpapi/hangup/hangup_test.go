package hangup_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/service/httpapi/hangup"
)

// hang is longer than anything takes.
const hang = 30 * time.Second

// pair gives both ends of a connection.
func pair(t *testing.T) (here net.Conn, there *net.TCPConn) {
	t.Helper()
	if !hangup.Possible() {
		t.Skip("not on this system")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	other, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	here, err = listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = here.Close(), other.Close() })
	return here, other.(*net.TCPConn)
}

// watch gives a signal for each time that the other end was said to have gone.
func watch(t *testing.T, conn net.Conn) (gone chan struct{}, forget func()) {
	t.Helper()
	gone = make(chan struct{}, 10)
	forget, err := hangup.Watch(conn, func() { gone <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	return gone, forget
}

func want(t *testing.T, gone chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(hang):
		t.Fatal("nobody was told")
	}
}

var ways = map[string]func(c *net.TCPConn) error{
	"closed": (*net.TCPConn).Close,
	"half":   (*net.TCPConn).CloseWrite,
	"reset":  func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
}

// Ensure that every way to hang up is told, behind unread bytes too, and whether it happens before or after the watch
// begins.
func TestHangUpIsTold(t *testing.T) {
	for id, hangUp := range ways {
		for _, before := range []bool{true, false} {
			t.Run(id, func(t *testing.T) {
				here, there := pair(t)
				if _, err := there.Write(make([]byte, 10_000)); err != nil {
					t.Fatal(err)
				}
				if before {
					if err := hangUp(there); err != nil {
						t.Fatal(err)
					}
				}
				gone, _ := watch(t, here)
				if !before {
					if err := hangUp(there); err != nil {
						t.Fatal(err)
					}
				}
				want(t, gone)
			})
		}
	}
}

// Ensure that a connection is told of once, that neither what is sent on it nor its own end is a hang-up, and that one that
// is forgotten is told of no more, while all others are.
func TestOnlyHangUpsAreTold(t *testing.T) {
	sends, sender := pair(t)
	forgotten, leaves := pair(t)
	closed, _ := pair(t)
	last, leavesLast := pair(t)
	sent, _ := watch(t, sends)
	none, forget := watch(t, forgotten)
	own, forgetOwn := watch(t, closed)
	all, _ := watch(t, last)
	forget()
	forgetOwn()
	if _, err := sender.Write([]byte("more")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(leaves.Close(), closed.Close(), leavesLast.CloseWrite()); err != nil {
		t.Fatal(err)
	}
	want(t, all) // whatever happened before it has been looked at
	if err := leavesLast.Close(); err != nil {
		t.Fatal(err)
	}
	_, next := pair(t)
	_ = next.Close()
	if len(sent)+len(none)+len(own)+len(all) > 0 {
		t.Errorf("told: %d who sent, %d forgotten, %d closed here, %d twice", len(sent), len(none), len(own), len(all))
	}
}

// Ensure that what has no socket, or a closed one, gives an error and not a watch that never tells.
func TestWhatCannotBeWatched(t *testing.T) {
	if pipe, _ := net.Pipe(); hangup.Possible() {
		if _, err := hangup.Watch(pipe, func() {}); err == nil {
			t.Error("a pipe is watched")
		}
	}
	here, _ := pair(t)
	_ = here.Close()
	if _, err := hangup.Watch(here, func() { t.Error("told") }); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed connection gives %v", err)
	}
}
