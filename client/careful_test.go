package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-idempotency/reprise/client"
	"github.com/reprise-idempotency/reprise/client/clienttest"
)

// late is a transport whose answers to reserve come late.
type late struct {
	http.RoundTripper
	by   time.Duration
	then func()
}

func (l late) RoundTrip(r *http.Request) (*http.Response, error) {
	got, err := l.RoundTripper.RoundTrip(r)
	if strings.HasSuffix(r.URL.Path, "reserve") {
		time.Sleep(l.by)
		if l.then != nil {
			l.then()
		}
	}
	return got, err
}

// Ensure that work begins under a lease of which at least half is left, however late its answer came; a lease that another has
// taken meanwhile is no grant.
func TestWorkBeginsUnderALiveLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clienttest.New()
		c := talkTo(t, late{fake, 3 * time.Second, nil}, client.Token(clienttest.Token("test")))
		o := op("k")
		o.Lease = time.Second
		got, err := client.Do(t.Context(), c, o, func(ctx context.Context, l *client.Lease) (int, error) {
			if left := time.Until(l.Until()); ctx.Err() != nil || left < time.Second/2 {
				t.Errorf("it began with %v left, %v", left, ctx.Err())
			}
			return 1, nil
		})
		if got != 1 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}

		rival := fake.Client(t)
		taken := false
		c = talkTo(t, late{fake, 3 * time.Second, func() {
			if !taken {
				taken = true
				r, err := rival.Reserve(context.Background(), client.ReserveRequest{Name: client.Name{Operation: "charge", Subject: "customer-1", Key: "other"}, Fingerprint: "f"})
				if err != nil || !r.Grant.Takeover {
					t.Errorf("the rival got %v, %v", r, err)
				}
			}
		}}, client.Token(clienttest.Token("test")))
		o.Key, o.Input, o.Fingerprint, o.Wait = "other", nil, "f", client.NoWait
		if _, err := client.Do(t.Context(), c, o, new(charges).charge); !errors.Is(err, client.ErrInProgress) {
			t.Errorf("beside the rival: %v", err)
		}
	})
}

// Ensure that work does not begin when its caller went while it was reserved, and that the key is given back.
func TestWorkDoesNotBeginTooLate(t *testing.T) {
	fake := clienttest.New()
	ctx, cancel := context.WithCancel(t.Context())
	c := talkTo(t, late{fake, 0, cancel}, client.Token(clienttest.Token("test")))
	o := op("k")
	o.OnLapse = client.HoldOnLapse
	var p charges
	_, err := client.Do(ctx, c, o, p.charge)
	if r, _ := fake.Record(charge); !errors.Is(err, context.Canceled) || p.n.Load() != 0 || r.State != client.StateReleased {
		t.Errorf("got %v after %d charges; the key is %s", err, p.n.Load(), r.State)
	}
}

// Ensure that a mark speaks for its own piece of work: an inner one that was not done says nothing of the outer one.
func TestMarksStayWithTheirWork(t *testing.T) {
	fake := clienttest.New()
	c := fake.Client(t)
	outer := op("k")
	outer.OnLapse = client.HoldOnLapse
	_, err := client.Do(t.Context(), c, outer, func(ctx context.Context, _ *client.Lease) (int, error) {
		_, err := client.Do(ctx, c, op("inner"), func(context.Context, *client.Lease) (int, error) { return 0, client.NotDone(errProvider) })
		return 0, fmt.Errorf("sending the mail: %w", err)
	})
	if r, _ := fake.Record(charge); !errors.Is(err, errProvider) || r.State != client.StateInProgress {
		t.Errorf("got %v; the outer key is %s", err, r.State)
	}
}

