package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

// This file ensures that there is always an order of concurrent calls, single ones and groups, that explains every answer.

var linearizabilityPromises = []promise{
	concurrentCallsHaveAnOrder,
}

// linearSeed is the variable that sets what the calls are drawn from; how they meet is the schedule's.
const linearSeed = "REPRISE_LINEAR_SEED"

const (
	linearRounds  = 12  // with names of their own, at least
	linearMost    = 400 // rounds, until all that has to happen did: how often callers meet is the schedule's
	linearNames   = 3   // of a round: few, so that all meet
	linearCallers = 6
	linearSteps   = 16 // of each caller: a call, or a group
	searchLimit   = hang
)

func concurrentCallsHaveAnOrder(_ *testing.T, f *fixture) {
	seed := seedOr(f.t, linearSeed, rand.Uint64()>>32)
	f.t.Logf("%s=%d", linearSeed, seed)
	met := meetings{}
	for round := uint64(0); round < linearRounds || met.quiet() != ""; round++ {
		if round == linearMost {
			f.t.Fatalf("too little happened to show anything: %s", met.quiet())
		}
		ops, err := f.linearRound(seed, round)
		if err != nil {
			f.t.Fatalf("round %d: %v", round, err)
		}
		for _, found := range linear.Check(ops, searchLimit) {
			folder, err := found.Write()
			f.t.Errorf("round %d, the whole history is in %s (%v):\n%v", round, folder, err, found)
		}
		met.count(ops)
	}
	f.t.Logf("what was met: %v", met)
}

func seedOr(t *testing.T, variable string, seed uint64) uint64 {
	t.Helper()
	text, ok := os.LookupEnv(variable)
	if !ok {
		return seed
	}
	given, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return given
}

// linearRound lets callers loose on fresh names, and gives what happened.
func (f *fixture) linearRound(seed, round uint64) (ops []linear.Op, err error) {
	began := time.Now()
	var boards []*board
	for range linearNames {
		boards = append(boards, &board{name: f.name()})
	}
	callers := make([]*linearCaller, linearCallers)
	var all sync.WaitGroup
	for i := range callers {
		c := &linearCaller{id: i, rng: rand.New(rand.NewPCG(seed, round<<8|uint64(i))), store: f.store, boards: boards, began: began}
		callers[i] = c
		all.Go(func() {
			for range linearSteps {
				c.step()
			}
		})
	}
	all.Wait()
	for _, c := range callers {
		ops, err = append(ops, c.ops...), errors.Join(err, c.err)
	}
	return ops, err
}

// linearCaller makes calls at random and notes what comes of them.
type linearCaller struct {
	id     int
	rng    *rand.Rand
	store  storage.Store
	boards []*board
	began  time.Time

	groups int
	now    time.Time // the store's clock, at the last answer
	ops    []linear.Op
	err    error
}

// step sends a call or a group. Now and then the caller loses patience before the answer.
func (c *linearCaller) step() {
	size := 1
	if c.rng.IntN(3) == 0 {
		size = 2 + c.rng.IntN(4)
	}
	calls := make([]storage.Call, size)
	for i := range calls {
		calls[i] = c.boards[c.rng.IntN(len(c.boards))].draw(c.rng)
	}
	patience := hang
	if c.rng.IntN(12) == 0 {
		patience = time.Duration(c.rng.IntN(3000)) * time.Microsecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	sent := time.Since(c.began)
	answers := c.store.Apply(ctx, calls)
	returned := time.Since(c.began)
	c.groups++
	for i, a := range answers {
		op := linear.Op{Client: c.id, Call: calls[i], Content: contentIn(calls[i]), Sent: sent, Returned: returned, Earliest: c.now}
		if size > 1 {
			op.Group, op.Order = c.id<<16|c.groups, i
		}
		c.note(op, a)
	}
}

// note keeps a call. One that was refused for an outage, or for the patience of its caller, changed nothing: it is as if
// it had never been made.
func (c *linearCaller) note(op linear.Op, a storage.Answer) {
	switch {
	case errors.Is(a.Err, storage.ErrUnavailable):
		return
	case errors.Is(a.Err, storage.ErrOutcomeUnknown):
		c.ops = append(c.ops, op)
		return
	}
	if err := errors.Join(a.Err, sound(a)); err != nil {
		c.err = errors.Join(c.err, fmt.Errorf("%v: %w", &op, err))
		return
	}
	op.Answer, op.Earliest, op.Latest = linear.AnswerOf(a), a.Now, a.Now
	c.now = a.Now
	c.ops = append(c.ops, op)
	for _, b := range c.boards {
		if b.name == op.Call.On() {
			b.learn(op.Answer)
		}
	}
}

// contentIn is what a call settles.
func contentIn(c storage.Call) linear.Content {
	switch c := c.(type) {
	case storage.Complete:
		return linear.Content(c.ResultHash)
	case storage.Resolve:
		return linear.ContentOf(c.To, c.ResourceID, c.Response)
	}
	return ""
}
