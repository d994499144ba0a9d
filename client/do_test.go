package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-idempotency/reprise/client"
	"github.com/reprise-idempotency/reprise/client/clienttest"
)

var errProvider = errors.New("the provider said no")

// op is one piece of work.
func op(key string) client.Op {
	return client.Op{Operation: "charge", Subject: "customer-1", Key: key, Input: map[string]any{"amount": 100}}
}

type receipt struct {
	ID     string
	Amount json.Number
}

// charges is a provider that counts.
type charges struct{ n atomic.Int64 }

func (c *charges) charge(context.Context, *client.Lease) (receipt, error) {
	return receipt{ID: fmt.Sprintf("ch_%d", c.n.Add(1)), Amount: "9007199254740993"}, nil
}

// Ensure that a retry gets the result of the first call, and that the work ran once.
func TestDoReplays(t *testing.T) {
	c := clienttest.New().Client(t)
	var p charges
	for range 3 {
		got, err := client.Do(t.Context(), c, op("k"), p.charge)
		if want := (receipt{"ch_1", "9007199254740993"}); err != nil || got != want {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
	if n := p.n.Load(); n != 1 {
		t.Errorf("charged %d times", n)
	}
}

// Ensure that the first caller gets what later ones get, and that large numbers survive in an interface, too.
func TestDoGivesAllTheSame(t *testing.T) {
	c := clienttest.New().Client(t)
	var results [2]map[string]any
	for i := range results {
		var err error
		results[i], err = client.Do(t.Context(), c, op("k"), func(context.Context, *client.Lease) (map[string]any, error) {
			return map[string]any{"n": int64(9007199254740993), "hidden": struct{ a int }{1}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]any{"n": json.Number("9007199254740993"), "hidden": map[string]any{}}
	if !reflect.DeepEqual(results[0], want) || !reflect.DeepEqual(results[1], want) {
		t.Errorf("got %v and %v, want %v", results[0], results[1], want)
	}
}

// Ensure that another request under the same key is refused, and that a name with other letters is another key.
func TestDoTellsRequestsApart(t *testing.T) {
	c := clienttest.New().Client(t)
	var p charges
	if _, err := client.Do(t.Context(), c, op("k"), p.charge); err != nil {
		t.Fatal(err)
	}
	other := op("k")
	other.Input = map[string]any{"amount": 101}
	_, err := client.Do(t.Context(), c, other, p.charge)
	var e *client.Error
	if !errors.Is(err, client.ErrFingerprintMismatch) || !errors.As(err, &e) || e.Status != 422 || e.Advice != client.AdviceNewKey || e.RequestID == "" {
		t.Errorf("another request got %v", err)
	}
	if _, err := client.Do(t.Context(), c, op("K"), p.charge); err != nil || p.n.Load() != 2 {
		t.Errorf("another key got %v after %d charges", err, p.n.Load())
	}
}

// Ensure that many callers at once run the work once, and all get its result.
func TestDoRunsOnceForAll(t *testing.T) {
	c := clienttest.New().Client(t)
	var p charges
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if got, err := client.Do(t.Context(), c, op("k"), p.charge); err != nil || got.ID != "ch_1" {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	all.Wait()
	if n := p.n.Load(); n != 1 {
		t.Errorf("charged %d times", n)
	}
}

// Ensure what becomes of a key when the work fails: by its policy, by its own word, and by whether it may have been done.
func TestFailures(t *testing.T) {
	canceled := func(err error) error { return fmt.Errorf("calling: %w", errors.Join(err, context.Canceled)) }
	late := func(err error) error { return fmt.Errorf("calling: %w", errors.Join(err, context.DeadlineExceeded)) }
	plain := func(err error) error { return fmt.Errorf("calling: %w", err) }
	for name, test := range map[string]struct {
		onLapse client.OnLapse
		mark    func(error) error
		want    client.State
		how     client.How
	}{
		"retry":                     {client.RetryOnLapse, plain, client.StateReleased, client.Released},
		"retry, canceled":           {client.RetryOnLapse, canceled, client.StateInProgress, client.LeftOpen},
		"retry, timed out":          {client.RetryOnLapse, late, client.StateInProgress, client.LeftOpen},
		"retry, unsure":             {client.RetryOnLapse, client.Unsure, client.StateInProgress, client.LeftOpen},
		"retry, not done":           {client.RetryOnLapse, client.NotDone, client.StateReleased, client.Released},
		"retry, forget":             {client.RetryOnLapse, client.Forget, client.StateReleased, client.Released},
		"retry, final":              {client.RetryOnLapse, client.Final, client.StateFailed, client.Ran},
		"hold":                      {client.HoldOnLapse, plain, client.StateInProgress, client.LeftOpen},
		"hold, unsure":              {client.HoldOnLapse, client.Unsure, client.StateInProgress, client.LeftOpen},
		"hold, not done":            {client.HoldOnLapse, client.NotDone, client.StateReleased, client.Released},
		"hold, not done, in a wrap": {client.HoldOnLapse, func(err error) error { return plain(client.NotDone(err)) }, client.StateReleased, client.Released},
		"hold, canceled, not done":  {client.HoldOnLapse, func(err error) error { return client.NotDone(canceled(err)) }, client.StateReleased, client.Released},
		"hold, forget":              {client.HoldOnLapse, client.Forget, client.StateReleased, client.Released},
		"hold, final":               {client.HoldOnLapse, client.Final, client.StateFailed, client.Ran},
	} {
		t.Run(name, func(t *testing.T) {
			fake := clienttest.New()
			var how client.How
			c := fake.Client(t, client.Observe(client.Hooks{Done: func(d client.DoneInfo) { how = d.How }}))
			o := op("k")
			o.OnLapse = test.onLapse
			_, err := client.Do(t.Context(), c, o, func(context.Context, *client.Lease) (int, error) { return 0, test.mark(errProvider) })
			record, _ := fake.Record(client.Name{Operation: o.Operation, Subject: o.Subject, Key: o.Key})
			if record.State != test.want || how != test.how || err == nil {
				t.Errorf("the key is %s, it was %s, and the error %v; want %s, %s", record.State, how, err, test.want, test.how)
			}
			if test.want != client.StateFailed && !errors.Is(err, errProvider) {
				t.Errorf("the error is %v", err)
			}
			if record.State == client.StateReleased && (record.LastError == "" || (record.Fingerprint == "") != strings.Contains(name, "forget")) {
				t.Errorf("released for %q, fingerprint %q", record.LastError, record.Fingerprint)
			}
		})
	}
}

// Ensure that a final failure is given to every caller alike, with its code and data.
func TestFinalIsReplayed(t *testing.T) {
	c := clienttest.New().Client(t)
	runs := 0
	for i := range 3 {
		_, err := client.Do(t.Context(), c, op("k"), func(context.Context, *client.Lease) (int, error) {
			runs++
			return 0, client.Final(&client.Failure{Code: "card_declined", Message: "no funds", Data: json.RawMessage(`{"n":9007199254740993}`)})
		})
		var f *client.Failure
		if !errors.As(err, &f) || f.Code != "card_declined" || f.Message != "no funds" || string(f.Data) != `{"n":9007199254740993}` || f.Replayed != (i > 0) {
			t.Errorf("call %d got %#v", i, err)
		}
	}
	if runs != 1 {
		t.Errorf("it ran %d times", runs)
	}
}

// Ensure that nothing is settled or released when the work panics or ends its goroutine, that the panic goes on, and that no
// heartbeat outlives it.
func TestPanics(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("boom") }, "exit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clienttest.New()
				c := fake.Client(t)
				done := make(chan any)
				go func() {
					defer close(done)
					defer func() { done <- recover() }()
					_, _ = client.Do(t.Context(), c, op("k"), func(context.Context, *client.Lease) (int, error) { end(); return 1, nil })
				}()
				if got := <-done; name == "panic" && got != "boom" {
					t.Errorf("recovered %v", got)
				}
				<-done
				if r, _ := fake.Record(client.Name{Operation: "charge", Subject: "customer-1", Key: "k"}); r.State != client.StateInProgress || fake.Calls() != 1 {
					t.Errorf("the key is %s after %d calls", r.State, fake.Calls())
				}
			})
		})
	}
}

