package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/client"
)

// api is an API that answers each request by the next function, the last one again and again.
type api struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seen
}

// seen is what came with a request.
type seen struct {
	body, key string
	length    int64
}

// requests are those that came.
func (a *api) requests() []seen {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.seen)
}

func serve(t *testing.T, answers ...http.HandlerFunc) *api {
	a := &api{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		n := len(a.seen)
		a.seen = append(a.seen, seen{string(body), strings.Join(r.Header.Values("Idempotency-Key"), "|"), r.ContentLength})
		a.mu.Unlock()
		answers[min(n, len(answers)-1)](w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func inProgress(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(409)
	_, _ = io.WriteString(w, `{"code":"in_progress"}`)
}

func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// closing counts how often a body is closed.
type closing struct {
	io.Reader
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

// Ensure that every kind of body is sent again byte for byte with its length, is closed once, and that the caller's request stays
// as it is.
func TestTransportSendsBodiesAgain(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 64<<10) // 1 MiB
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]struct {
		make func() io.Reader
		want string
	}{
		"nil":      {func() io.Reader { return nil }, ""},
		"none":     {func() io.Reader { return http.NoBody }, ""},
		"bytes":    {func() io.Reader { return bytes.NewReader([]byte("bytes")) }, "bytes"},
		"string":   {func() io.Reader { return strings.NewReader("string") }, "string"},
		"large":    {func() io.Reader { return strings.NewReader(large) }, large},
		"unknown":  {func() io.Reader { return io.MultiReader(strings.NewReader("un"), strings.NewReader("known")) }, "unknown"},
		"file":     {func() io.Reader { f, _ := os.Open(file); return f }, "from a file"},
		"counting": {func() io.Reader { return &closing{Reader: strings.NewReader("counted")} }, "counted"},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, status(503), cut, status(201))
			given := body.make()
			r, err := http.NewRequest(http.MethodPost, a.URL, given)
			if err != nil {
				t.Fatal(err)
			}
			got, err := (&client.Transport{Backoff: time.Millisecond}).RoundTrip(r)
			if err != nil || got.StatusCode != 201 {
				t.Fatalf("got %v, %v", got, err)
			}
			_ = got.Body.Close()
			all := a.requests()
			for i, r := range all {
				if r.body != body.want || r.length != int64(len(body.want)) || r.key == "" || r.key != all[0].key {
					t.Errorf("request %d had %d bytes, length %d, key %q", i, len(r.body), r.length, r.key)
				}
			}
			if len(all) != 3 || r.Header.Get("Idempotency-Key") != "" {
				t.Errorf("%d requests; the caller's has the key %q", len(all), r.Header.Get("Idempotency-Key"))
			}
			if c, ok := given.(*closing); ok && c.closed != 1 {
				t.Errorf("closed %d times", c.closed)
			}
		})
	}
}

// Ensure that a body that cannot be had again is sent once, whole, and that the error says why.
func TestTransportSendsOnceWhatItCannotRepeat(t *testing.T) {
	a := serve(t, cut)
	body := &closing{Reader: strings.NewReader("0123456789")}
	r, _ := http.NewRequest(http.MethodPost, a.URL, body)
	_, err := (&client.Transport{MaxBody: 9, Backoff: time.Millisecond}).RoundTrip(r)
	if err == nil || !strings.Contains(err.Error(), "9 bytes") || len(a.requests()) != 1 || a.requests()[0].body != "0123456789" || body.closed == 0 {
		t.Errorf("got %v after %+v; closed %d times", err, a.requests(), body.closed)
	}
}

