package storagetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

// board is what all callers know of a name: they use each other's tokens and ids, so that repeats, strays and stale
// holders are as common as in a bad night.
type board struct {
	name storage.Name

	mu       sync.Mutex
	attempts []string
	tokens   []storage.Token
	versions []string
	sent     []storage.Call
}

// learn puts up what an answer told.
func (b *board) learn(a *linear.Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.Token != (storage.Token{}) {
		b.tokens = append(b.tokens, a.Token)
	}
	if a.Seen != nil {
		b.versions = append(b.versions, a.Seen.Version)
	}
}

// draw makes a call.
func (b *board) draw(rng *rand.Rand) storage.Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.call(rng)
	b.sent = append(b.sent, c)
	return c
}

func (b *board) call(rng *rand.Rand) storage.Call {
	switch p := rng.IntN(100); {
	case p < 36:
		return b.reserve(rng)
	case p < 44:
		return b.complete(rng)
	case p < 58:
		return storage.Release{Name: b.name, Token: recent(rng, b.tokens), Reason: fmt.Sprint("reason ", rng.IntN(4)), Forget: rng.IntN(6) == 0}
	case p < 74:
		return b.heartbeat(rng)
	case p < 82:
		return storage.Lookup{Name: b.name, Fingerprint: pick(uint8(rng.IntN(4)), "", "", "f", "g")}
	case p < 87:
		return storage.Resolve{Name: b.name, Version: recent(rng, b.versions), To: pick(uint8(rng.IntN(4)), storage.Released, storage.Released,
			storage.Completed, storage.Failed), Force: rng.IntN(3) > 0, Token: storage.NewToken(), Response: response(), By: operator()}
	case p < 93:
		return storage.Expire{Name: b.name, Version: recent(rng, b.versions), By: operator()}
	}
	return b.again(rng)
}

// reserve wants a lease that lasts, or one that is over when the next caller comes.
func (b *board) reserve(rng *rand.Rand) storage.Reserve {
	c := reserve(b.name)
	c.Fingerprint = "f"
	c.Lease = pick(uint8(rng.IntN(4)), long, long, 2*time.Millisecond, 5*time.Millisecond)
	if len(b.attempts) > 0 && rng.IntN(4) == 0 {
		c.AttemptID = recent(rng, b.attempts)
	}
	b.attempts = append(b.attempts, c.AttemptID)
	if rng.IntN(12) == 0 {
		c.Fingerprint = "g"
	}
	if rng.IntN(12) == 0 {
		c.OnLapse = storage.Hold
	}
	if rng.IntN(10) == 0 {
		b.tokens = append(b.tokens, c.Token) // to be used before anybody knows whether it was granted
	}
	return c
}

func (b *board) complete(rng *rand.Rand) storage.Complete {
	c := complete(b.name, recent(rng, b.tokens))
	c.Result = pick(uint8(rng.IntN(3)), storage.Completed, storage.Completed, storage.Failed)
	c.Response.Body = fmt.Appendf(nil, "body %d", rng.IntN(3))
	if rng.IntN(6) == 0 {
		c.Response.Body, c.Response.BodyDropped = nil, true
	}
	c.ResultHash = []byte(linear.ContentOf(c.Result, c.ResourceID, c.Response))
	return c
}

func (b *board) heartbeat(rng *rand.Rand) storage.Heartbeat {
	c := storage.Heartbeat{Name: b.name, Token: recent(rng, b.tokens), Hold: rng.IntN(12) == 0}
	c.Lease = pick(uint8(rng.IntN(4)), 0, 0, 3*time.Millisecond, long)
	if rng.IntN(2) == 0 {
		c.Checkpoint = progress(int64(1+rng.IntN(20)), fresh())
	}
	return c
}

// again is a call that somebody made before. A reserve comes again with a fresh token, as the service sends it.
func (b *board) again(rng *rand.Rand) storage.Call {
	if len(b.sent) == 0 {
		return storage.Lookup{Name: b.name}
	}
	c := recent(rng, b.sent)
	switch again := c.(type) {
	case storage.Reserve:
		again.Token = storage.NewToken()
		return again
	case storage.Resolve:
		again.Token, again.By = storage.NewToken(), operator()
		return again
	case storage.Expire:
		again.By = operator()
		return again
	}
	return c
}

// recent is one of the last, most often the very last; without any, nothing that anybody has.
func recent[T any](rng *rand.Rand, all []T) (none T) {
	if len(all) == 0 {
		return none
	}
	return all[len(all)-1-min(rng.IntN(len(all)), rng.IntN(3)*rng.IntN(4))]
}