// Ensure that a result that cannot be encoded is not run again, and that its caller is told.
func TestResultThatCannotBeStored(t *testing.T) {
	c := clienttest.New().Client(t)
	runs := 0
	work := func(context.Context, *client.Lease) (any, error) { runs++; return make(chan int), nil }
	if got, err := client.Do(t.Context(), c, op("k"), work); err == nil || got == nil {
		t.Errorf("got %v, %v; want the channel and an error", got, err)
	}
	if _, err := client.Do(t.Context(), c, op("k"), work); !errors.Is(err, client.ErrResponseUnavailable) || runs != 1 {
		t.Errorf("the retry got %v after %d runs", err, runs)
	}
}

// Ensure that a result over the limit is given to its caller, and not run again.
func TestLargeResult(t *testing.T) {
	for name, size := range map[string]int{"over what is stored": 2 << 20, "over what a request may have": 5 << 20} {
		t.Run(name, func(t *testing.T) {
			c := clienttest.New().Client(t)
			work := func(context.Context, *client.Lease) (string, error) { return strings.Repeat("x", size), nil }
			if got, err := client.Do(t.Context(), c, op("k"), work); err != nil || len(got) != size {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			if _, err := client.Do(t.Context(), c, op("k"), work); !errors.Is(err, client.ErrResponseUnavailable) {
				t.Errorf("the retry got %v", err)
			}
		})
	}
}

// Ensure that a context that is over sends nothing.
func TestContextThatIsOver(t *testing.T) {
	fake := clienttest.New()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errProvider)
	_, err := client.Do(ctx, fake.Client(t), op("k"), new(charges).charge)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errProvider) || fake.Calls() != 0 {
		t.Errorf("got %v after %d calls", err, fake.Calls())
	}
}

