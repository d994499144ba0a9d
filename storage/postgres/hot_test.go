package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
)

// A settlement that adds a response finds room beside its reservation, and touches no index.
func TestSettlementsAreHotUpdates(t *testing.T) {
	const keys, group = 5000, 200
	address := migrated(t)
	s, observer := open(t, address, postgres.Options{}), connect(t, address)
	exec(t, observer, `ALTER TABLE reprise_keys SET (autovacuum_enabled = off)`) // it would make room behind our back

	// Records must not end near the turn of an hour, where the settlement rightly moves them in the sweeper's index.
	now := s.Apply(t.Context(), []storage.Call{storage.Lookup{Name: storage.Name{Tenant: "t", Operation: "o", Key: "k"}}})[0].Now
	retention := now.Truncate(time.Hour).Add(24*time.Hour + 30*time.Minute).Sub(now)
	for from := 0; from < keys; from += group {
		reserves, completes := make([]storage.Call, group), make([]storage.Call, group)
		for i := range group {
			c := reserve(fmt.Sprint("order-", from+i))
			c.Retention, c.Lease = retention, 30*time.Second
			done := complete(c)
			done.Response.Body = bytes.Repeat([]byte("r"), 200)
			reserves[i], completes[i] = c, done
		}
		for i, answers := range [][]storage.Answer{s.Apply(t.Context(), reserves), s.Apply(t.Context(), completes)} {
			for _, a := range answers {
				if want := []storage.Outcome{storage.OutcomeAcquired, storage.OutcomeSettled}[i]; a.Err != nil || a.Outcome != want {
					t.Fatalf("got %v, %v; want %v", a.Outcome, a.Err, want)
				}
			}
		}
	}
	s.Close() // its connections report what they did when they end
	var updates, hot int
	eventually(t, "the statistics never came", func() bool {
		err := observer.QueryRow(context.Background(), `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
			WHERE relid = 'reprise_keys'::regclass`).Scan(&updates, &hot)
		return err == nil && updates >= keys
	})
	if share := float64(hot) / float64(updates); share < 0.9 {
		t.Errorf("%d of %d updates were HOT: %.2f", hot, updates, share)
	}
}