// Ensure that of marks that are joined the more careful one counts, whatever their order, and that one around others overrules them.
func TestMarksTogether(t *testing.T) {
	for name, test := range map[string]struct {
		errs [2]error
		want client.State
	}{
		"not done, unsure":   {[2]error{client.NotDone(errProvider), client.Unsure(errProvider)}, client.StateInProgress},
		"not done, canceled": {[2]error{client.NotDone(errProvider), context.Canceled}, client.StateInProgress},
		"not done, final":    {[2]error{client.NotDone(errProvider), client.Final(errProvider)}, client.StateFailed},
		"unsure, final":      {[2]error{client.Unsure(errProvider), client.Final(errProvider)}, client.StateFailed},
		"not done, plain":    {[2]error{client.NotDone(errProvider), errors.New("plain")}, client.StateReleased},
	} {
		for _, order := range [][2]int{{0, 1}, {1, 0}} {
			fake := clienttest.New()
			o := op("k")
			o.OnLapse = client.HoldOnLapse
			_, _ = client.Do(t.Context(), fake.Client(t), o, func(context.Context, *client.Lease) (int, error) {
				return 0, fmt.Errorf("all: %w", errors.Join(test.errs[order[0]], test.errs[order[1]]))
			})
			if r, _ := fake.Record(charge); r.State != test.want {
				t.Errorf("%s: the key is %s, want %s", name, r.State, test.want)
			}
			fake = clienttest.New()
			_, _ = client.Do(t.Context(), fake.Client(t), o, func(context.Context, *client.Lease) (int, error) {
				return 0, client.NotDone(errors.Join(test.errs[order[0]], test.errs[order[1]]))
			})
			if r, _ := fake.Record(charge); r.State != client.StateReleased {
				t.Errorf("%s, overruled: the key is %s", name, r.State)
			}
		}
	}
}

// Ensure that a point of no return that one goroutine did not reach says nothing when another one did.
func TestPointOfNoReturnOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clienttest.New()
		_, err := working(t, fake.Client(t), func(ctx context.Context, l *client.Lease) error {
			short, cancel := context.WithCancel(ctx)
			cancel()
			missed := l.PointOfNoReturn(short)
			if missed == nil {
				t.Error("it was reached")
			}
			if err := l.PointOfNoReturn(ctx); err != nil {
				t.Error(err)
			}
			return missed
		})
		if r, _ := fake.Record(charge); err == nil || r.State != client.StateInProgress || r.OnLapse != client.HoldOnLapse {
			t.Errorf("got %v; the key is %s under %s", err, r.State, r.OnLapse)
		}
	})
}

// Ensure that a success which is not the service's own settles nothing: the call is repeated until its record is there.
func TestForeignSuccess(t *testing.T) {
	good := answer{status: 200, body: `{"record":{"operation":"charge","subject":"customer-1","key":"k","state":"completed"}}`}
	for _, foreign := range []answer{
		{status: 200, body: `{}`}, {status: 200, body: `null`}, {status: 200, body: `{"status":"ok"}`}, {status: 200, body: strings.Replace(good.body, `"k"`, `"other"`, 1)},
		{status: 200, body: strings.Replace(good.body, "completed", "in_progress", 1)},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{given: []answer{foreign, good}}
			r, err := talkTo(t, a).Complete(t.Context(), client.CompleteRequest{Name: charge, Token: "t"})
			if err != nil || r.State != client.StateCompleted || a.n.Load() != 2 {
				t.Errorf("%s: got %v, %v after %d requests", foreign.body, r, err, a.n.Load())
			}
			_, err = talkTo(t, &answers{given: []answer{foreign}}, client.MaxRetries(0)).Complete(t.Context(), client.CompleteRequest{Name: charge, Token: "t"})
			if !errors.Is(err, client.ErrOutcomeUnknown) {
				t.Errorf("%s: alone it is %v", foreign.body, err)
			}
		})
	}
	for _, nothing := range []string{`{"outcome":"replay"}`, `{"outcome":"replay","record":{"operation":"charge","subject":"customer-1","key":"k","state":"in_progress"}}`,
		strings.Replace(acquired, "30000", "0", 1), strings.Replace(acquired, "30000", "-5", 1)} {
		_, err := talkTo(t, &answers{given: []answer{{status: 200, body: nothing}}}, client.MaxRetries(0)).Reserve(t.Context(), client.ReserveRequest{Name: charge, Fingerprint: "f"})
		if !errors.Is(err, client.ErrUnexpectedAnswer) {
			t.Errorf("%s is %v", nothing, err)
		}
	}
}

