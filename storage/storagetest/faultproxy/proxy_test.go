package faultproxy_test

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage/storagetest/faultproxy"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// Ensure that the counters say what happened.
func TestCounters(t *testing.T) {
	l := newLab(t)
	conn, other := l.connect(), l.connect()
	before := l.proxy.Counters()
	if err := l.note(conn.Conn, "1"); err != nil {
		t.Fatal(err)
	}
	armed := l.proxy.Arm(faultproxy.Fault{Message: 1, At: faultproxy.Before})
	_ = l.note(conn.Conn, "2")
	wait(t, "the fault", armed.Fired())
	got := l.proxy.Counters()
	query := int64(len("Q....INSERT INTO notes VALUES ('1').")) // with the length and the final zero
	answer := int64(len("C....INSERT 0 1.") + len("Z....I"))
	want := before
	want.Fired = 1
	for d, bytes := range []int64{faultproxy.Frontend: query, faultproxy.Backend: answer} {
		want.Messages[d] += 2
		want.Bytes[d] += bytes
	}
	if got != want || got.Accepted != 2 || got.Refused != 0 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if open := l.proxy.Conns(); len(open) != 1 || open[0] != other.proxied {
		t.Errorf("got %d open connections, want the other one alone", len(open))
	}
	l.proxy.Forget()
	if trace := l.proxy.Trace(); len(trace) > 0 || l.proxy.Counters().Messages != got.Messages {
		t.Errorf("after Forget: got %v, %+v", trace, l.proxy.Counters())
	}
}

// Ensure that connections leave the list when both sides have closed them, and that their own end passes unchanged.
func TestConnectionsThatEndByThemselves(t *testing.T) {
	l := newLab(t)
	ended, killed := l.connect(), l.connect()
	if err := ended.Close(l.ctx()); err != nil {
		t.Errorf("closing: %v", err)
	}
	wait(t, "the server's end", ended.proxied.ServerGone())
	wait(t, "the end of the connection", ended.proxied.Done())
	l.exec(l.observer, "SELECT pg_terminate_backend($1)", killed.proxied.PID())
	wait(t, "the server's end", killed.proxied.ServerGone())
	if err := l.note(killed.Conn, "1"); sqlState(err) != "57P01" {
		t.Errorf("got %v, want the server's farewell", err)
	}
	wait(t, "the end of the connection", killed.proxied.Done())
	if open := l.proxy.Conns(); len(open) > 0 {
		t.Errorf("%d connections are open, want none", len(open))
	}
	var abnormal bool
	if err := l.observer.QueryRow(l.ctx(), "SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = ANY ($1)",
		[]int{ended.proxied.PID(), killed.proxied.PID()}).Scan(&abnormal); err != nil || abnormal {
		t.Errorf("a process is left: %v, %v", abnormal, err)
	}
}

// Ensure that a client is reset when the server cannot be reached, and served when it can be again.
func TestServerThatIsAway(t *testing.T) {
	server := pgtest.NewServer(t)
	l := &lab{t: t, database: server.URL("postgres")}
	var err error
	if l.proxy, err = faultproxy.New(l.database); err != nil {
		t.Fatal(err)
	}
	defer l.proxy.Close()
	if l.url, err = l.proxy.URL(l.database); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	if conn, err := pgx.Connect(l.ctx(), l.url); err == nil {
		conn.Close(l.ctx())
		t.Error("connected to a server that is stopped")
	}
	if got := l.proxy.Counters(); got.Refused == 0 || got.Accepted != 0 {
		t.Errorf("got %+v; want refusals only", got)
	}
	server.Start()
	l.connect()
}

// Ensure that Close ends every connection, whatever it is at, and leaves no goroutine.
func TestCloseLeavesNothing(t *testing.T) {
	l := newLab(t)
	var waiting []<-chan error
	stall, cut, backend := faultproxy.Stall, faultproxy.Cut, faultproxy.Backend
	for _, f := range []faultproxy.Fault{{}, {Action: stall}, {Action: stall, OneWay: true}, {Action: cut, OneWay: true},
		{Action: cut, OneWay: true, Direction: backend}, {Action: cut, At: faultproxy.After}} {
		conn := l.connect()
		if f != (faultproxy.Fault{}) {
			f.Message = 1
			armed := l.proxy.Arm(f)
			waiting = append(waiting, begin(func() error { return l.note(conn.Conn, "x") }))
			wait(t, "the fault", armed.Fired())
		}
	}
	mute := l.raw() // has not said anything yet
	l.eventually("all are there", func() bool { return l.proxy.Counters().Accepted == 7 })
	if len(goroutines()) == 0 {
		t.Fatal("no goroutine runs: nothing to look at")
	}
	if err := l.proxy.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if left := goroutines(); len(left) > 0 {
		t.Errorf("goroutines are left:\n%s", strings.Join(left, "\n\n"))
	}
	for _, w := range waiting {
		if err := wait(t, "a client's end", w); err == nil {
			t.Error("a client got an answer")
		}
	}
	if _, err := mute.Read(make([]byte, 1)); err == nil {
		t.Error("a client that had not said anything is still connected")
	}
	if conn, err := net.Dial("tcp", l.proxy.Addr()); err == nil {
		conn.Close()
		t.Error("the port still listens")
	}
	if err := l.proxy.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Errorf("closing twice: %v", err)
	}
}

// goroutines gives the stacks of those that run in the package, tests apart.
func goroutines() (found []string) {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		if strings.Contains(stack, "/faultproxy.(*") {
			found = append(found, stack)
		}
	}
	return found
}

// Ensure that a fault that cannot be meant is refused at once, and not waited for in vain.
func TestSenselessFaults(t *testing.T) {
	l := newLab(t)
	inside := faultproxy.Inside
	for _, f := range []faultproxy.Fault{{}, {Message: -1}, {Message: 1, At: inside}, {Message: 1, At: inside, Offset: -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was armed", f)
				}
			}()
			l.proxy.Arm(f)
		}()
	}
}
