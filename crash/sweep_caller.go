package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// sweepCaller makes keys, a chunk at a time, and gives each a fate. Its names are its own, so that every answer is known
// beforehand: nothing but a sweeper can come between.
type sweepCaller struct {
	id  int
	e   *sweeping
	api [2]*api
	rng *rand.Rand

	calls, made, aged, renewed int
	kept                       map[wire.Name]keeping
	due                        map[wire.Name]int64 // the fences of what was aged, and may be swept
	beating                    []wire.Name         // live leases that get a heartbeat with every chunk
	violations                 []string
}

// keeping is what was acknowledged and may not be lost.
type keeping struct {
	token string
	fence int64
	state string
	until time.Time // the lease, while in progress
}

const (
	chunk   = 250 // keys, in one batch
	beaten  = 30  // live leases that a caller keeps alive at once
	agedBy  = 3   // hours
	keptFor = "1h"
)

// backByHours moves a row into the past, by agedBy hours.
const backByHours = `created_at = created_at - interval '3 hours', lease_expires_at = lease_expires_at - interval '3 hours',
	expires_at = expires_at - interval '3 hours', sweep_hour = sweep_hour - 3`

func newSweepCaller(id int, e *sweeping) *sweepCaller {
	c := &sweepCaller{id: id, e: e, rng: rand.New(rand.NewPCG(uint64(id), 3)), kept: map[wire.Name]keeping{}, due: map[wire.Name]int64{}}
	for i, replica := range e.replicas {
		c.api[i] = newAPI(replica.where, e.grounds.token)
	}
	return c
}

// run makes keys until there are enough, the time is over, or something went wrong.
func (c *sweepCaller) run(ctx context.Context, keys int, until time.Time) {
	for c.made < keys && time.Now().Before(until) && ctx.Err() == nil && len(c.violations) == 0 {
		if err := c.oneChunk(ctx); err != nil {
			c.accuse("caller %d: %v", c.id, err)
		}
	}
}

func (c *sweepCaller) accuse(format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf(format, args...))
}

// fates are what becomes of the keys of a chunk.
type fates struct {
	gone    []wire.Name // settled, aged
	again   []wire.Name // settled, aged, acquired anew and settled
	retaken []wire.Name // abandoned, aged, acquired anew and kept alive
	held    []wire.Name // kept alive, with a sweep hour that has come: every sweep looks at it
	settled []wire.Name // settled and left alone
}

func (c *sweepCaller) fates() (f fates, all []wire.Name) {
	for range chunk {
		c.made++
		name := wire.Name{Operation: "POST /v1/orders", Key: fmt.Sprintf("%d-%d", c.id, c.made)}
		all = append(all, name)
		fate := &f.gone
		switch p := c.rng.IntN(100); {
		case p < 10:
			fate = &f.again
		case p < 16:
			fate = &f.retaken
		case p < 22:
			fate = &f.held
		case p < 32:
			fate = &f.settled
		}
		*fate = append(*fate, name)
	}
	return f, all
}