// Ensure that what the service cannot take of a result does not keep it from knowing that it was done, and that no more is left
// out than must be.
func TestLessIsRecordedRatherThanNothing(t *testing.T) {
	for name, test := range map[string]struct {
		give     client.Settlement
		status   int
		resource string
	}{
		"a body over the request":   {client.Settlement{ResourceID: "ch_1", Response: &client.Response{Status: 201, Body: make([]byte, 5<<20)}}, 201, "ch_1"},
		"a resource id of no UTF-8": {client.Settlement{ResourceID: "ch_\xff", Response: &client.Response{Status: 201}}, 0, ""},
		"a status of none":          {client.Settlement{Response: &client.Response{Status: 99}}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			fake := clienttest.New()
			o := client.Op{Operation: "charge", Subject: "customer-1", Key: "k", Fingerprint: "f"}
			_, err := fake.Client(t).Run(t.Context(), o, func(context.Context, *client.Lease) (*client.Settlement, error) { return &test.give, nil })
			r, _ := fake.Record(charge)
			status := 0
			if r.Response != nil {
				status = r.Response.Status
			}
			if err != nil || r.State != client.StateCompleted || !r.ResponseDropped || r.ResourceID != test.resource || status != test.status {
				t.Errorf("got %v; the key is %s, dropped %v, resource %q, status %d", err, r.State, r.ResponseDropped, r.ResourceID, status)
			}
		})
	}
	fake := clienttest.New()
	html := strings.Repeat("<&>", 300<<10)
	for range 2 {
		if got, err := client.Do(t.Context(), fake.Client(t), op("k"), func(context.Context, *client.Lease) (string, error) { return html, nil }); got != html && err == nil {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	}
}

// Ensure that a refusal which says nothing of the key does not hide that an earlier request may have been stored; one that was decided
// by the key does.
func TestAnUnknownOutcomeIsNotForgotten(t *testing.T) {
	for _, test := range []struct {
		then    answer
		kind    error
		unknown bool
	}{
		{problem(401, "unauthenticated", "fix_request", ""), client.ErrUnauthenticated, true},
		{problem(413, "payload_too_large", "fix_request", ""), client.ErrTooLarge, true},
		{answer{status: 404, body: "<html>"}, client.ErrUnexpectedAnswer, true},
		{problem(422, "fingerprint_mismatch", "new_key", ""), client.ErrFingerprintMismatch, false},
		{problem(409, "lease_lost", "reserve_again", ""), client.ErrLeaseLost, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{given: []answer{problem(503, "outcome_unknown", "repeat_call", ""), test.then}}
			c := talkTo(t, a, client.Tenant("test"), client.OnOutage(client.FailOpen))
			_, err := c.Reserve(t.Context(), client.ReserveRequest{Name: charge, Fingerprint: "f"})
			if !errors.Is(err, test.kind) || errors.Is(err, client.ErrOutcomeUnknown) != test.unknown {
				t.Errorf("got %v; unknown: %v", err, errors.Is(err, client.ErrOutcomeUnknown))
			}
			a.n.Store(0)
			var p charges
			if _, err := client.Do(t.Context(), c, op("k"), p.charge); err == nil || p.n.Load() != 0 {
				t.Errorf("a refusal was taken for an outage: %v", err)
			}
		})
	}
}

