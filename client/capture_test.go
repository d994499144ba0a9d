package client_test

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/reprise-idempotency/reprise/client"
	"github.com/reprise-idempotency/reprise/client/clienttest"
)

// act does to a writer what a byte of a fuzzer says.
func act(w http.ResponseWriter, op, arg byte) {
	switch op % 6 {
	case 0:
		_, _ = w.Write(bytes.Repeat([]byte{arg}, int(arg)))
	case 1:
		w.WriteHeader([]int{200, 201, 204, 303, 304, 404}[arg%6])
	case 2:
		w.Header().Set([]string{"Location", "Etag", "Content-Type", "X-Own"}[arg%4], string('a'+rune(arg%26)))
	case 3:
		_ = http.NewResponseController(w).Flush()
	case 4:
		w.Header().Add("Link", string('a'+rune(arg%26)))
	case 5:
		w.Header().Del([]string{"Location", "Etag", "Content-Type", "X-Own"}[arg%4])
	}
}

// FuzzCapture ensures that a handler's answer is the same without the middleware, through it, and on a replay, whatever the
// handler does in whatever order.
func FuzzCapture(f *testing.F) {
	f.Add([]byte{2, 0, 1, 1, 0, 5})
	f.Add([]byte{0, 9, 3, 0, 2, 1, 0, 200, 1, 2})
	f.Add([]byte{1, 2, 0, 7, 3, 3, 4, 1, 4, 2, 5, 0})
	f.Add([]byte{3, 0, 0, 7}) // flushed before there is a body whose type could be guessed
	server := httptest.NewServer(nil)
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handlers that write too much are meant
	server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	f.Fuzz(func(t *testing.T, acts []byte) {
		acts = acts[:min(len(acts), 64)]
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(acts); i += 2 {
				act(w, acts[i], acts[i+1])
			}
		})
		wrap, err := client.Middleware(clienttest.New().Client(t), client.Policy{Subject: func(*http.Request) (string, error) { return "", nil }})
		if err != nil {
			t.Fatal(err)
		}
		bare, body := answered(t, server, handler)
		protected := wrap(handler)
		for _, pass := range []string{"first", "replay"} {
			got, gotBody := answered(t, server, protected)
			if got.StatusCode != bare.StatusCode || !bytes.Equal(gotBody, body) {
				t.Errorf("%s: %d and %d bytes, want %d and %d", pass, got.StatusCode, len(gotBody), bare.StatusCode, len(body))
			}
			for _, name := range []string{"Location", "Etag", "Content-Type", "X-Own", "Link"} {
				if a, b := got.Header.Values(name), bare.Header.Values(name); !slices.Equal(a, b) {
					t.Errorf("%s: %s is %q, want %q", pass, name, a, b)
				}
			}
		}
	})
}

// answered is what a real server makes of a handler's answer.
func answered(t *testing.T, server *httptest.Server, h http.Handler) (*http.Response, []byte) {
	t.Helper()
	server.Config.Handler = h // no request is under way
	r, err := http.NewRequest(http.MethodPost, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", "k")
	got, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got, body
}
