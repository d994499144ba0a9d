package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/client"
	"github.com/reprise-idempotency/reprise/client/clienttest"
)

// BenchmarkMiddleware measures what the middleware adds to a handler: time and memory of the SDK and of the fake together, without
// a network and without a store.
func BenchmarkMiddleware(b *testing.B) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":1}`)
	})
	wrap, err := client.Middleware(clienttest.New().Client(b), client.Policy{Subject: func(*http.Request) (string, error) { return "1", nil }})
	if err != nil {
		b.Fatal(err)
	}
	body := strings.Repeat(`{"sku":"a"}`, 100)
	for name, h := range map[string]http.Handler{"bare": handler, "protected": wrap(handler)} {
		for _, way := range []string{"first", "replay"} {
			b.Run(name+"/"+way, func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if way == "replay" {
						i = 0
					}
					r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
					r.Header.Set("Idempotency-Key", fmt.Sprint(way, i))
					h.ServeHTTP(httptest.NewRecorder(), r)
				}
			})
		}
	}
}
