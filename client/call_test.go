package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-idempotency/reprise/client"
	"github.com/reprise-idempotency/reprise/client/clienttest"
)

// answers is a transport that gives one answer after the other, the last one again and again.
type answers struct {
	given []answer
	n     atomic.Int64
}

type answer struct {
	status int
	header map[string]string
	body   string
	err    error
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	httptrace.ContextClientTrace(r.Context()).GetConn("reprise.test") // and got none, or so it seems
	one := a.given[min(int(a.n.Add(1)), len(a.given))-1]
	if one.err != nil {
		return nil, one.err
	}
	w := httptest.NewRecorder()
	for name, value := range one.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(one.status)
	_, _ = io.WriteString(w, one.body)
	return w.Result(), nil
}

func problem(status int, code, advice, more string) answer {
	return answer{status: status, header: map[string]string{"Content-Type": "application/problem+json", "X-Request-Id": "its-own"},
		body: fmt.Sprintf(`{"status":%d,"code":%q,"advice":%q,"detail":"why","request_id":"its-own"%s}`, status, code, advice, more)}
}

func talkTo(t *testing.T, transport http.RoundTripper, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New("http://reprise.test", append([]client.Option{
		client.HTTPClient(&http.Client{Transport: transport}), client.Token("t")}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const acquired = `{"outcome":"acquired","record":{"tenant":"test","operation":"charge","subject":"customer-1","key":"k"},"lease":{"token":"abc","fence":1,"attempt":1,"remaining_ms":30000}}`

// Ensure which answers a call is repeated after, and what each is for errors.Is.
func TestWhatIsRepeated(t *testing.T) {
	for name, test := range map[string]struct {
		first    answer
		want     error
		repeated bool
	}{
		"in progress":       {problem(409, "in_progress", "reserve_again", `,"retry_after_ms":1500`), client.ErrInProgress, false},
		"mismatch":          {problem(422, "fingerprint_mismatch", "new_key", ""), client.ErrFingerprintMismatch, false},
		"lease lost":        {problem(409, "lease_lost", "reserve_again", ""), client.ErrLeaseLost, false},
		"uncertain":         {problem(409, "uncertain", "operator", ""), client.ErrUncertain, false},
		"no response":       {problem(409, "response_unavailable", "none", ""), client.ErrResponseUnavailable, false},
		"bad request":       {problem(400, "invalid_request", "fix_request", ""), client.ErrInvalidRequest, false},
		"no token":          {problem(401, "unauthenticated", "fix_request", ""), client.ErrUnauthenticated, false},
		"no scope":          {problem(403, "forbidden", "fix_request", ""), client.ErrForbidden, false},
		"too large":         {problem(413, "payload_too_large", "fix_request", ""), client.ErrTooLarge, false},
		"no such call":      {problem(404, "no_such_call", "fix_request", ""), client.ErrUnexpectedAnswer, false},
		"rate":              {problem(429, "rate_limited", "repeat_call", ""), client.ErrRateLimited, true},
		"outage":            {problem(503, "store_unavailable", "repeat_call", ""), client.ErrUnavailable, true},
		"unknown":           {problem(503, "outcome_unknown", "repeat_call", ""), client.ErrOutcomeUnknown, true},
		"fault":             {problem(500, "internal", "repeat_call", ""), client.ErrOutcomeUnknown, true},
		"a newer refusal":   {problem(409, "something_new", "none", ""), client.ErrUnexpectedAnswer, false},
		"a newer outage":    {problem(503, "something_new", "repeat_call", ""), client.ErrOutcomeUnknown, true},
		"HTML 502":          {answer{status: 502, body: "<html>bad gateway</html>"}, client.ErrOutcomeUnknown, true},
		"HTML 404":          {answer{status: 404, body: "<html>not found</html>"}, client.ErrUnexpectedAnswer, false},
		"HTML 200":          {answer{status: 200, body: "<html>welcome</html>"}, client.ErrOutcomeUnknown, true},
		"a redirect":        {answer{status: 307, header: map[string]string{"Location": "http://elsewhere.test"}}, client.ErrUnexpectedAnswer, false},
		"half an answer":    {answer{status: 201, body: acquired[:40]}, client.ErrOutcomeUnknown, true},
		"no network":        {answer{err: errors.New("no route to host")}, client.ErrUnavailable, true},
		"an unknown grant":  {answer{status: 200, body: `{"outcome":"granted","record":{},"lease":{"token":"abc"}}`}, client.ErrUnexpectedAnswer, false},
		"no lease":          {answer{status: 200, body: `{"outcome":"acquired","record":{}}`}, client.ErrUnexpectedAnswer, false},
		"nothing":           {answer{status: 200, body: `{}`}, client.ErrUnexpectedAnswer, false},
		"null":              {answer{status: 200, body: `null`}, client.ErrUnexpectedAnswer, false},
		"a problem of none": {answer{status: 409, header: map[string]string{"Content-Type": "application/problem+json"}, body: `{}`}, client.ErrUnexpectedAnswer, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				once := &answers{given: []answer{test.first}}
				_, err := talkTo(t, once, client.MaxRetries(0)).Reserve(t.Context(), client.ReserveRequest{Name: charge, Fingerprint: "f"})
				var e *client.Error
				if !errors.Is(err, test.want) || !errors.As(err, &e) || e.Status != test.first.status || once.n.Load() != 1 {
					t.Fatalf("got %v after %d requests", err, once.n.Load())
				}
				if test.first.header["X-Request-Id"] != e.RequestID {
					t.Errorf("the request is called %q", e.RequestID)
				}
				twice := &answers{given: []answer{test.first, {status: 201, body: acquired}}}
				got, err := talkTo(t, twice).Reserve(t.Context(), client.ReserveRequest{Name: charge, Fingerprint: "f"})
				if repeated := twice.n.Load() == 2; repeated != test.repeated || repeated != (err == nil && got.Grant.Token == "abc") {
					t.Errorf("%d requests, and then %v, %v", twice.n.Load(), got, err)
				}
			})
		})
	}
}

