package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
)

// Whatever the URL, the role or the database say: without a limit a locked row stops the service.
func TestEveryConnectionHasItsLimits(t *testing.T) {
	address := migrated(t)
	for _, a := range []string{address, with(t, address, "statement_timeout", "0"), with(t, address, "lock_timeout", "0"),
		with(t, address, "options", "-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0")} {
		s := open(t, a, postgres.Options{MaxConns: 3})
		for range 3 { // each is kept until all were asked, so that each is another one
			conn, err := s.Pool().Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Release()
			for setting, want := range map[string]string{"statement_timeout": "4s", "lock_timeout": "2s",
				"idle_in_transaction_session_timeout": "10s", "application_name": "reprise"} {
				var got string
				if err := conn.QueryRow(t.Context(), `SELECT current_setting($1)`, setting).Scan(&got); err != nil || got != want {
					t.Errorf("%s is %q (%v), want %q", setting, got, err, want)
				}
			}
		}
	}
}

// No call holds a connection while it waits for another one: otherwise everybody would wait for everybody.
func TestASmallPoolServesManyCallers(t *testing.T) {
	const callers, rounds = 50, 5
	s := open(t, migrated(t), postgres.Options{MaxConns: 2})
	failures := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for round := range rounds {
				failures[i] = errors.Join(failures[i], wholeLife(t.Context(), s, reserve(fmt.Sprint(i, "-", round))), s.Ready(t.Context()))
			}
		})
	}
	all.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
}

// Ensure that a connection which does not end does not keep the store from closing: the service could not go down while
// its database hangs.
func TestAConnectionThatHangsDoesNotKeepTheStoreOpen(t *testing.T) {
	s := open(t, migrated(t), postgres.Options{})
	conn, err := s.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("closing hangs")
	}
}

// wholeLife reserves a name, renews the lease and settles it.
func wholeLife(ctx context.Context, s storage.Store, c storage.Reserve) error {
	for _, step := range []struct {
		call storage.Call
		want storage.Outcome
	}{{c, storage.OutcomeAcquired}, {storage.Heartbeat{Name: c.Name, Token: c.Token}, storage.OutcomeRenewed}, {complete(c), storage.OutcomeSettled}} {
		if a := s.Apply(ctx, []storage.Call{step.call})[0]; a.Err != nil || a.Outcome != step.want {
			return fmt.Errorf("%T: %v, %w", step.call, a.Outcome, a.Err)
		}
	}
	return nil
}

// When no connection comes free, the caller is told in time, and nothing was changed.
func TestAnExhaustedPoolIsAnOutageAndNotAHang(t *testing.T) {
	s := open(t, migrated(t), postgres.Options{MaxConns: 1, ReadTimeout: shortly})
	conn, err := s.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := reserve("k")
	fails(t, one(t, s, c), storage.ErrUnavailable)
	if err := s.Ready(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Ready: got %v, want ErrUnavailable", err)
	}
	conn.Release()
	apply(t, s, storage.OutcomeNotFound, lookup(c))
	apply(t, s, storage.OutcomeAcquired, c)
}
