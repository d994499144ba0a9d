package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/service/httpapi/hangup"
)

// wire is a connection on which a test speaks HTTP by itself.
type wire struct {
	*net.TCPConn
	t *testing.T
}

// dial makes one to the caller's server.
func (k *key) dial() wire {
	k.t.Helper()
	conn := must(net.Dial("tcp", strings.TrimPrefix(k.url, "http://")))
	k.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(hang))
	return wire{conn.(*net.TCPConn), k.t}
}

// request gives a call as it is written on a line.
func (k *key) request(version, call string, f ...fields) string {
	body := must(json.Marshal(merged(append([]fields{k.name}, f...)...)))
	return fmt.Sprintf("POST /v1/keys/%s %s\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nX-Request-Id: its-own\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		call, version, k.token, len(body), body)
}

func (l wire) write(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l, text); err != nil {
		l.t.Fatal(err)
	}
}

// waitsOn sends a call that waits, with what else the caller sends behind it, and comes back when it is waiting.
func (s *server) waitsOn(l wire, k *key, version, behind string) {
	l.t.Helper()
	before := s.api.Service.Waiters()
	l.write(k.request(version, "reserve", fields{"fingerprint": mine}, attempt(2), patient) + behind)
	s.until(l.t, "it waits", func() bool { return s.api.Service.Waiters() > before })
}

// wantLast reads one answer, after which the connection is at its end, with nothing lost.
func (l wire) wantLast(status int) (*http.Response, string) {
	l.t.Helper()
	from := bufio.NewReader(l)
	answer, err := http.ReadResponse(from, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	body := string(must(io.ReadAll(answer.Body)))
	if answer.StatusCode != status {
		l.t.Fatalf("answered %d, want %d: %s", answer.StatusCode, status, body)
	}
	if rest, err := io.ReadAll(from); len(rest) > 0 || err != nil {
		l.t.Errorf("after the answer came %q and %v, want the end", rest, err)
	}
	return answer, body
}

// wantNoReset hangs up after an answer. A connection that the server closes with something unread is reset, and systems
// other than Linux then throw away an answer that was not read yet.
func (l wire) wantNoReset(s *server) {
	l.t.Helper()
	if !hangup.Possible() {
		return // net/http closes the connection, in its own way
	}
	if err := errors.Join(l.CloseWrite(), s.api.AwaitParked(l.t.Context())); err != nil {
		l.t.Fatal(err)
	}
	var failure int
	err := must(l.SyscallConn()).Control(func(fd uintptr) {
		failure = must(syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR))
	})
	if err != nil || failure != 0 {
		l.t.Errorf("the connection ended with %v (%v)", syscall.Errno(failure), err)
	}
}

// Ensure that the answer to a call that waited is as any other, by either version of HTTP/1, and says that it ends its
// connection.
func TestAnswerAfterAWaitIsTheLast(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		for version, ours := range map[string]string{"HTTP/1.1": "HTTP/1.1", "HTTP/1.0": "HTTP/1.0", "HTTP/1.7": "HTTP/1.1"} {
			k := s.as(t, "acme").key(version)
			live(k)
			l := k.dial()
			s.waitsOn(l, k, version, "")
			k.complete(fields{"response": response()}).want(200, "completed")
			answer, body := l.wantLast(200)
			want := map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
				"X-Request-Id": "its-own", "Reprise-Version": "unknown", "Content-Length": fmt.Sprint(len(body))}
			for name, value := range want {
				if got := answer.Header.Get(name); got != value {
					t.Errorf("%s: %s is %q, want %q", version, name, got, value)
				}
			}
			if date, err := http.ParseTime(answer.Header.Get("Date")); err != nil || time.Since(date).Abs() > time.Minute {
				t.Errorf("%s: Date is %q", version, answer.Header.Get("Date"))
			}
			if answer.Proto != ours || !answer.Close {
				t.Errorf("answered by %s, and it ends the connection: %v", answer.Proto, answer.Close)
			}
		}
	})
}

// Ensure that a refusal after a wait is as any other.
func TestRefusalAfterAWait(t *testing.T) {
	beforeAnyStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		l := k.dial()
		l.write(k.request("HTTP/1.1", "reserve", fields{"fingerprint": mine, "wait": "50ms"}, attempt(2)))
		answer, body := l.wantLast(409)
		if got := answer.Header.Get("Content-Type"); got != "application/problem+json" || answer.Header.Get("Retry-After") != "2" {
			t.Errorf("answered with %q, Retry-After %q: %s", got, answer.Header.Get("Retry-After"), body)
		}
	})
}

