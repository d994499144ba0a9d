package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/client"
	"github.com/reprise-idempotency/reprise/client/clienttest"
)

// Ensure that an event is acknowledged when it was handled, now or before, or failed for good, and in no other case; and that it
// is handled once.
func TestConsume(t *testing.T) {
	for name, test := range map[string]struct {
		handle func() error
		first  bool // acknowledged
		second bool
		runs   int
	}{
		"handled":         {func() error { return nil }, true, true, 1},
		"failed":          {func() error { return errProvider }, false, false, 2},
		"failed for good": {func() error { return client.Final(errProvider) }, true, true, 1},
		"unsure":          {func() error { return client.Unsure(errProvider) }, false, false, 1},
		"timed out":       {func() error { return context.DeadlineExceeded }, false, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := clienttest.New().Client(t)
			runs := 0
			for i, want := range []bool{test.first, test.second} {
				done, err := client.Consume(t.Context(), c, client.Event{Source: "webhook", ID: "evt_1"}, func(context.Context, *client.Lease) error {
					runs++
					return test.handle()
				})
				if done != want || !done && err == nil {
					t.Errorf("delivery %d: acknowledged %v, %v", i+1, done, err)
				}
			}
			if runs != test.runs {
				t.Errorf("handled %d times, want %d", runs, test.runs)
			}
		})
	}
}

// Ensure that a delivery is not acknowledged while another one is handled, nor during an outage, and that what was done and could
// not be recorded is.
func TestConsumeAcknowledgesNothingUndone(t *testing.T) {
	fake := clienttest.New()
	c := fake.Client(t, client.SettleTimeout(time.Second))
	e := client.Event{Source: "webhook", ID: "evt_1"}
	done, err := client.Consume(t.Context(), c, e, func(ctx context.Context, _ *client.Lease) error {
		if done, err := client.Consume(ctx, c, e, nil); done || !errors.Is(err, client.ErrInProgress) {
			t.Errorf("the other delivery: %v, %v", done, err)
		}
		fake.Break(func(string, int) clienttest.Fault { return clienttest.Outage })
		return nil
	})
	if !done || !errors.Is(err, client.ErrNotRecorded) {
		t.Errorf("not recorded: %v, %v", done, err)
	}
	if done, err := client.Consume(t.Context(), c, e, nil); done || !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("outage: %v, %v", done, err)
	}
}

// Ensure that a webhook is answered so that its sender delivers again what was not done, and nothing else.
func TestWebhook(t *testing.T) {
	fake := clienttest.New()
	var failure error
	runs := 0
	h := client.Webhook(fake.Client(t, client.MaxRetries(0)), func(r *http.Request, body []byte) (client.Event, error) {
		if r.Header.Get("Signature") != "good" {
			return client.Event{}, errors.New("bad signature")
		}
		return client.Event{Source: "webhook:test", ID: string(body)}, nil
	}, func(_ context.Context, _ *client.Lease, body []byte) error {
		runs++
		if string(body) != "evt_1" {
			t.Errorf("handled %q", body)
		}
		return failure
	})
	deliver := func(signature, body string) int {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Signature", signature)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	failure = errProvider
	got := []int{deliver("bad", "evt_1"), deliver("good", strings.Repeat("x", 1<<20+1)), deliver("good", "evt_1")}
	failure = nil
	got = append(got, deliver("good", "evt_1"), deliver("good", "evt_1"))
	fake.Break(func(string, int) clienttest.Fault { return clienttest.Outage })
	got = append(got, deliver("good", "evt_1"))
	for i, want := range []int{400, 400, 500, 204, 204, 503} {
		if got[i] != want {
			t.Errorf("delivery %d: answered %d, want %d", i, got[i], want)
		}
	}
	if runs != 2 {
		t.Errorf("handled %d times", runs)
	}
}
