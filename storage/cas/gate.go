package cas

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/reprise-idempotency/reprise/storage"
)

var errClosed = errors.New("it is closed")

// Gate lets calls in until it is closed. A call reads and writes more than once, on connections that it gives back in
// between: a pool that waits for its connections alone would cut it off in the middle.
type Gate struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

// Apply answers calls as storage.Store promises.
func (g *Gate) Apply(ctx context.Context, t Table, calls []storage.Call) []storage.Answer {
	if !g.enter() {
		answers := make([]storage.Answer, len(calls))
		for i := range answers {
			answers[i].Err = fmt.Errorf("%w: %w", storage.ErrUnavailable, errClosed)
		}
		return answers
	}
	defer g.inside.Done()
	return Apply(ctx, t, calls)
}

// Do runs what only one step of a backend is, and refuses when the gate is closed.
func (g *Gate) Do(step func() error) error {
	if !g.enter() {
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, errClosed)
	}
	defer g.inside.Done()
	return step()
}

func (g *Gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.inside.Add(1)
	}
	return !g.closed
}

// Close lets nobody in any more and waits for those inside.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}
