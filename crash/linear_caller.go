package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

// linearCaller makes calls at random and notes what comes of them.
type linearCaller struct {
	id    int
	rng   *rand.Rand
	api   *api
	pool  *pool
	clock *clock

	batches    int
	log        []*sentCall
	unexpected error // an answer that no caller should ever see
}

// sentCall is a call that was sent once, and what became of it.
type sentCall struct {
	*asked
	client         int
	batch, order   int // zero: it came alone
	sent, answered time.Duration
	fate           fate
	answer         *linear.Answer // when answered
}

func newLinearCaller(id int, seed uint64, api *api, p *pool, base time.Time) *linearCaller {
	return &linearCaller{id: id, rng: rand.New(rand.NewPCG(seed, 1<<32|uint64(id))), api: api, pool: p, clock: &clock{base: base}}
}

// run makes calls until ctx ends. An outage is not to use up the calls that names get, so that the caller then waits.
func (c *linearCaller) run(ctx context.Context, made *counter) {
	for ctx.Err() == nil {
		calls := c.draw()
		for range 3 { // when the answer was lost or denied, most repeat blindly
			sent := c.send(ctx, calls)
			made.add(counting(sent))
			if !inDoubt(sent) || c.rng.IntN(4) == 0 {
				break
			}
			sleep(ctx, time.Duration(c.rng.Int64N(int64(60*time.Millisecond))))
		}
	}
}

// draw gives a single call, or the calls of a batch: on some names, several on each.
func (c *linearCaller) draw() []*asked {
	if c.rng.IntN(6) > 0 {
		return []*asked{c.pool.pick(c.rng).draw(c.rng)}
	}
	var calls []*asked
	for range 1 + c.rng.IntN(5) {
		name := c.pool.pick(c.rng)
		for range 1 + c.rng.IntN(3) {
			if a := name.draw(c.rng); !a.isAct() && a.wait == 0 {
				calls = append(calls, a)
			}
		}
	}
	c.rng.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	if len(calls) == 0 {
		return c.draw()
	}
	return calls
}

// send sends calls once, in one request, and notes what came of them.
func (c *linearCaller) send(ctx context.Context, calls []*asked) []*sentCall {
	base := c.api.where.get(ctx)
	if base == "" {
		return nil
	}
	request := c.request(base, calls)
	began := c.clock.now()
	status, text, err := c.api.send(request)
	sent := c.sentNow(calls, began)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		fated(sent, unsent)
	case err != nil:
		fated(sent, unknown)
	case len(calls) == 1:
		c.take(sent[0], status, text)
	default:
		c.takeBatch(sent, status, text)
	}
	c.log = append(c.log, sent...)
	return sent
}

// request makes one of a single call or of a batch. One that was sent is waited for, also when the run ends: its end is
// not to look like a crash.
func (c *linearCaller) request(base string, calls []*asked) *http.Request {
	path, body := calls[0].path(), singleBody(calls[0])
	if len(calls) > 1 {
		path, body = "/v1/keys/batch", batchBody(calls)
	}
	request, err := http.NewRequest(http.MethodPost, base+path, bytes.NewReader(body))
	if err != nil {
		panic(err) // an address of ours
	}
	request.Header.Set("Authorization", "Bearer "+c.api.token)
	request.Header.Set("Content-Type", "application/json")
	return request
}

// sentNow notes calls whose answer has just come, or will not.
func (c *linearCaller) sentNow(calls []*asked, began time.Duration) []*sentCall {
	ended := c.clock.now()
	batch := 0
	if len(calls) > 1 {
		c.batches++
		batch = c.id<<24 | c.batches
	}
	sent := make([]*sentCall, len(calls))
	for i, a := range calls {
		sent[i] = &sentCall{asked: a, client: c.id, batch: batch, order: i, sent: began, answered: ended}
	}
	return sent
}

func singleBody(a *asked) []byte {
	_, fields := a.request()
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err) // plain values
	}
	return body
}

func batchBody(calls []*asked) []byte {
	var all []json.RawMessage
	for _, a := range calls {
		call, _ := a.request()
		all = append(all, append(fmt.Appendf(nil, `{"call":%q,`, call), singleBody(a)[1:]...))
	}
	body, err := json.Marshal(map[string]any{"calls": all})
	if err != nil {
		panic(err) // plain values
	}
	return body
}

func fated(sent []*sentCall, f fate) {
	for _, s := range sent {
		s.fate = f
	}
}

// take reads the answer to one call.
func (c *linearCaller) take(s *sentCall, status int, body []byte) {
	var err error
	if s.fate, s.answer, err = linearAnswer(s.call, status, body); err != nil {
		s.fate, s.answer = unknown, nil
		c.wonder(err)
	}
	if s.answer != nil {
		s.on.learn(s.answer)
	}
}

func (c *linearCaller) takeBatch(sent []*sentCall, status int, body []byte) {
	var told struct {
		Results []struct {
			Status int
			Body   json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &told); err != nil || status != http.StatusOK || len(told.Results) != len(sent) {
		c.wonder(fmt.Errorf("a batch of %d was answered %d %.300s", len(sent), status, body))
		fated(sent, unknown)
		return
	}
	for i, r := range told.Results {
		c.take(sent[i], r.Status, r.Body)
	}
}

// wonder keeps the first answer that nobody should ever see.
func (c *linearCaller) wonder(err error) {
	if c.unexpected == nil {
		c.unexpected = fmt.Errorf("unexpected: %w", err)
	}
}

// inDoubt tells whether any call was not answered.
func inDoubt(sent []*sentCall) bool { return counting(sent) < len(sent) || !allAnswered(sent) }

func allAnswered(sent []*sentCall) bool {
	for _, s := range sent {
		if s.fate != answered {
			return false
		}
	}
	return true
}

// counting tells how many calls are of use to the judge: those that happened or may have.
func counting(sent []*sentCall) (n int) {
	for _, s := range sent {
		if s.fate == answered || s.fate == unknown {
			n++
		}
	}
	return n
}

// lookAtAll looks every name up once more, after everything: what was acknowledged has to be there.
func (c *linearCaller) lookAtAll(ctx context.Context) {
	const together = 100
	for from := 0; from < len(c.pool.all); from += together {
		var calls []*asked
		for _, name := range c.pool.all[from:min(from+together, len(c.pool.all))] {
			calls = append(calls, &asked{on: name, call: storage.Lookup{Name: name.storageName()}})
		}
		c.send(ctx, calls)
	}
}