// Ensure that a change of protocol ends a call at once, rather than never.
func TestSwitchingProtocols(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }() // at the end of the test: it stays open until then
			go func() {
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
				}
			}()
		}
	}()
	c, err := client.New("http://"+listener.Addr().String(), client.Token("t"), client.MaxRetries(0), client.AttemptTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reserve(t.Context(), client.ReserveRequest{Name: charge, Fingerprint: "f"}); !errors.Is(err, client.ErrUnexpectedAnswer) {
		t.Errorf("got %v", err)
	}
}

// Ensure that nothing goes out under a lease when its work has come back, and that completing does not wait for a goroutine that it left.
func TestNothingGoesOutAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clienttest.New()
		b := watch(fake, func(call string) clienttest.Fault {
			if call == "heartbeat" {
				return clienttest.Outage
			}
			return clienttest.NoFault
		})
		var lease *client.Lease
		left := make(chan error)
		begun := time.Now()
		c := fake.Client(t)
		_, err := working(t, c, func(_ context.Context, l *client.Lease) error {
			lease = l
			go func() { left <- l.Checkpoint(context.Background(), "page 1") }()
			time.Sleep(time.Second)
			return nil
		})
		if took := time.Since(begun); err != nil || took > 2*time.Second {
			t.Errorf("got %v after %v", err, took)
		}
		if err := <-left; !errors.Is(err, client.ErrLeaseLost) {
			t.Errorf("the goroutine got %v", err)
		}
		before := b.count("heartbeat")
		if err := lease.Checkpoint(context.Background(), "page 2"); !errors.Is(err, client.ErrLeaseLost) || b.count("heartbeat") != before || c.Stats().LeasesLost != 0 {
			t.Errorf("after the end: %v, %d requests more, %d leases lost", err, b.count("heartbeat")-before, c.Stats().LeasesLost)
		}
	})
}

// Ensure that whatever pause is asked for, completing has time for another request.
func TestALongRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clienttest.New()
		first := true
		c := talkTo(t, slow{fake, func(r *http.Request) (*http.Response, bool) {
			if first && strings.HasSuffix(r.URL.Path, "complete") {
				first = false
				a := &answers{given: []answer{{status: 503, header: map[string]string{"Retry-After": "120"}}}}
				got, _ := a.RoundTrip(r)
				return got, true
			}
			return nil, false
		}}, client.Token(clienttest.Token("test")))
		if _, err := working(t, c, func(context.Context, *client.Lease) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

// slow is a transport that answers some requests itself.
type slow struct {
	http.RoundTripper
	own func(*http.Request) (*http.Response, bool)
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if got, ok := s.own(r); ok {
		return got, nil
	}
	return s.RoundTripper.RoundTrip(r)
}

// Ensure that a service which never grants is not asked for ever, and not without a pause.
func TestAcquiringIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := &answers{given: []answer{problem(409, "lease_lost", "reserve_again", "")}}
		if _, err := client.Do(t.Context(), talkTo(t, lost), op("k"), new(charges).charge); !errors.Is(err, client.ErrLeaseLost) || lost.n.Load() > 5 {
			t.Errorf("got %v after %d requests", err, lost.n.Load())
		}
		busy := &answers{given: []answer{problem(409, "in_progress", "reserve_again", `,"retry_after_ms":2000`)}}
		o := op("k")
		o.Wait = 20 * time.Second
		if _, err := client.Do(t.Context(), talkTo(t, busy, client.LongPoll(time.Millisecond)), o, new(charges).charge); !errors.Is(err, client.ErrInProgress) || busy.n.Load() > 12 {
			t.Errorf("got %v after %d requests", err, busy.n.Load())
		}
	})
}

// Ensure that whoever gets no more than that a context ended is told that it ended with the lease.
func TestLostLeaseIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clienttest.New()
		_, err := working(t, fake.Client(t), func(ctx context.Context, _ *client.Lease) error {
			fake.Break(func(string, int) clienttest.Fault { return clienttest.LoseRequest })
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, client.ErrLeaseLost) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
