package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	waiters    = 5000
	tenants    = 5
	settledPer = 500  // names each second
	arriving   = 1000 // waiters each second, until all of them wait
	settled    = 10_000
	holders    = 32 // who hold names at the same time, before anybody waits
)

// setting is how the crowd comes and goes.
type setting struct {
	what      string
	client    *http.Client
	elsewhere bool // the names are settled through another service than the one that they wait in
}

// waiting keeps 5,000 callers waiting, each for a name of its own, and once all of them do it settles 500 of the names each
// second, for each of which another caller comes to wait for another name. It measures how soon a waiter has its answer after
// the settlement was acknowledged.
func waiting(ctx context.Context, m *machine) error {
	url, err := m.database(ctx)
	if err != nil {
		return err
	}
	for _, s := range []setting{
		{"settled through the same service, by HTTP/1.1", client(waiters + 100), false},
		{"settled through the same service, by HTTP/2", sharing(), false},
		{"settled through another service, by HTTP/1.1", client(waiters + 100), true},
	} {
		if err := waitingRun(ctx, m, url, s); err != nil {
			return err
		}
	}
	return nil
}

func waitingRun(ctx context.Context, m *machine, url string, s setting) error {
	here, err := m.serve(ctx, url)
	if err != nil {
		return err
	}
	elsewhere := here
	if s.elsewhere {
		if elsewhere, err = m.serve(ctx, url); err != nil {
			return err
		}
	}
	crowd := &crowd{client: s.client}
	for n := range tenants {
		token, err := m.Token(ctx, fmt.Sprintf("tenant-%d", n))
		if err != nil {
			return err
		}
		crowd.waits = append(crowd.waits, api{crowd.client, here.url, token})
		crowd.settles = append(crowd.settles, api{crowd.client, elsewhere.url, token})
	}
	if err := crowd.warm(ctx); err != nil {
		return err
	}
	before, err := look(ctx, here)
	if err != nil {
		return err
	}
	report, err := crowd.run(ctx, here)
	if err != nil {
		return err
	}
	asked := report.after.polls - report.before.polls
	each := time.Duration((report.after.polled - report.before.polled) / asked * float64(time.Second))
	fmt.Printf("%s\n  %d waiters of %d tenants, %d names settled each second for %v\n", s.what, waiters, tenants, settledPer, report.took.Round(time.Second/10))
	fmt.Printf("  woken after: p50 %v, p99 %v, most %v (%d samples)\n", report.percentile(50), report.percentile(99), report.percentile(100), len(report.woken))
	fmt.Printf("  polls: %.1f a second, %v each\n  memory: %d MiB more (%d before, %d at most)\n", asked/report.took.Seconds(), each.Round(time.Millisecond/10), report.memory-before.memory, before.memory, report.memory)
	processor := func(after, before time.Duration) float64 { return (after - before).Seconds() / report.took.Seconds() }
	fmt.Printf("  processors: %.2f by the service, %.2f by the load; %d answers said to repeat the call, which was done\n", processor(report.after.worked, report.before.worked), processor(report.after.load, report.before.load), repeated.Load())
	fmt.Printf("  connections in use while waiting: at most %.0f, in the median %.0f\n", slices.Max(report.connections), median(report.connections))
	crowd.client.CloseIdleConnections()
	return nil
}

// crowd is who waits and who settles.
type crowd struct {
	client  *http.Client
	waits   []api
	settles []api
}

// held is a name with somebody who waits for it.
type held struct {
	tenant     int
	key, token string
	settled    chan time.Time // when its settlement was acknowledged
}

type crowdReport struct {
	mu          sync.Mutex
	ended       bool
	woken       []time.Duration
	took        time.Duration
	before      looked // when all of the first waited
	after       looked
	memory      int // MiB, at most
	connections []float64
}

func (r *crowdReport) add(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.woken = append(r.woken, after)
	}
}

