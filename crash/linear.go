package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage/storagetest/faultproxy"
	"github.com/reprise-idempotency/reprise/storage/storagetest/lab"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// The experiment of this file asks for one thing of histories that the service is killed in: that there is an order of
// all calls on a name that explains every answer. See package linear for what that means. It has names with a short life
// and callers that fight for them by single calls, by batches and by waiting; those of the first experiment live longer
// and are held to promises one by one.

const (
	linearOperations = 100_000 // to be judged, for each store
	linearCallers    = 48
	linearAtMost     = 100 * time.Second // for the calls on one store
	linearSearch     = 20 * time.Second  // for one name
)

// linearRun is one run against one store.
type linearRun struct {
	flags   flags
	store   string
	service *service
	cluster *pgtest.Server    // nil on SQLite
	proxy   *faultproxy.Proxy // between service and cluster
	rng     *rand.Rand

	began              time.Time // of the callers' clocks
	kills, stops, cuts int
}

func (r *report) linearSQLite(ctx context.Context, f flags, g *grounds) error {
	say("SQLite: is there an order? %d calls, seed %d", f.operations, f.seed)
	s := &service{lab: g.Lab, databaseURL: "sqlite:" + filepath.Join(g.Folder, "linear.db"), where: newAddress()}
	return r.linear(ctx, &linearRun{flags: f, store: storeSQLite, service: s, rng: rand.New(rand.NewPCG(f.seed, 3<<40))})
}

func (r *report) linearPostgres(ctx context.Context, f flags, g *grounds) error {
	say("Postgres: is there an order? %d calls, seed %d", f.operations, f.seed)
	return withPostgres(ctx, g, func(p postgres) (err error) {
		proxy, err := faultproxy.New(p.service.databaseURL)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.service.kill(), proxy.Close()) }()
		if p.service.databaseURL, err = proxy.URL(p.service.databaseURL); err != nil {
			return err
		}
		return r.linear(ctx, &linearRun{flags: f, store: storePostgres, service: p.service, cluster: p.cluster, proxy: proxy,
			rng: rand.New(rand.NewPCG(f.seed, 4<<40))})
	})
}

// linear runs the callers while things are killed, and judges what they saw, also when the run did not come to its end.
func (r *report) linear(ctx context.Context, e *linearRun) error {
	calls, slack, err := e.run(ctx)
	if err = errors.Join(err, e.service.kill()); err != nil {
		err = fmt.Errorf("%s: order of calls: %w", e.store, err)
	}
	result := e.count(calls)
	result.SlackMS = float64(slack.Microseconds()) / 1000
	result.Seconds = time.Since(e.began).Seconds()
	judging := time.Now()
	result.judge(linear.Check(operationsOf(calls, e.began, slack), linearSearch))
	result.JudgedSeconds = time.Since(judging).Seconds()
	r.linears = append(r.linears, result)
	r.failures = append(r.failures, result.failures()...)
	return err
}

// run gives all calls, and how far the store's clock may be from that of the callers.
func (e *linearRun) run(ctx context.Context) (calls []*sentCall, off time.Duration, err error) {
	e.began = time.Now()
	token, err := e.service.lab.Token(ctx, linearTenant, "keys:admin") // the callers are operators too
	if err != nil {
		return nil, 0, err
	}
	if err := e.service.start(ctx); err != nil {
		return nil, 0, err
	}
	api := newAPI(e.service.where, token)
	pool := newPool(e.began)
	var callers []*linearCaller
	for id := range linearCallers {
		callers = append(callers, newLinearCaller(id, e.flags.seed, api, pool, e.began))
	}
	err = e.work(ctx, callers)
	if failed := e.settleDown(ctx); failed != nil {
		return nil, 0, errors.Join(err, failed)
	}
	last := newLinearCaller(linearCallers, e.flags.seed, api, pool, e.began)
	last.lookAtAll(ctx)
	var clocks []*clock
	for _, c := range append(callers, last) {
		calls, clocks = append(calls, c.log...), append(clocks, c.clock)
		err = errors.Join(err, c.unexpected)
	}
	return calls, slack(clocks...), errors.Join(err, e.service.stop())
}

// work runs the callers until they have made their calls and everything that is to be killed was.
func (e *linearRun) work(ctx context.Context, callers []*linearCaller) error {
	working, stop := context.WithTimeout(ctx, linearAtMost)
	defer stop()
	enough := make(chan struct{})
	made := &counter{most: e.flags.operations, reached: enough}
	var all sync.WaitGroup
	for _, c := range callers {
		all.Go(func() { c.run(working, made) })
	}
	err := lab.AsTest(func(testing.TB) error { return e.mayhem(working) })
	if err == nil {
		select {
		case <-enough:
		case <-working.Done():
		}
	}
	stop()
	all.Wait()
	return err
}

// settleDown sees to it that everything runs for the last look.
func (e *linearRun) settleDown(ctx context.Context) error {
	if e.service.process == nil {
		return e.service.start(ctx)
	}
	return e.service.await(ctx)
}

// counter counts calls that count, and tells when there are enough.
type counter struct {
	mu         sync.Mutex
	made, most int
	reached    chan struct{}
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.made
	if c.made += n; before < c.most && c.made >= c.most {
		close(c.reached)
	}
}
