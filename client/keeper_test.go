package client_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-idempotency/reprise/client"
	"github.com/reprise-idempotency/reprise/client/clienttest"
)

// beats counts calls by name, and decides what becomes of each.
type beats struct {
	mu sync.Mutex
	of map[string][]time.Time
}

func watch(fake *clienttest.Fake, fault func(call string) clienttest.Fault) *beats {
	b := &beats{of: map[string][]time.Time{}}
	fake.Break(func(call string, _ int) clienttest.Fault {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.of[call] = append(b.of[call], time.Now())
		return fault(call)
	})
	return b
}

func (b *beats) count(call string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.of[call])
}

func nothing(string) clienttest.Fault { return clienttest.NoFault }

// charge is the key of op("k").
var charge = client.Name{Operation: "charge", Subject: "customer-1", Key: "k"}

// working runs fn under op("k") with a lease of 30 s.
func working(t *testing.T, c *client.Client, fn func(ctx context.Context, l *client.Lease) error) (string, error) {
	t.Helper()
	o := op("k")
	o.Lease = 30 * time.Second
	return client.Do(t.Context(), c, o, func(ctx context.Context, l *client.Lease) (string, error) { return "done", fn(ctx, l) })
}

// Ensure that work of many leases keeps its own by a heartbeat at each third, and that none comes after it.
func TestLeaseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clienttest.New()
		b := watch(fake, nothing)
		got, err := working(t, fake.Client(t), func(ctx context.Context, l *client.Lease) error {
			time.Sleep(305 * time.Second)
			return errors.Join(ctx.Err(), l.Err())
		})
		if got != "done" || err != nil || b.count("heartbeat") != 30 {
			t.Errorf("got %q, %v after %d heartbeats, want 30", got, err, b.count("heartbeat"))
		}
		time.Sleep(time.Hour)
		if b.count("heartbeat") != 30 {
			t.Error("a heartbeat came after the end")
		}
	})
}

// Ensure that an outage that is shorter than the lease is nothing to the work.
func TestABlipIsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clienttest.New()
		begun := time.Now()
		watch(fake, func(call string) clienttest.Fault {
			if d := time.Since(begun); call == "heartbeat" && d > 5*time.Second && d < 28*time.Second {
				return clienttest.LoseRequest
			}
			return clienttest.NoFault
		})
		got, err := working(t, fake.Client(t), func(ctx context.Context, _ *client.Lease) error {
			time.Sleep(60 * time.Second)
			return ctx.Err()
		})
		if got != "done" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// Ensure that the work's context ends with the cause ErrLeaseLost no later than the last acknowledged heartbeat was sent plus the
// lease, that nothing is released then, and that what is done all the same is completed while nobody took over.
func TestContextEndsWithTheLease(t *testing.T) {
	for name, fault := range map[string]clienttest.Fault{"no request arrives": clienttest.LoseRequest, "no answer arrives": clienttest.LoseAnswer, "outage": clienttest.Outage} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clienttest.New()
				c := fake.Client(t)
				got, err := working(t, c, func(ctx context.Context, l *client.Lease) error {
					time.Sleep(15 * time.Second) // one heartbeat was acknowledged, at 10 s
					fake.Break(func(string, int) clienttest.Fault { return fault })
					<-ctx.Done()
					if !errors.Is(l.Err(), client.ErrLeaseLost) || !errors.Is(context.Cause(ctx), client.ErrLeaseLost) {
						t.Errorf("the lease is %v, the cause %v", l.Err(), context.Cause(ctx))
					}
					if over := time.Since(l.Until()); over < 0 || over > time.Millisecond {
						t.Errorf("it ended %v after the lease", over)
					}
					fake.Break(nil)
					return nil
				})
				if got != "done" || err != nil {
					t.Errorf("completing gave %q, %v", got, err)
				}
				if r, _ := fake.Record(charge); r.State != client.StateCompleted || c.Stats().LeasesLost != 1 {
					t.Errorf("the key is %s; %d leases were lost", r.State, c.Stats().LeasesLost)
				}
			})
		})
	}
}