// Ensure that work needs to say what makes a retry the same request.
func TestFingerprintIsNeeded(t *testing.T) {
	fake := clienttest.New()
	c := fake.Client(t)
	for name, change := range map[string]func(*client.Op){
		"neither":  func(o *client.Op) { o.Input = nil },
		"both":     func(o *client.Op) { o.Fingerprint = "f" },
		"no ASCII": func(o *client.Op) { o.Input, o.Fingerprint = nil, "é" },
		"no JSON":  func(o *client.Op) { o.Input = func() {} },
		"no UTF-8": func(o *client.Op) { o.Key = "\xff" },
	} {
		o := op("k")
		change(&o)
		if _, err := client.Do(t.Context(), c, o, new(charges).charge); !errors.Is(err, client.ErrInvalidRequest) || fake.Calls() != 0 {
			t.Errorf("%s: got %v after %d calls", name, err, fake.Calls())
		}
	}
}

// Ensure that the caller's end ends the wait for another attempt, which is told as the reason.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clienttest.New().Client(t)
		started, finish := make(chan struct{}), make(chan struct{})
		go func() {
			_, _ = client.Do(context.Background(), c, op("k"), func(context.Context, *client.Lease) (int, error) {
				close(started)
				<-finish
				return 7, nil
			})
		}()
		<-started
		o := op("k")
		o.Wait = client.NoWait
		begun := time.Now()
		if _, err := client.Do(t.Context(), c, o, new(charges).charge); !errors.Is(err, client.ErrInProgress) || time.Since(begun) > time.Second {
			t.Errorf("who does not wait got %v after %v", err, time.Since(begun))
		}
		o.Wait = 25 * time.Second
		begun = time.Now()
		if _, err := client.Do(t.Context(), c, o, new(charges).charge); !errors.Is(err, client.ErrInProgress) || time.Since(begun).Round(time.Second) != 25*time.Second {
			t.Errorf("who waits 25 s got %v after %v", err, time.Since(begun))
		}
		o.Wait = 0
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := client.Do(ctx, c, o, new(charges).charge); !errors.Is(err, client.ErrInProgress) {
			t.Errorf("who had 3 s got %v", err)
		}
		time.AfterFunc(time.Minute, func() { close(finish) })
		begun = time.Now()
		got, err := client.Do(t.Context(), c, o, func(context.Context, *client.Lease) (int, error) { return 8, nil })
		if got != 7 || err != nil || time.Since(begun).Round(time.Second) != time.Minute {
			t.Errorf("who waits for ever got %v, %v after %v", got, err, time.Since(begun))
		}
	})
}