// Ensure which answers are followed by another request: for a keyed method, for one that is idempotent by itself, and for others.
func TestTransportRetries(t *testing.T) {
	conflict := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(409)
		_, _ = io.WriteString(w, `{"code":"out_of_stock"}`)
	}
	for name, test := range map[string]struct {
		method  string
		answer  http.HandlerFunc
		retried bool
	}{
		"503":                   {"POST", status(503), true},
		"500":                   {"PATCH", status(500), true},
		"501":                   {"POST", status(501), false},
		"429":                   {"POST", status(429), true},
		"408":                   {"POST", status(408), true},
		"425":                   {"POST", status(425), true},
		"400":                   {"POST", status(400), false},
		"422":                   {"POST", status(422), false},
		"301":                   {"POST", status(301), false},
		"in progress":           {"POST", inProgress, true},
		"an application's 409":  {"POST", conflict, false},
		"a bare 409":            {"POST", status(409), false},
		"a broken connection":   {"POST", cut, true},
		"GET, 503":              {"GET", status(503), true},
		"PUT, broken":           {"PUT", cut, true},
		"another method, 503":   {"LOCK", status(503), false},
		"another method, broke": {"LOCK", cut, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, test.answer, status(201))
			h := &http.Client{Transport: &client.Transport{Backoff: time.Millisecond}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			r, _ := http.NewRequest(test.method, a.URL, strings.NewReader("x"))
			got, err := h.Do(r)
			if retried := len(a.requests()) == 2; retried != test.retried || retried && (err != nil || got.StatusCode != 201) {
				t.Errorf("%d requests, %v", len(a.requests()), err)
			}
			if got != nil {
				if body, _ := io.ReadAll(got.Body); name == "an application's 409" && string(body) != `{"code":"out_of_stock"}` {
					t.Errorf("the body is %q", body)
				}
				_ = got.Body.Close()
			}
			if keyed := a.requests()[0].key != ""; keyed != (test.method == "POST" || test.method == "PATCH") {
				t.Errorf("the key is %q", a.requests()[0].key)
			}
		})
	}
}

// Ensure that the caller's own key wins, that one which is none is refused before anything is sent, and that two calls have two.
func TestTransportKeys(t *testing.T) {
	a := serve(t, status(201))
	h := &http.Client{Transport: &client.Transport{}}
	for _, own := range []string{"", "", "mine", `"mine"`, "a, b"} {
		r, _ := http.NewRequest(http.MethodPost, a.URL, nil)
		if own != "" {
			r.Header.Set("Idempotency-Key", own)
		}
		got, err := h.Do(r)
		if (err != nil) != (own == "a, b") {
			t.Errorf("%q: %v", own, err)
		}
		if err == nil {
			_ = got.Body.Close()
		}
	}
	if r := a.requests(); len(r) != 4 || r[0].key == r[1].key || r[2].key != "mine" || r[3].key != `"mine"` {
		t.Errorf("got %+v", r)
	}
}

// Ensure that no retries mean one request on the wire, also over a connection that breaks, where net/http would send a keyed
// request again by itself.
func TestTransportWithoutRetries(t *testing.T) {
	a := serve(t, status(201), cut)
	tr := &client.Transport{MaxRetries: -1, Base: &http.Transport{}}
	for n, want := range []bool{true, false} {
		r, _ := http.NewRequest(http.MethodPost, a.URL, strings.NewReader("x"))
		got, err := tr.RoundTrip(r)
		if (err == nil) != want || len(a.requests()) != n+1 {
			t.Errorf("request %d: %v; %d on the wire", n, err, len(a.requests()))
		}
		if err == nil {
			_ = got.Body.Close()
		}
	}
}

// Ensure that a server that hangs costs one attempt, that the body may take longer than an attempt, and that the caller's end
// ends everything.
func TestTransportTimes(t *testing.T) {
	release := make(chan struct{})
	hanging := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}
	slow := func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		time.Sleep(300 * time.Millisecond) // three attempts long
		_, _ = io.WriteString(w, "whole")
	}
	a := serve(t, hanging, slow, hanging)
	t.Cleanup(func() { close(release) })
	tr := &client.Transport{AttemptTimeout: 100 * time.Millisecond, Backoff: time.Millisecond}
	r, _ := http.NewRequest(http.MethodPost, a.URL, strings.NewReader("x"))
	got, err := tr.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(got.Body); string(body) != "whole" || err != nil || len(a.requests()) != 2 {
		t.Errorf("got %q, %v after %d requests", body, err, len(a.requests()))
	}
	_ = got.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := tr.RoundTrip(r.Clone(ctx)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller's end gives %v", err)
	}
}