// Ensure that the work's context ends at once when a heartbeat is told that the lease is lost, that the one who took over is not
// disturbed, and that what was done is said to be not recorded.
func TestLeaseIsLostToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clienttest.New()
		c, rival := fake.Client(t), fake.Client(t)
		var taken *client.Reservation
		got, err := working(t, c, func(ctx context.Context, l *client.Lease) error {
			time.Sleep(5 * time.Second)
			fake.Advance(time.Minute) // as if this process had been stopped
			var err error
			if taken, err = rival.Reserve(context.Background(), client.ReserveRequest{Name: charge, Fingerprint: l.Fingerprint()}); err != nil || !taken.Grant.Takeover {
				t.Fatalf("the rival got %v, %v", taken, err)
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), client.ErrLeaseLost) || !l.Until().After(time.Now()) {
				t.Errorf("it ended for %v, %v before the end of the lease", context.Cause(ctx), time.Until(l.Until()))
			}
			return nil // it was done all the same
		})
		if got != "done" || !errors.Is(err, client.ErrNotRecorded) || !errors.Is(err, client.ErrLeaseLost) || c.Stats().NotRecorded != 1 {
			t.Errorf("got %q, %v", got, err)
		}
		if _, err := rival.Complete(t.Context(), client.CompleteRequest{Name: charge, Token: taken.Grant.Token}); err != nil {
			t.Errorf("the rival cannot complete: %v", err)
		}
	})
}

// Ensure that a caller who hangs up ends the work's context, and neither its heartbeats nor its completion.
func TestTheCallerHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clienttest.New()
		c := fake.Client(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o := op("k")
		o.Lease = 3 * time.Second
		got, err := client.Do(ctx, c, o, func(ctx context.Context, l *client.Lease) (string, error) {
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("it ended for %v", ctx.Err())
			}
			time.Sleep(time.Minute) // it cannot be stopped
			return "done", l.Err()
		})
		if r, _ := fake.Record(charge); got != "done" || err != nil || r.State != client.StateCompleted {
			t.Errorf("got %q, %v, and the key is %s", got, err, r.State)
		}
	})
}

// Ensure that complete is repeated until it is answered, whatever its answers were, and never followed by a release.
func TestCompleteIsRepeated(t *testing.T) {
	for name, fault := range map[string]clienttest.Fault{"request lost": clienttest.LoseRequest, "answer lost": clienttest.LoseAnswer, "outage": clienttest.Outage} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clienttest.New()
				lost := 20
				b := watch(fake, func(call string) clienttest.Fault {
					if call == "complete" && lost > 0 {
						lost--
						return fault
					}
					return clienttest.NoFault
				})
				got, err := working(t, fake.Client(t), func(context.Context, *client.Lease) error { return nil })
				if got != "done" || err != nil || b.count("complete") != 21 {
					t.Errorf("got %q, %v after %d completes", got, err, b.count("complete"))
				}
				lost = 1 << 30
				o := op("other")
				other, err := client.Do(t.Context(), fake.Client(t), o, func(context.Context, *client.Lease) (string, error) { return "done", nil })
				if other != "done" || !errors.Is(err, client.ErrNotRecorded) || !errors.Is(err, client.ErrUnavailable) || b.count("release") != 0 {
					t.Errorf("without an end it got %q, %v; %d releases", other, err, b.count("release"))
				}
			})
		})
	}
}