// Ensure that what a caller sends behind a call that waits is not answered, as the end of the connection tells it, and
// takes nothing from the answer.
func TestSentBehindAWait(t *testing.T) {
	beforeAnyStore(t, func(t *testing.T, s *server) {
		for _, n := range []int{1, 1000} {
			k := s.as(t, "acme").key(fmt.Sprint(n))
			live(k)
			l := k.dial()
			s.waitsOn(l, k, "HTTP/1.1", strings.Repeat(k.request("HTTP/1.1", "release", fields{"lease_token": k.lease}), n))
			k.complete().want(200, "completed")
			l.wantLast(200)
			l.wantNoReset(s)
			k.lookup().want(200, "completed")
		}
	})
}

// Ensure that a caller who hangs up while it waits is noticed however it does it, and whatever it has sent before.
func TestEveryHangUpIsNoticed(t *testing.T) {
	if !hangup.Possible() {
		t.Skip("not on this system")
	}
	ways := map[string]func(l wire) error{
		"closes":                  func(l wire) error { return l.Close() },
		"closes its sending half": func(l wire) error { return l.CloseWrite() },
		"resets":                  func(l wire) error { return errors.Join(l.SetLinger(0), l.Close()) },
	}
	eachStore(t, func(t *testing.T, s *server) {
		for way, hangUp := range ways {
			for _, behind := range []int{0, 1, 10_000} {
				k := s.as(t, "acme").key(fmt.Sprint(way, behind))
				live(k)
				l := k.dial()
				s.waitsOn(l, k, "HTTP/1.1", strings.Repeat("x", behind))
				if err := hangUp(l); err != nil {
					t.Fatal(err)
				}
				s.until(t, "the place is free: it "+way, func() bool { return s.api.Service.Waiters() == 0 })
				giveBack(k)
				k.lookup().want(200, "released")
			}
		}
	})
}

// Ensure that a call that waits keeps nothing of the HTTP server's, which goes down without it; and that whoever goes down
// can wait until it is answered.
func TestParkedCallsAreAwaited(t *testing.T) {
	if !hangup.Possible() {
		t.Skip("not on this system")
	}
	beforeAnyStore(t, func(t *testing.T, s *server) {
		server := s.api.Server()
		c := s.as(t, "acme")
		c.url = s.listen(t, server).url()
		k := c.key("k")
		live(k)
		l := k.dial()
		s.waitsOn(l, k, "HTTP/1.1", "")
		if err := server.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := s.api.AwaitParked(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("nobody was awaited: %v", err)
		}
		s.api.Drain()
		l.wantLast(409)
		_ = l.Close()
		if err := s.api.AwaitParked(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// Ensure that a call is awaited from before the HTTP server forgets its connection: else a service that goes down then would
// cut it off.
func TestParkedCallsAreKnownBeforeTheServerForgetsThem(t *testing.T) {
	if !hangup.Possible() {
		t.Skip("not on this system")
	}
	beforeAnyStore(t, func(t *testing.T, s *server) {
		server := s.api.Server()
		known := make(chan bool, 1)
		server.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateHijacked {
				soon, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
				defer cancel()
				known <- s.api.AwaitParked(soon) != nil
			}
		}
		c := s.as(t, "acme")
		c.url = s.listen(t, server).url()
		k := c.key("k")
		live(k)
		l := k.dial()
		s.waitsOn(l, k, "HTTP/1.1", "")
		if !<-known {
			t.Error("nobody knew of the call")
		}
	})
}

// Ensure that a caller that reads slowly, and sends more meanwhile, gets all of a large answer.
func TestALargeAnswerIsReadSlowly(t *testing.T) {
	beforeAnyStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		l := k.dial()
		if err := l.SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		s.waitsOn(l, k, "HTTP/1.1", "")
		large := strings.Repeat("x", 1<<20)
		k.complete(fields{"response": fields{"body": large}}).want(200, "completed")
		time.Sleep(time.Second) // longer than it would have to hang up after a small answer
		l.write("more")
		if _, body := l.wantLast(200); !strings.Contains(body, large) {
			t.Errorf("%d bytes came", len(body))
		}
	})
}

// Ensure that a call that finds no place to wait is answered as one that did not ask for it: its connection goes on.
func TestNoPlaceToWaitKeepsTheConnection(t *testing.T) {
	beforeAnyStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		s.api.Drain()
		l := k.dial()
		from := bufio.NewReader(l)
		for range 3 {
			l.write(k.request("HTTP/1.1", "reserve", fields{"fingerprint": mine}, attempt(2), patient))
			answer, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != 409 || answer.Close {
				t.Errorf("answered %d, %v; it ends the connection: %v", answer.StatusCode, err, answer.Close)
			}
		}
	})
}