func (r *crowdReport) end(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended, r.took = true, took
}

func (r *crowdReport) percentile(p int) time.Duration {
	slices.Sort(r.woken)
	return r.woken[(len(r.woken)-1)*p/100].Round(100 * time.Microsecond)
}

// warm lets the service and its pool come up.
func (c *crowd) warm(ctx context.Context) error {
	for n := range 200 {
		if err := c.settles[n%tenants].pair(ctx, fmt.Sprintf("warm-%d-%d", time.Now().UnixNano(), n)); err != nil {
			return err
		}
	}
	return nil
}

// run keeps the crowd at its size while names are settled, in the order in which they are waited for.
func (c *crowd) run(ctx context.Context, here *server) (*crowdReport, error) {
	report := &crowdReport{}
	names, err := c.holdMany(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	arrival := paced(arriving)
	for _, h := range names[:waiters] {
		arrival.next()
		all.Go(func() { c.wait(ctx, h, report, cancel) })
	}
	if err := c.seated(ctx, here, report); err != nil {
		return nil, err
	}
	began, settling := time.Now(), paced(settledPer)
	for n := range settled {
		settling.next()
		all.Go(func() { c.settle(ctx, names[n], cancel) })
		all.Go(func() { c.wait(ctx, names[waiters+n], report, cancel) })
		if n%100 == 0 {
			now, err := look(ctx, here)
			if err != nil {
				return nil, cmp.Or(context.Cause(ctx), err)
			}
			report.memory = max(report.memory, now.memory)
			report.connections = append(report.connections, now.connections)
		}
	}
	report.end(time.Since(began))
	if report.after, err = look(ctx, here); err != nil {
		return nil, err
	}
	for _, h := range names[settled:] { // those who still wait are let go, no faster than before
		settling.next()
		all.Go(func() { c.settle(ctx, h, cancel) })
	}
	all.Wait()
	return report, context.Cause(ctx)
}

// seated comes back when all of the first wait.
func (c *crowd) seated(ctx context.Context, here *server, report *crowdReport) error {
	for {
		now, err := look(ctx, here)
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		report.memory = max(report.memory, now.memory)
		report.before = now
		if now.waiting == waiters {
			return nil
		}
	}
}

// holdMany holds a name for each waiter there will be.
func (c *crowd) holdMany(ctx context.Context) ([]held, error) {
	names := make([]held, waiters+settled)
	errs := make([]error, holders)
	var all sync.WaitGroup
	for s := range holders {
		all.Go(func() {
			for n := s; n < len(names) && errs[s] == nil; n += holders {
				names[n], errs[s] = c.hold(ctx, n)
			}
		})
	}
	all.Wait()
	return names, errors.Join(errs...)
}

func (c *crowd) hold(ctx context.Context, n int) (held, error) {
	h := held{tenant: n % tenants, key: fmt.Sprintf("wait-%d-%d", time.Now().UnixNano(), n), settled: make(chan time.Time, 1)}
	var err error
	h.token, err = c.settles[h.tenant].reserve(ctx, h.key)
	return h, err
}

func (c *crowd) wait(ctx context.Context, h held, report *crowdReport, cancel context.CancelCauseFunc) {
	_, err := c.waits[h.tenant].post(ctx, "reserve", `{"operation":"POST /v1/orders","key":"`+h.key+`","fingerprint":"amount=100","wait":"20s"}`, http.StatusOK)
	now := time.Now()
	if err != nil {
		cancel(err)
		return
	}
	select {
	case settled := <-h.settled:
		report.add(max(0, now.Sub(settled)))
	case <-ctx.Done():
	}
}

func (c *crowd) settle(ctx context.Context, h held, cancel context.CancelCauseFunc) {
	if err := c.settles[h.tenant].complete(ctx, h.key, h.token); err != nil {
		cancel(err)
		return
	}
	h.settled <- time.Now()
}
