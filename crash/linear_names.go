package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

const linearTenant = "order"

// Two families of names. In one, leases outlast the run, and a name goes on by releases; in the other, they are short and
// lapse under their holders. What the clock allows is then sure in the first, and a matter of some milliseconds in the
// second.
const (
	longNames  = 16 // at the same time
	shortNames = 96
	// A crowd works on some of the short ones for a while and then on the next, and comes back when their leases are over.
	crowdNames = 12
	crowdStays = 60 * time.Millisecond

	longLease = time.Hour
	// callsOfName is how many calls a name gets, about: what was under way together can be put in many orders.
	callsOfName = 40
)

// pool is the names that callers work on.
type pool struct {
	began time.Time

	mu          sync.Mutex
	long, short []*contested
	all         []*contested
}

func newPool(began time.Time) *pool {
	p := &pool{began: began, long: make([]*contested, longNames), short: make([]*contested, shortNames)}
	for i := range p.long {
		p.long[i] = p.make(false)
	}
	for i := range p.short {
		p.short[i] = p.make(true)
	}
	return p
}

// make needs p.mu, or a pool that nobody uses yet.
func (p *pool) make(short bool) *contested {
	name := wire.Name{Operation: "POST /v1/orders", Key: fmt.Sprintf("key-%d", len(p.all))}
	if len(p.all)%3 == 0 {
		name.Subject = "ы/100%"
	}
	c := &contested{Name: name, short: short, left: callsOfName}
	p.all = append(p.all, c)
	return c
}

// pick gives a name for one call. One that has had its calls makes room for a fresh one.
func (p *pool) pick(rng *rand.Rand) *contested {
	p.mu.Lock()
	defer p.mu.Unlock()
	place := &p.long[rng.IntN(len(p.long))]
	if rng.IntN(2) == 0 {
		crowd := int(time.Since(p.began)/crowdStays) * crowdNames
		place = &p.short[(crowd+rng.IntN(crowdNames))%len(p.short)]
	}
	c := *place
	if c.left--; c.left == 0 {
		*place = p.make(c.short)
	}
	return c
}

// contested is a name with all that callers know of it: they use each other's tokens and ids, so that repeats, strays
// and stale holders are common.
type contested struct {
	wire.Name
	short bool
	left  int // calls that it still gets

	mu       sync.Mutex
	made     int // ids
	sent     []*asked
	tokens   []storage.Token
	versions []string
}

// asked is one call that may be sent, and sent again.
type asked struct {
	on      *contested
	call    storage.Call
	content contentID     // of a complete or a resolve; zero: none
	dropped bool          // of a complete: its body is not sent
	wait    time.Duration // of a reserve that comes alone; zero: none
}

func (c *contested) storageName() storage.Name {
	return storage.Name{Tenant: linearTenant, Operation: c.Operation, Subject: c.Subject, Key: c.Key}
}

// learn puts up what an answer told.
func (c *contested) learn(a *linear.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.Token != (storage.Token{}) {
		c.tokens = append(c.tokens, a.Token)
	}
	if a.Seen != nil {
		c.versions = append(c.versions, a.Seen.Version)
	}
}

// draw makes a call, or gives one that was made before.
func (c *contested) draw(rng *rand.Rand) *asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sent) > 0 && rng.IntN(8) == 0 {
		return recent(rng, c.sent)
	}
	a := &asked{on: c}
	a.call = c.ask(rng, a)
	c.sent = append(c.sent, a)
	return a
}

func (c *contested) ask(rng *rand.Rand, a *asked) storage.Call {
	name := c.storageName()
	switch p := rng.IntN(100); {
	case p < 40:
		if rng.IntN(5) == 0 {
			a.wait = time.Duration(50+rng.IntN(450)) * time.Millisecond
		}
		return c.reserve(rng)
	case p < 48:
		result := a.settleWith(rng)
		a.dropped = rng.IntN(8) == 0
		return storage.Complete{Name: name, Token: recent(rng, c.tokens), Result: result, Response: &storage.Response{BodyDropped: a.dropped}}
	case p < 62:
		return storage.Release{Name: name, Token: recent(rng, c.tokens), Reason: fmt.Sprint("reason ", rng.IntN(4)), Forget: rng.IntN(6) == 0}
	case p < 76:
		return c.heartbeat(rng)
	case p < 88:
		r := storage.Lookup{Name: name}
		if rng.IntN(3) == 0 {
			r.Fingerprint = "f"
		}
		return r
	case p < 93:
		r := storage.Resolve{Name: name, Version: recent(rng, c.versions), To: storage.Released, Force: rng.IntN(2) == 0}
		r.By.Reason = "the bank says so"
		if rng.IntN(3) == 0 {
			r.To = a.settleWith(rng)
		}
		return r
	}
	return storage.Expire{Name: name, Version: recent(rng, c.versions)}
}

func (c *contested) reserve(rng *rand.Rand) storage.Reserve {
	c.made++
	r := storage.Reserve{Name: c.storageName(), Fingerprint: "f", AttemptID: fmt.Sprintf("attempt-%s-%d", c.Key, c.made), Lease: longLease}
	if c.short {
		r.Lease = time.Duration(200+rng.IntN(200)) * time.Millisecond
	}
	if rng.IntN(16) == 0 {
		r.Fingerprint = "g"
	}
	if rng.IntN(16) == 0 {
		r.OnLapse = storage.Hold
	}
	return r
}

func (c *contested) heartbeat(rng *rand.Rand) storage.Heartbeat {
	h := storage.Heartbeat{Name: c.storageName(), Token: recent(rng, c.tokens), Hold: rng.IntN(16) == 0}
	if c.short && rng.IntN(2) == 0 {
		h.Lease = time.Duration(100+rng.IntN(300)) * time.Millisecond
	}
	if rng.IntN(2) == 0 {
		c.made++
		h.Checkpoint = &storage.Checkpoint{Seq: int64(1 + rng.IntN(20)), Data: fmt.Sprint("step ы ", c.made)}
	}
	return h
}

// recent is one of the last, most often the very last; without any, nothing that anybody has.
func recent[T any](rng *rand.Rand, all []T) (none T) {
	if len(all) == 0 {
		return none
	}
	return all[len(all)-1-min(rng.IntN(len(all)), rng.IntN(3)*rng.IntN(4))]
}
