package client_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/client"
	"github.com/reprise-idempotency/reprise/client/clienttest"
)

// shop is an API behind the middleware.
type shop struct {
	t    *testing.T
	fake *clienttest.Fake
	url  string
	runs atomic.Int64
}

// open serves a handler. The customer is who the header says.
func open(t *testing.T, p client.Policy, handler http.HandlerFunc, around ...func(http.Handler) http.Handler) *shop {
	s := &shop{t: t, fake: clienttest.New()}
	p.Subject = func(r *http.Request) (string, error) {
		if r.Header.Get("Customer") == "nobody" {
			return "", errors.New("nobody")
		}
		return r.Header.Get("Customer"), nil
	}
	wrap, err := client.Middleware(s.fake.Client(t, client.SettleTimeout(time.Second)), p)
	if err != nil {
		t.Fatal(err)
	}
	counted := wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.runs.Add(1)
		handler(w, r)
	}))
	for _, a := range around {
		counted = a(counted)
	}
	server := httptest.NewUnstartedServer(counted)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // panics are meant
	server.Start()
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// got is an answer as a client sees it.
type got struct {
	status int
	header http.Header
	body   string
	err    error
}

func (s *shop) post(key, body string, header ...string) got {
	s.t.Helper()
	return s.send(context.Background(), "POST", "/orders", key, body, header...)
}