// Ensure that the point of no return holds the key, also when the work fails after it, and that its failure gives the key back.
func TestPointOfNoReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clienttest.New()
		c := fake.Client(t)
		_, err := working(t, c, func(ctx context.Context, l *client.Lease) error {
			return errors.Join(l.PointOfNoReturn(ctx), errProvider)
		})
		r, _ := fake.Record(charge)
		if !errors.Is(err, errProvider) || r.OnLapse != client.HoldOnLapse || r.State != client.StateInProgress {
			t.Errorf("got %v; the key is %s under %s", err, r.State, r.OnLapse)
		}
		time.Sleep(time.Minute)
		if _, err := working(t, c, func(context.Context, *client.Lease) error { return nil }); !errors.Is(err, client.ErrUncertain) {
			t.Errorf("the next one got %v", err)
		}

		b := watch(fake, func(call string) clienttest.Fault {
			if call == "heartbeat" {
				return clienttest.LoseRequest
			}
			return clienttest.NoFault
		})
		_, err = client.Do(t.Context(), c, op("other"), func(ctx context.Context, l *client.Lease) (int, error) { return 0, l.PointOfNoReturn(ctx) })
		if !errors.Is(err, client.ErrLeaseLost) || b.count("release") != 1 {
			t.Errorf("a point of no return that was not reached got %v; %d releases", err, b.count("release"))
		}
	})
}

// Ensure that a checkpoint is what the next attempt finds, and that it counts on.
func TestCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clienttest.New().Client(t)
		for _, step := range []struct{ found, left string }{{"", "page 1"}, {"page 1", "page 2"}, {"page 2", "page 3"}} {
			_, _ = working(t, c, func(ctx context.Context, l *client.Lease) error {
				if got, ok := l.Progress(); got != step.found || ok != (step.found != "") {
					t.Errorf("found %q, %v; want %q", got, ok, step.found)
				}
				if err := l.Checkpoint(ctx, step.left); err != nil {
					t.Error(err)
				}
				return errProvider
			})
		}
	})
}

// Ensure that a service that cannot be asked runs nothing, unless that is wished; then it is marked and counted, and its
// downstream key is the one that it would have had.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clienttest.New()
		var key string
		if _, err := working(t, fake.Client(t), func(_ context.Context, l *client.Lease) error { key = l.DownstreamKey("x"); return errProvider }); err == nil {
			t.Fatal("no error")
		}
		fake.Break(func(string, int) clienttest.Fault { return clienttest.Outage })
		ran := 0
		work := func(ctx context.Context, l *client.Lease) error {
			ran++
			if !l.Unguarded() || l.Fence() != 0 || l.DownstreamKey("x") != key || errors.Join(l.Err(), l.PointOfNoReturn(ctx), l.Checkpoint(ctx, "")) != nil {
				t.Errorf("unguarded: %v, fence %d, key %s", l.Unguarded(), l.Fence(), l.DownstreamKey("x"))
			}
			return nil
		}
		if _, err := working(t, fake.Client(t), work); !errors.Is(err, client.ErrUnavailable) || ran != 0 {
			t.Errorf("closed: got %v after %d runs", err, ran)
		}
		var how client.How
		open := fake.Client(t, client.OnOutage(client.FailOpen), client.Observe(client.Hooks{Done: func(d client.DoneInfo) { how = d.How }}))
		if got, err := working(t, open, work); got != "done" || err != nil || ran != 1 || open.Stats().Unguarded != 1 || how != client.Unguarded {
			t.Errorf("open: got %q, %v after %d runs; it was %s", got, err, ran, how)
		}
	})
}

// Ensure that neither two tenants nor two customers of one meet under the same key: four records, four downstream keys.
func TestNobodyMeets(t *testing.T) {
	fake := clienttest.New()
	keys := map[string]bool{}
	for _, tenant := range []string{"acme", "bolt"} {
		for _, customer := range []string{"1", "2"} {
			o := op("k")
			o.Subject = customer
			got, err := client.Do(t.Context(), fake.ClientOf(t, tenant), o, func(_ context.Context, l *client.Lease) (string, error) {
				keys[l.DownstreamKey("charge")] = true
				return tenant + customer, nil
			})
			if got != tenant+customer || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		}
	}
	if len(keys) != 4 || fake.Len() != 4 {
		t.Errorf("%d downstream keys, %d records", len(keys), fake.Len())
	}
}