func (c *sweepCaller) oneChunk(ctx context.Context) error {
	f, all := c.fates()
	done := join(f.gone, f.again, f.settled)
	due := join(f.gone, f.again, f.retaken)
	anew := join(f.again, f.retaken)
	c.aged, c.renewed = c.aged+len(due), c.renewed+len(anew)
	for _, step := range []func() error{
		func() error { return c.reserve(ctx, all) },
		func() error { return c.complete(ctx, done) },
		func() error { return c.age(ctx, f.held, "sweep_hour = sweep_hour - 3") },
		func() error { return c.makeDue(ctx, due) },
		func() error { return c.pause(ctx) },
		func() error { return c.reserve(ctx, anew) },
		func() error { return c.heartbeat(ctx, join(f.held, f.retaken, c.beating)) },
		func() error { return c.complete(ctx, f.again) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	c.beating = join(c.beating, f.held, f.retaken)
	c.beating = c.beating[max(0, len(c.beating)-beaten):]
	return nil
}

func join(all ...[]wire.Name) (names []wire.Name) {
	for _, some := range all {
		names = append(names, some...)
	}
	return names
}

// pause lets the sweepers come to some of the due keys first.
func (c *sweepCaller) pause(ctx context.Context) error {
	if c.rng.IntN(2) == 0 {
		sleep(ctx, time.Duration(c.rng.Int64N(int64(100*time.Millisecond))))
	}
	return nil
}

// makeDue gives up keys, and ages them.
func (c *sweepCaller) makeDue(ctx context.Context, names []wire.Name) error {
	for _, name := range names {
		c.due[name] = c.kept[name].fence
		delete(c.kept, name)
	}
	return c.age(ctx, names, backByHours)
}

// age changes the caller's rows past the service.
func (c *sweepCaller) age(ctx context.Context, names []wire.Name, change string) error {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = name.Key
	}
	tag, err := c.e.past.Exec(ctx, `UPDATE reprise_keys SET `+change+`
		WHERE tenant = 'crash' AND operation = 'POST /v1/orders' AND subject = '' AND key = ANY ($1)`, keys)
	if err == nil && int(tag.RowsAffected()) != len(names) {
		return fmt.Errorf("%d of %d keys that were just used are in the table", tag.RowsAffected(), len(names))
	}
	return err
}

func (c *sweepCaller) reserve(ctx context.Context, names []wire.Name) error {
	lease, retention := keptFor, keptFor
	var calls []any
	for _, name := range names {
		fingerprint, attempt := fingerprintOf(name), fmt.Sprintf("attempt-%d-%d", c.id, c.rng.Uint64())
		calls = append(calls, struct {
			Call string `json:"call"`
			wire.ReserveRequest
		}{wire.CallReserve, wire.ReserveRequest{Name: name, Fingerprint: &fingerprint, AttemptID: &attempt, Lease: &lease, Retention: &retention}})
	}
	return c.batch(ctx, names, calls, func(name wire.Name, r result) error {
		switch {
		case r.Status != http.StatusCreated || r.Body.Lease == nil || r.Body.Record.Attempt != 1:
			return fmt.Errorf("the reserve of a name that is absent was answered %v", r)
		case r.Body.Lease.Fence <= c.due[name]:
			return fmt.Errorf("the fence fell from %d: %v", c.due[name], r)
		}
		return c.keep(name, r.Body.Lease.Token, r)
	})
}

func (c *sweepCaller) complete(ctx context.Context, names []wire.Name) error {
	var calls []any
	retention := keptFor
	for _, name := range names {
		calls = append(calls, struct {
			Call string `json:"call"`
			wire.CompleteRequest
		}{wire.CallComplete, wire.CompleteRequest{Name: name, LeaseToken: c.kept[name].token, Retention: &retention}})
	}
	return c.ownerBatch(ctx, names, calls)
}

func (c *sweepCaller) heartbeat(ctx context.Context, names []wire.Name) error {
	var calls []any
	for _, name := range names {
		calls = append(calls, struct {
			Call string `json:"call"`
			wire.HeartbeatRequest
		}{wire.CallHeartbeat, wire.HeartbeatRequest{Name: name, LeaseToken: c.kept[name].token}})
	}
	return c.ownerBatch(ctx, names, calls)
}

// ownerBatch sends calls that only the holder of a lease may make, and who is it.
func (c *sweepCaller) ownerBatch(ctx context.Context, names []wire.Name, calls []any) error {
	return c.batch(ctx, names, calls, func(name wire.Name, r result) error {
		if r.Status != http.StatusOK || r.Body.Record.Fence != c.kept[name].fence {
			return fmt.Errorf("the holder of fence %d was answered %v", c.kept[name].fence, r)
		}
		return c.keep(name, c.kept[name].token, r)
	})
}

// keep notes what was acknowledged.
func (c *sweepCaller) keep(name wire.Name, token string, r result) error {
	k := keeping{token: token, fence: r.Body.Record.Fence, state: r.Body.Record.State}
	if end := r.Body.Record.LeaseExpiresAt; k.state == "in_progress" && end != nil {
		var err error
		if k.until, err = time.Parse(time.RFC3339Nano, *end); err != nil {
			return err
		}
	}
	c.kept[name] = k
	return nil
}

// result is the answer to a call of a batch.
type result struct {
	Status int
	Body   struct {
		Code, Detail string
		Record       wire.Record
		Lease        *wire.Lease
	}
}

func (r result) String() string {
	return fmt.Sprintf("%d %s %s [%s attempt %d fence %d]", r.Status, r.Body.Code, r.Body.Detail, r.Body.Record.State, r.Body.Record.Attempt, r.Body.Record.Fence)
}

// batch sends calls to one of the replicas in one request, and looks at each answer.
func (c *sweepCaller) batch(ctx context.Context, names []wire.Name, calls []any, look func(wire.Name, result) error) error {
	const most = 256
	for len(calls) > 0 {
		n := min(most, len(calls))
		results, err := c.send(ctx, calls[:n])
		if err != nil {
			return err
		}
		if len(results) != n {
			return fmt.Errorf("%d calls got %d answers", n, len(results))
		}
		c.calls += n
		for i, r := range results {
			if err := look(names[i], r); err != nil {
				return fmt.Errorf("%s: %w", names[i].Key, err)
			}
		}
		names, calls = names[n:], calls[n:]
	}
	return nil
}

func (c *sweepCaller) send(ctx context.Context, calls []any) ([]result, error) {
	body, err := json.Marshal(map[string]any{"calls": calls})
	if err != nil {
		return nil, err
	}
	a := c.api[c.rng.IntN(len(c.api))]
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.where.get(ctx)+"/v1/keys/batch", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Content-Type", "application/json")
	status, text, err := a.send(request)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("a batch was answered %d %s", status, text)
	}
	var answer struct{ Results []result }
	return answer.Results, json.Unmarshal(text, &answer)
}

// addTo hands over what the caller did and knows.
func (c *sweepCaller) addTo(s *sweepResult, kept map[wire.Name]keeping) {
	s.Calls, s.Keys, s.Aged, s.Renewed = s.Calls+c.calls, s.Keys+c.made, s.Aged+c.aged, s.Renewed+c.renewed
	s.violations = append(s.violations, c.violations...)
	for name, k := range c.kept {
		kept[name] = k
	}
}