// Ensure that retries are bounded, that their pauses grow and keep what the service asks for, and that a call which may have
// been stored once is of unknown outcome, whatever came later.
func TestRetriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{given: []answer{problem(503, "outcome_unknown", "repeat_call", `,"retry_after_ms":3000`), {err: errors.New("no route to host")}}}
		c := talkTo(t, a, client.MaxRetries(4), client.Backoff(time.Second, 4*time.Second))
		begun := time.Now()
		_, err := c.Complete(t.Context(), client.CompleteRequest{Name: charge, Token: "abc"})
		took := time.Since(begun)
		if !errors.Is(err, client.ErrOutcomeUnknown) || a.n.Load() != 5 || took < 3*time.Second+(1+2+2)*time.Second || took > 4*time.Second+(2+4+4)*time.Second {
			t.Errorf("got %v after %d requests in %v", err, a.n.Load(), took)
		}
		if s := c.Stats(); s.Requests != 5 || s.Retries != 4 {
			t.Errorf("counted %+v", s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		_, err = talkTo(t, &answers{given: a.given[:1]}).Reserve(ctx, client.ReserveRequest{Name: charge, Fingerprint: "f"})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, client.ErrOutcomeUnknown) || time.Since(begun) != time.Second {
			t.Errorf("the caller's end gave %v after %v", err, time.Since(begun))
		}
	})
}

// Ensure that a request which hangs is repeated within the caller's time, and that its own limit is not taken for the caller's.
func TestAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging := hang{after: 2, then: &answers{given: []answer{{status: 201, body: acquired}}}}
		c := talkTo(t, &hanging, client.AttemptTimeout(5*time.Second))
		begun := time.Now()
		if _, err := c.Reserve(t.Context(), client.ReserveRequest{Name: charge, Fingerprint: "f", Wait: 20 * time.Second}); err != nil || time.Since(begun) < 50*time.Second {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		hanging = hang{after: 1 << 30}
		if _, err := c.Lookup(t.Context(), client.LookupRequest{Name: charge}); !errors.Is(err, client.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrOutcomeUnknown) {
			t.Errorf("a lookup got %v", err)
		}
	})
}

