package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/reprise-idempotency/reprise/client"
	"github.com/reprise-idempotency/reprise/client/clienttest"
)

// inMemory is a client of a service in memory, so that the examples run by themselves. Yours is made by
// client.New("https://reprise.internal", client.TokenFile("/var/run/secrets/reprise/token")).
func inMemory() *client.Client {
	c, err := client.New("http://reprise.test", client.HTTPClient(&http.Client{Transport: clienttest.New()}), client.Token(clienttest.Token("acme")))
	if err != nil {
		panic(err)
	}
	return c
}

// A retry gets the result of the first call, and another order under the same key is refused.
func ExampleDo() {
	type order struct{ Amount int }
	type invoice struct{ Number int }
	c, sent := inMemory(), 0
	send := func(o order) (invoice, error) {
		return client.Do(context.Background(), c, client.Op{
			Operation: "job:send-invoice",
			Subject:   "customer-7",
			Key:       "order-42",
			Input:     o,
		}, func(_ context.Context, _ *client.Lease) (invoice, error) {
			sent++
			return invoice{Number: 1000 + sent}, nil
		})
	}
	fmt.Println(send(order{100}))
	fmt.Println(send(order{100}))
	_, err := send(order{999})
	fmt.Println(errors.Is(err, client.ErrFingerprintMismatch), "sent:", sent)
	// Output:
	// {1001} <nil>
	// {1001} <nil>
	// true sent: 1
}

// A card that was declined is declined for every retry.
func ExampleFinal() {
	c := inMemory()
	for range 2 {
		_, err := client.Do(context.Background(), c, client.Op{Operation: "charge", Key: "order-42", Input: 100},
			func(context.Context, *client.Lease) (string, error) {
				return "", client.Final(&client.Failure{Code: "card_declined", Message: "no funds"})
			})
		var failure *client.Failure
		fmt.Println(errors.As(err, &failure), failure.Code, failure.Replayed)
	}
	// Output:
	// true card_declined false
	// true card_declined true
}

// A payout that no provider protects from happening twice: from the point of no return on nobody runs it again before a person
// has looked.
func ExampleLease_PointOfNoReturn() {
	c := inMemory()
	_, err := client.Do(context.Background(), c, client.Op{Operation: "payout", Key: "p-1", Input: 100},
		func(ctx context.Context, lease *client.Lease) (string, error) {
			if err := lease.PointOfNoReturn(ctx); err != nil {
				return "", err // nothing happened: the key is given back
			}
			return "paid", nil
		})
	fmt.Println(err)
	// Output: <nil>
}

// The first request runs the handler; a retry gets its answer.
func ExampleMiddleware() {
	protect, err := client.Middleware(inMemory(), client.Policy{
		Subject: func(r *http.Request) (string, error) { return r.Header.Get("X-Customer"), nil }, // whom your authentication found
	})
	if err != nil {
		panic(err)
	}
	orders := 0
	mux := http.NewServeMux()
	mux.Handle("POST /orders", protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		orders++
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "order %d", orders)
	})))
	for range 2 {
		r := httptest.NewRequest("POST", "/orders", strings.NewReader("a book"))
		r.Header.Set("Idempotency-Key", "8e03978e")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body, w.Header().Get("Idempotency-Status"))
	}
	// Output:
	// 201 order 1 stored
	// 201 order 1 replayed
}

// A worker acknowledges a message when it was handled, now or before; others are delivered again.
func ExampleConsume() {
	c := inMemory()
	for _, id := range []string{"evt_1", "evt_2", "evt_1"} {
		done, err := client.Consume(context.Background(), c, client.Event{Source: "queue:mails", ID: id},
			func(context.Context, *client.Lease) error {
				fmt.Println("handling", id)
				return nil
			})
		fmt.Println("acknowledge:", done, err)
	}
	// Output:
	// handling evt_1
	// acknowledge: true <nil>
	// handling evt_2
	// acknowledge: true <nil>
	// acknowledge: true <nil>
}

// Requests to an API that takes Idempotency-Key get one, and are repeated with it.
func ExampleTransport() {
	n := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer api.Close()
	h := &http.Client{Transport: &client.Transport{OnRetry: func(_ *http.Request, n int, why error) { fmt.Println("retry", n, why) }}}
	answer, err := h.Post(api.URL, "text/plain", strings.NewReader("hello"))
	if err != nil {
		panic(err)
	}
	_ = answer.Body.Close()
	fmt.Println(answer.StatusCode)
	// Output:
	// retry 1 answered 503 Service Unavailable
	// 200
}
