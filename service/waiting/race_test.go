package waiting_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/service/waiting"
	"github.com/reprise-idempotency/reprise/storage"
)

// Ensure that no lease is lost where the end of the time and the grant meet: many who wait for a moment only, while the
// name is given back again and again. At the end of each round, whoever holds the name has been told so.
func TestNoLeaseIsLost(t *testing.T) {
	const rounds, waiters = 20, 25
	eachPair(t, func(t *testing.T, here, there *process) {
		n := name("key")
		holder := there.hold(n)
		for range rounds {
			round := newRound(holder)
			for i := range waiters {
				p := []*process{here, there}[i%2]
				round.work.Go(func() { round.wait(p, n) })
			}
			there.store.Apply(context.Background(), []storage.Call{storage.Release{Name: n, Token: holder}})
			round.work.Wait()
			rec := there.want(storage.OutcomeFound, storage.Lookup{Name: n}).Record
			if rec.State == storage.InProgress && !round.got[rec.Token] {
				t.Fatalf("the lease of attempt %d was given to nobody", rec.Attempt)
			}
			if rec.State != storage.InProgress {
				rec = there.want(storage.OutcomeAcquired, reserve(n)).Record
			}
			holder = rec.Token
		}
		if rec := there.want(storage.OutcomeFound, storage.Lookup{Name: n}).Record; rec.Attempt < rounds {
			t.Errorf("only %d acquisitions in %d rounds", rec.Attempt, rounds)
		}
	})
}

// round is some waiters who meet, and the leases that they got.
type round struct {
	work sync.WaitGroup
	mu   sync.Mutex
	got  map[storage.Token]bool
}

func newRound(holder storage.Token) *round {
	return &round{got: map[storage.Token]bool{holder: true}}
}

// wait waits for a moment, and gives back at once what it may have got.
func (r *round) wait(p *process, n storage.Name) {
	call := reserve(n)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rand.IntN(40))*time.Millisecond)
	defer cancel()
	a, end := p.room.Wait(ctx, &call, time.Duration(1+rand.IntN(40))*time.Millisecond)
	if end != waiting.Answered || a.Err != nil || a.Outcome != storage.OutcomeAcquired {
		return
	}
	r.mu.Lock()
	r.got[a.Record.Token] = true
	r.mu.Unlock()
	if rand.IntN(4) > 0 {
		p.store.Apply(context.Background(), []storage.Call{storage.Release{Name: n, Token: a.Record.Token}})
	}
}