// hang answers no request but those after the first ones.
type hang struct {
	after int
	then  http.RoundTripper
}

func (h *hang) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.after--; h.after < 0 {
		return h.then.RoundTrip(r)
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Ensure that one call is one request on the wire, also where a connection that was used before breaks: net/http sends some
// requests again by itself.
func TestNothingIsSentAgainByItself(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var requests atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				from := bufio.NewReader(conn)
				for n := 0; ; n++ {
					r, err := http.ReadRequest(from)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if requests.Add(1); n > 0 {
						return // without an answer
					}
					_, _ = fmt.Fprintf(conn, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(acquired), acquired)
				}
			}()
		}
	}()
	c, err := client.New("http://"+listener.Addr().String(), client.Token("t"), client.MaxRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	reserve := func() error {
		_, err := c.Reserve(t.Context(), client.ReserveRequest{Name: charge, Fingerprint: "f"})
		return err
	}
	if err := reserve(); err != nil {
		t.Fatal(err)
	}
	if err := reserve(); !errors.Is(err, client.ErrOutcomeUnknown) || requests.Load() != 2 {
		t.Errorf("got %v after %d requests, want 2", err, requests.Load())
	}
}

// Ensure that an answer over the limit is no memory, and told.
func TestLargeAnswer(t *testing.T) {
	a := &answers{given: []answer{{status: 200, body: strings.Repeat(" ", 64<<10) + acquired}}}
	c := talkTo(t, a, client.MaxAnswer(64<<10))
	if _, err := c.Reserve(t.Context(), client.ReserveRequest{Name: charge, Fingerprint: "f"}); !errors.Is(err, client.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// Ensure that the token goes to the service as it is, is read anew for each request, and that one that cannot be had is no
// outage; no error repeats it.
func TestTokens(t *testing.T) {
	fake := clienttest.New()
	n := 0
	c := fake.Client(t, client.Tokens(func(context.Context) (string, error) {
		switch n++; n {
		case 1:
			return "", errProvider
		case 2:
			return "secret\r\nX: y", nil
		}
		return clienttest.Token("test"), nil
	}))
	if _, err := c.Lookup(t.Context(), client.LookupRequest{Name: charge}); !errors.Is(err, client.ErrNotFound) || n != 3 || fake.Calls() != 1 {
		t.Errorf("got %v after %d tokens", err, n)
	}
	c = fake.Client(t, client.MaxRetries(0), client.Tokens(func(context.Context) (string, error) { return "secret\r\nX: y", nil }))
	if _, err := c.Lookup(t.Context(), client.LookupRequest{Name: charge}); !errors.Is(err, client.ErrUnauthenticated) || errors.Is(err, client.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// Ensure that a batch gives each call what it would have got alone.
func TestBatch(t *testing.T) {
	c := clienttest.New().Client(t)
	other := client.Name{Operation: "charge", Key: "other"}
	first, err := c.Batch(t.Context(), client.ReserveRequest{Name: charge, Fingerprint: "f"}, client.LookupRequest{Name: other})
	if err != nil || first[0].Err != nil || first[0].Grant == nil || !errors.Is(first[1].Err, client.ErrNotFound) {
		t.Fatalf("got %v, %v", first, err)
	}
	token := first[0].Grant.Token
	got, err := c.Batch(t.Context(),
		client.HeartbeatRequest{Name: charge, Token: token, Checkpoint: &client.Checkpoint{Seq: 1, Data: "\x00page"}},
		client.CompleteRequest{Name: charge, Token: token, Response: &client.Response{Status: 201, Body: []byte("a\x00\xffb")}},
		client.ReleaseRequest{Name: charge, Token: token},
		client.ReserveRequest{Name: charge, Fingerprint: "f"},
		client.ReserveRequest{Name: charge, Fingerprint: "g"})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Grant == nil || got[0].Record.Checkpoint.Data != "\x00page" || got[1].Record.State != client.StateCompleted ||
		got[1].Record.Response != nil || !errors.Is(got[2].Err, client.ErrAlreadyCompleted) || got[3].Grant != nil || string(got[3].Record.Response.Body) != "a\x00\xffb" ||
		!errors.Is(got[4].Err, client.ErrFingerprintMismatch) {
		t.Errorf("got %+v", got)
	}
	if _, err := c.Batch(t.Context(), client.LookupRequest{Name: client.Name{Operation: "\xff", Key: "k"}}); !errors.Is(err, client.ErrInvalidRequest) || !strings.Contains(err.Error(), "calls[0]") {
		t.Errorf("got %v", err)
	}
}

// Ensure that a mistake in an option stops the start, and is named.
func TestOptions(t *testing.T) {
	token := client.Token("t")
	for want, options := range map[string][]client.Option{
		"no token":       {},
		"Token: ":        {client.Token("")},
		"0x0D":           {client.Token("a\rb")},
		"TokenFile: ":    {client.TokenFile("/nowhere/at/all")},
		"Tokens: ":       {client.Tokens(nil)},
		"HTTPClient: ":   {token, client.HTTPClient(nil)},
		"MaxRetries: -1": {token, client.MaxRetries(-1)},
		"Backoff: first": {token, client.Backoff(0, time.Second)},
		"Backoff: most":  {token, client.Backoff(time.Second, time.Millisecond)},
		"AttemptTimeout": {token, client.AttemptTimeout(0)},
		"SettleTimeout":  {token, client.SettleTimeout(2 * time.Hour)},
		"LongPoll":       {token, client.LongPoll(21 * time.Second)},
		"MaxAnswer":      {token, client.MaxAnswer(1)},
		"OnOutage":       {token, client.OnOutage(7)},
		"needs Tenant":   {token, client.OnOutage(client.FailOpen)},
		"Tenant: ":       {token, client.Tenant("")},
		"Holder: ":       {token, client.Holder(strings.Repeat("x", 256))},
		"Logger: ":       {token, client.Logger(nil)},
	} {
		if _, err := client.New("http://reprise.test", options...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for _, address := range []string{"", "reprise.test", "ftp://reprise.test", "http://", "http://u:p@reprise.test", "http://reprise.test?x=1", "http://a b", "http://reprise.test#x"} {
		if _, err := client.New(address, token); err == nil {
			t.Errorf("the address %q is taken", address)
		}
	}
}

// Ensure that a record keeps every field on its way.
func TestRecord(t *testing.T) {
	c := clienttest.New().Client(t, client.Holder("worker-1"))
	got, err := c.Reserve(t.Context(), client.ReserveRequest{Name: charge, Fingerprint: "f", Lease: time.Minute, OnLapse: client.HoldOnLapse})
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(got.Grant.Until); left > time.Minute || left < 50*time.Second {
		t.Errorf("the lease lasts %v", left)
	}
	response := &client.Response{Status: 201, Headers: [][2]string{{"Location", "/1"}, {"location", "/2"}, {"Set-Cookie", "no"}}, Body: []byte{}}
	_, err = c.Complete(t.Context(), client.CompleteRequest{Name: charge, Token: got.Grant.Token, Response: response, ResourceID: "ch_1", Retention: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	record, err := c.Lookup(t.Context(), client.LookupRequest{Name: charge, Fingerprint: "f"})
	if err != nil {
		t.Fatal(err)
	}
	if record.Tenant != "test" || record.Name != charge || record.State != client.StateCompleted || record.Attempt != 1 || record.Fence != got.Grant.Fence ||
		record.Holder != "worker-1" || record.OnLapse != client.HoldOnLapse || record.ResourceID != "ch_1" || record.ExpiresAt.Sub(record.SettledAt) != time.Hour ||
		record.Response.Body == nil || len(record.Response.Headers) != 2 || record.Response.Header("LOCATION") != "/1" || record.Response.Header("x") != "" {
		text, _ := json.Marshal(record)
		t.Errorf("got %s", text)
	}
}