func (s *shop) send(ctx context.Context, method, path, key, body string, header ...string) got {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, io.MultiReader(strings.NewReader(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		r.Header["Idempotency-Key"] = strings.Split(key, "|")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return got{err: err}
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	return got{a.StatusCode, a.Header, string(text), err}
}

func (s *shop) want(g got, status int, body, idempotency string) {
	s.t.Helper()
	if g.err != nil || g.status != status || g.body != body || g.header.Get("Idempotency-Status") != idempotency {
		s.t.Errorf("got %d %q, %s, %v; want %d %q, %s", g.status, g.body, g.header.Get("Idempotency-Status"), g.err, status, body, idempotency)
	}
}

func (s *shop) wantRuns(n int64) {
	s.t.Helper()
	if s.runs.Load() != n {
		s.t.Errorf("the handler ran %d times, want %d", s.runs.Load(), n)
	}
}

func create(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Location", "/orders/1")
	w.WriteHeader(201)
	_, _ = fmt.Fprintf(w, "made of %s", body)
}

// Ensure that a retry gets the answer of the first request, and says so; that the key is echoed; and that quotes are no
// other key.
func TestMiddlewareReplays(t *testing.T) {
	s := open(t, client.Policy{}, create)
	s.want(s.post("k", "an order"), 201, "made of an order", "stored")
	for _, key := range []string{"k", `"k"`} {
		g := s.post(key, "an order")
		s.want(g, 201, "made of an order", "replayed")
		if g.header.Get("Idempotent-Replayed") != "true" || g.header.Get("Location") != "/orders/1" || g.header.Get("Idempotency-Key") != key || len(g.header["Date"]) != 1 ||
			g.header.Get("Content-Type") != "text/plain; charset=utf-8" || g.header.Get("Content-Length") != "16" {
			t.Errorf("replayed with %v", g.header)
		}
	}
	s.wantRuns(1)
}

// Ensure that what is not the same request under the same key is refused, by the method, the target and the body, and that
// customers never meet.
func TestMiddlewareTellsRequestsApart(t *testing.T) {
	s := open(t, client.Policy{Operation: func(*http.Request) string { return "orders" }}, create)
	s.want(s.post("k", "a"), 201, "made of a", "stored")
	for name, g := range map[string]got{
		"body": s.post("k", "b"), "method": s.send(t.Context(), "PATCH", "/orders", "k", "a"), "query": s.send(t.Context(), "POST", "/orders?dry=1", "k", "a"),
		"type": s.post("k", "a", "Content-Type", "text/plain"),
	} {
		if g.status != 422 || g.header.Get("Idempotency-Status") != "conflict" || !strings.Contains(g.body, "fingerprint_mismatch") || strings.Contains(g.body, "made of") {
			t.Errorf("another %s: %d %s", name, g.status, g.body)
		}
	}
	s.want(s.post("k", "b", "Customer", "2"), 201, "made of b", "stored")
	s.wantRuns(2)
}

// Ensure what becomes of a request without a key, or with one that is none; nothing is guessed, and nothing runs.
func TestMiddlewareWantsAKey(t *testing.T) {
	s := open(t, client.Policy{}, create)
	for _, key := range []string{"", "a|b", "a|a", "a, b", `"a`, `"a";p=1`, `""`, " "} {
		if g := s.post(key, "x"); g.status != 400 || g.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%q: %d %s", key, g.status, g.body)
		}
	}
	if g := s.post("k", "x", "Customer", "nobody"); g.status != 401 {
		t.Errorf("nobody: %d", g.status)
	}
	s.wantRuns(0)
	s.want(s.send(t.Context(), "PUT", "/orders", "k", "x"), 201, "made of x", "")
	s.wantRuns(1)
	optional := open(t, client.Policy{Optional: true}, create)
	optional.want(optional.post("", "x"), 201, "made of x", "")
	if g := optional.post(`"a`, "x"); g.status != 400 {
		t.Errorf("optional, and wrong: %d", g.status)
	}
}

// Ensure that a client that hangs up does not lose the answer: its retry gets it.
func TestMiddlewareClientHangsUp(t *testing.T) {
	returned := make(chan struct{})
	s := open(t, client.Policy{Wait: 10 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		w.WriteHeader(201)
		_, _ = io.WriteString(w, `{"id":1}`)
		close(returned)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if g := s.send(ctx, "POST", "/orders", "k", "x"); g.err == nil {
		t.Fatal("it was answered")
	}
	<-returned
	s.want(s.post("k", "x"), 201, `{"id":1}`, "replayed")
	s.wantRuns(1)
}

// Ensure that an answer which broke off is never recorded or replayed, and that the client's connection breaks.
func TestMiddlewareNeverStoresAStump(t *testing.T) {
	stump := func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"items":[1,2`) }
	for name, handler := range map[string]http.HandlerFunc{
		"abort":         func(w http.ResponseWriter, _ *http.Request) { stump(w); panic(http.ErrAbortHandler) },
		"abort at once": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"abort, flushed": func(w http.ResponseWriter, _ *http.Request) {
			stump(w)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"less than said": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "100"); stump(w) },
		"the connection": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_ = conn.Close()
		},
		"by the controller": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, client.Policy{}, handler)
			if g := s.post("k", "x"); g.err == nil {
				t.Errorf("got %d %q", g.status, g.body)
			}
			if g := s.post("k", "x"); g.status != 409 || g.header.Get("Retry-After") == "" || g.header.Get("Idempotency-Status") != "conflict" {
				t.Errorf("the retry got %d %q", g.status, g.body)
			}
			s.wantRuns(1)
			s.fake.Advance(time.Minute)
			if _ = s.post("k", "x"); s.runs.Load() != 2 {
				t.Error("it does not run after the lease")
			}
		})
	}
}

// Ensure that an answer over the limit is sent whole and not run again, and that one at the limit is stored.
func TestMiddlewareLargeAnswer(t *testing.T) {
	for _, size := range []int{1024, 1025, 2048} {
		s := open(t, client.Policy{MaxResponse: 1024}, func(w http.ResponseWriter, _ *http.Request) {
			for range size {
				_, _ = w.Write([]byte("x"))
			}
		})
		if g := s.post("k", "x"); g.status != 200 || g.body != strings.Repeat("x", size) {
			t.Errorf("%d: got %d with %d bytes, %v", size, g.status, len(g.body), g.err)
		}
		g := s.post("k", "x")
		if stored := g.status == 200 && len(g.body) == size; stored != (size == 1024) || !stored && (g.status != 409 || !strings.Contains(g.body, "response_unavailable")) {
			t.Errorf("%d: the retry got %d %.80q", size, g.status, g.body)
		}
		s.wantRuns(1)
	}
}

// Ensure that early hints are early hints, and not the answer.
func TestMiddlewareEarlyHints(t *testing.T) {
	s := open(t, client.Policy{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(103)
		w.Header().Del("Link")
		w.Header().Set("Location", "/1")
		w.WriteHeader(201)
	})
	var hints []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		hints = append(hints, fmt.Sprint(code, h.Get("Link")))
		return nil
	}})
	g := s.send(ctx, "POST", "/orders", "k", "x")
	s.want(g, 201, "", "stored")
	if !reflect.DeepEqual(hints, []string{"103</a.css>; rel=preload"}) || g.header.Get("Link") != "" {
		t.Errorf("the hints are %q, and the answer has %v", hints, g.header)
	}
	g = s.post("k", "x")
	s.want(g, 201, "", "replayed")
	if g.header.Get("Location") != "/1" {
		t.Errorf("replayed with %v", g.header)
	}
}

// Ensure which header lines a replay has: those of the operation, and none of one request, one person or one connection.
func TestMiddlewareHeaders(t *testing.T) {
	var n atomic.Int64
	tracing := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Trace", fmt.Sprint(n.Add(1)))
			next.ServeHTTP(w, r)
		})
	}
	s := open(t, client.Policy{}, func(w http.ResponseWriter, _ *http.Request) {
		for _, line := range []string{"Location: /1", "Etag: \"e\"", "Link: <a>", "Link: <b>", "Content-Type: application/x", "Set-Cookie: a=b", "Connection: X-Hop", "X-Hop: 1",
			"X-Request-Id: first", "Age: 5", "Traceparent: 00", "Www-Authenticate: Basic", "X-Ratelimit-Remaining: 5", "Date: Mon, 01 Jan 2001 00:00:00 GMT"} {
			name, value, _ := strings.Cut(line, ": ")
			w.Header().Add(name, value)
		}
		w.WriteHeader(201)
	}, tracing)
	first, second := s.post("k", "x"), s.post("k", "x")
	s.want(second, 201, "", "replayed")
	if first.header.Get("Set-Cookie") == "" || first.header.Get("X-Request-Id") != "first" || first.header.Get("X-Trace") != "1" {
		t.Errorf("first: %v", first.header)
	}
	date := second.header.Get("Date")
	for name := range second.header {
		switch name {
		case "Location", "Etag", "Link", "Content-Type", "Idempotency-Key", "Idempotency-Status", "Idempotent-Replayed", "Content-Length", "X-Trace", "Date", "Connection":
		default:
			t.Errorf("a replay has %s", name)
		}
	}
	if !reflect.DeepEqual(second.header["Link"], []string{"<a>", "<b>"}) || second.header.Get("X-Trace") != "2" || strings.Contains(date, "2001") || second.header.Get("Connection") == "X-Hop" {
		t.Errorf("second: %v", second.header)
	}
}

// Ensure which answers are recorded, and that others give the key back.
func TestMiddlewareFinal(t *testing.T) {
	for status, final := range map[int]bool{200: true, 201: true, 204: true, 303: true, 400: true, 404: true, 422: true,
		401: false, 403: false, 408: false, 409: false, 425: false, 429: false, 500: false, 503: false} {
		s := open(t, client.Policy{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		stored := ""
		if final {
			stored = "stored"
		}
		s.want(s.post("k", "x"), status, "", stored)
		if final {
			s.want(s.post("k", "x"), status, "", "replayed")
			s.wantRuns(1)
		} else {
			s.want(s.post("k", "x"), status, "", "")
			s.wantRuns(2)
		}
	}
	n := 0
	s := open(t, client.Policy{}, func(w http.ResponseWriter, _ *http.Request) {
		if n++; n == 1 {
			w.WriteHeader(503)
			return
		}
		create(w, &http.Request{Body: http.NoBody})
	})
	s.want(s.post("k", "x"), 503, "", "")
	s.want(s.post("k", "x"), 201, "made of ", "stored")
	s.want(s.post("k", "x"), 201, "made of ", "replayed")
	s.wantRuns(2)
	held := open(t, client.Policy{OnLapse: client.HoldOnLapse}, status(500))
	held.want(held.post("k", "x"), 500, "", "")
	held.fake.Advance(time.Minute)
	if g := held.post("k", "x"); g.status != 409 || !strings.Contains(g.body, "uncertain") || g.header.Get("Retry-After") != "" {
		t.Errorf("on hold: %d %s", g.status, g.body)
	}
}

// Ensure that what is flushed reaches the client before the handler ends, is recorded whole, and that writers have the methods of
// what they stand for.
func TestMiddlewareFlushes(t *testing.T) {
	more := make(chan struct{})
	s := open(t, client.Policy{}, func(w http.ResponseWriter, _ *http.Request) {
		rc := http.NewResponseController(w)
		if err := errors.Join(rc.SetWriteDeadline(time.Now().Add(time.Minute)), rc.SetReadDeadline(time.Now().Add(time.Minute))); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "event 1\n")
		if err := rc.Flush(); err != nil {
			t.Error(err)
		}
		<-more
		if _, err := io.Copy(w, strings.NewReader("event 2\n")); err != nil {
			t.Error(err)
		}
	})
	r, _ := http.NewRequest("POST", s.url, nil)
	r.Header.Set("Idempotency-Key", "k")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 8)
	if _, err := io.ReadFull(a.Body, first); string(first) != "event 1\n" || err != nil {
		t.Errorf("got %q, %v", first, err)
	}
	close(more)
	if rest, err := io.ReadAll(a.Body); string(rest) != "event 2\n" || err != nil {
		t.Errorf("then %q, %v", rest, err)
	}
	_ = a.Body.Close()
	s.want(s.send(t.Context(), "POST", "/", "k", ""), 200, "event 1\nevent 2\n", "replayed")

	plain := struct{ http.ResponseWriter }{httptest.NewRecorder()} // can neither
	wrap, _ := client.Middleware(clienttest.New().Client(t), client.Policy{Subject: func(*http.Request) (string, error) { return "", nil }})
	wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, flushes := w.(http.Flusher)
		_, hijacks := w.(http.Hijacker)
		if err := http.NewResponseController(w).Flush(); flushes || hijacks || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("flushes %v, hijacks %v, %v", flushes, hijacks, err)
		}
	})).ServeHTTP(plain, r)
}

// Ensure that compression, within the middleware or around it, never reaches a client that cannot read it, and is never done
// twice.
func TestMiddlewareAndCompression(t *testing.T) {
	compress := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") || strings.Contains(r.Header.Get("Accept-Encoding"), "q=0") {
				next.ServeHTTP(w, r)
				return
			}
			rec := httptest.NewRecorder()
			next.ServeHTTP(rec, r)
			for name, values := range rec.Header() {
				w.Header()[name] = values
			}
			w.Header().Del("Content-Length")
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(rec.Code)
			z := gzip.NewWriter(w)
			_, _ = z.Write(rec.Body.Bytes())
			_ = z.Close()
		})
	}
	for _, order := range []string{"around", "within"} {
		for _, accepts := range [][2]string{{"gzip", ""}, {"", "gzip"}, {"gzip", "gzip;q=0"}, {"gzip", "gzip"}} {
			var s *shop
			if order == "around" {
				s = open(t, client.Policy{}, create, compress)
			} else {
				s = open(t, client.Policy{}, compress(http.HandlerFunc(create)).ServeHTTP)
			}
			for i, accept := range accepts {
				g := s.post("k", "an order", "Accept-Encoding", accept)
				body := g.body
				if g.header.Get("Content-Encoding") == "gzip" {
					if !strings.Contains(accept, "gzip") || strings.Contains(accept, "q=0") {
						t.Errorf("%s, %q: compressed for who cannot read it", order, accepts)
					}
					z, err := gzip.NewReader(strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					plain, _ := io.ReadAll(z)
					body = string(plain)
				}
				if body != "made of an order" {
					t.Errorf("%s, %q, request %d: got %q", order, accepts, i, body)
				}
			}
			s.wantRuns(1)
		}
	}
}

// Ensure that an outage runs nothing, and that it is told as one; and that with fail open the handler runs, and knows.
func TestMiddlewareOutage(t *testing.T) {
	s := open(t, client.Policy{}, create)
	s.fake.Break(func(string, int) clienttest.Fault { return clienttest.Outage })
	if g := s.post("k", "x"); g.status != 503 || g.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", g.status, g.body)
	}
	s.wantRuns(0)
	s = open(t, client.Policy{OnOutage: client.FailOpen}, func(w http.ResponseWriter, r *http.Request) {
		if !client.LeaseFrom(r.Context()).Unguarded() {
			t.Error("the handler does not know")
		}
		create(w, r)
	})
	s.fake.Break(func(string, int) clienttest.Fault { return clienttest.Outage })
	s.want(s.post("k", "x"), 201, "made of x", "")
}

// Ensure that a handler has its lease and its own pattern, and that a body over the limit is refused before it runs.
func TestMiddlewareRequest(t *testing.T) {
	var mux *http.ServeMux
	s := open(t, client.Policy{MaxRequest: 10}, func(w http.ResponseWriter, r *http.Request) { mux.ServeHTTP(w, r) })
	if g := s.post("k", strings.Repeat("x", 11)); g.status != 413 {
		t.Errorf("got %d", g.status)
	}
	s.wantRuns(0)
	wrap, err := client.Middleware(s.fake.Client(t), client.Policy{Subject: func(*http.Request) (string, error) { return "c", nil }})
	if err != nil {
		t.Fatal(err)
	}
	mux = http.NewServeMux()
	mux.Handle("POST /orders/{id}/pay", wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l := client.LeaseFrom(r.Context())
		_, _ = fmt.Fprint(w, l.Name(), r.PathValue("id"))
	})))
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/orders/7/pay", nil)
	r.Header.Set("Idempotency-Key", "k")
	mux.ServeHTTP(w, r)
	if want := "{POST /orders/{id}/pay c k} 7"; w.Body.String() != want && w.Body.String() != strings.Replace(want, "} 7", "}7", 1) {
		t.Errorf("got %q, want %q", w.Body, want)
	}
}

// Ensure that mistakes in a policy stop the start.
func TestPolicy(t *testing.T) {
	c := talkTo(t, &answers{})
	who := func(*http.Request) (string, error) { return "", nil }
	for want, p := range map[string]client.Policy{
		"Subject": {}, "OnOutage": {Subject: who, OnOutage: client.FailOpen}, "MismatchStatus": {Subject: who, MismatchStatus: 400},
	} {
		if _, err := client.Middleware(c, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
