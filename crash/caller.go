package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// caller does what callers do, and what they should not: it holds leases and lets some lapse, repeats calls whose
// answers were lost, and old ones for no reason, and comes between others.
type caller struct {
	id    int
	rng   *rand.Rand
	api   *api
	clock *clock
	names *names

	log  []*call   // all that it sent, in order
	held []holding // leases that it knows of and may use
	made int       // ids that it made
}

// holding is a lease that the caller was granted.
type holding struct {
	name  wire.Name
	token string
	lease time.Duration
	seq   int64 // of the checkpoint that it last knew
}

func newCaller(id int, seed uint64, api *api, names *names, base time.Time) *caller {
	return &caller{id: id, rng: rand.New(rand.NewPCG(seed, uint64(id))), api: api, names: names, clock: &clock{base: base}}
}

// mostHeld bounds the leases that a caller holds at once; what it forgets lapses.
const mostHeld = 6

// run makes calls until ctx ends.
func (c *caller) run(ctx context.Context) {
	for ctx.Err() == nil {
		c.step(ctx)
		c.pause(ctx, 12*time.Millisecond)
	}
}

func (c *caller) step(ctx context.Context) {
	if len(c.held) > mostHeld {
		c.held = c.held[1:]
	}
	if len(c.held) > 0 && c.rng.IntN(100) < 55 {
		c.useLease(ctx)
		return
	}
	switch p := c.rng.IntN(100); {
	case p < 30:
		c.reserve(ctx, c.names.fresh())
	case p < 70:
		c.reserve(ctx, c.names.rival(c.rng))
	case p < 75:
		c.reserve(ctx, c.names.earlier(c.rng))
	case p < 88:
		c.repeatOld(ctx)
	default:
		c.put(ctx, lookup, c.names.earlier(c.rng), ask{})
	}
}

// reserve asks for a name, with an attempt id of its own.
func (c *caller) reserve(ctx context.Context, name wire.Name) {
	a := ask{attemptID: fmt.Sprintf("attempt-%d-%d", c.id, c.next()), fingerprint: fingerprintOf(name), lease: c.lease(), hold: c.rng.IntN(16) == 0}
	if c.rng.IntN(30) == 0 {
		a.fingerprint += "-other"
	}
	last := c.put(ctx, reserve, name, a)
	if last == nil || last.fate != answered || last.got.record == nil {
		return
	}
	switch {
	case last.got.status == 201:
		c.held = append(c.held, holding{name: name, token: last.got.token, lease: a.lease, seq: last.got.record.seq})
	case last.got.record.state != "in_progress":
		c.names.spent(name, c.rng)
	}
}

// lease is short enough to lapse under its holder, as long as a heartbeat apart, or longer than the run.
func (c *caller) lease() time.Duration {
	switch c.rng.IntN(5) {
	case 0, 1:
		return time.Duration(100+c.rng.IntN(300)) * time.Millisecond
	case 2:
		return time.Duration(500+c.rng.IntN(2500)) * time.Millisecond
	case 3:
		return time.Minute
	}
	return 10 * time.Second
}

// useLease does something with one of the leases held.
func (c *caller) useLease(ctx context.Context) {
	i := c.rng.IntN(len(c.held))
	h := &c.held[i]
	a := ask{token: h.token}
	switch p := c.rng.IntN(100); {
	case p < 35:
		c.heartbeat(ctx, h)
	case p < 80:
		a.content = contentID(uint64(c.id+1)<<32 | uint64(c.next()))
		a.digest = contentOf(a.content).digest()
		c.put(ctx, complete, h.name, a)
		c.drop(i)
	case p < 92:
		a.forget = c.rng.IntN(3) == 0
		c.put(ctx, release, h.name, a)
		c.drop(i)
	default: // a holder that is never heard of again
		c.drop(i)
	}
}

func (c *caller) heartbeat(ctx context.Context, h *holding) {
	a := ask{token: h.token, hold: c.rng.IntN(8) == 0}
	if c.rng.IntN(2) == 0 {
		a.lease = c.lease()
	}
	if c.rng.IntN(2) == 0 {
		h.seq++
		a.seq, a.data = h.seq, fmt.Sprintf("step %d ы of %d-%d", h.seq, c.id, c.next())
	}
	c.put(ctx, heartbeat, h.name, a)
}

// drop lets go of a lease; now and then the caller does not know that it has.
func (c *caller) drop(i int) {
	if c.rng.IntN(6) > 0 {
		c.held = append(c.held[:i:i], c.held[i+1:]...)
	}
}

// repeatOld sends one of the caller's last calls again, as a proxy or a queue might.
func (c *caller) repeatOld(ctx context.Context) {
	const remembered = 60
	if len(c.log) == 0 {
		return
	}
	old := c.log[len(c.log)-1-c.rng.IntN(min(len(c.log), remembered))]
	c.put(ctx, old.kind, old.name, old.ask)
}

// put makes a call and, as the API promises that one may, repeats it blindly when its answer was lost. It gives the
// last one sent, or nil.
func (c *caller) put(ctx context.Context, k kind, name wire.Name, a ask) (last *call) {
	const tries = 8
	for range tries {
		next := &call{caller: c.id, kind: k, name: name, ask: a}
		if !c.api.put(ctx, next, c.clock) {
			return last
		}
		last = next
		c.log = append(c.log, next)
		if next.fate == answered || c.rng.IntN(10) == 0 { // some give up
			return last
		}
		c.pause(ctx, 60*time.Millisecond)
	}
	return last
}

func (c *caller) next() int { c.made++; return c.made }

// pause waits up to a while; it is no longer than ctx.
func (c *caller) pause(ctx context.Context, most time.Duration) {
	select {
	case <-time.After(time.Duration(c.rng.Int64N(int64(most)))):
	case <-ctx.Done():
	}
}
