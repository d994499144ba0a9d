package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/storage/storagetest/lab"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// experiment is one run of callers against one store, while things are killed.
type experiment struct {
	flags   flags
	grounds *grounds
	store   string
	service *service
	cluster *pgtest.Server // nil on SQLite
	rng     *rand.Rand

	kills, stops int
}

// outcome is what an experiment left to be judged.
type outcome struct {
	calls  []*call
	rows   []row
	slack  time.Duration
	names  int
	kills  int
	starts int
	stops  int
	took   time.Duration
	broken error // why the run did not come to its end; what was seen until then is judged all the same
}

// run lets the callers work, kills, and looks at what is there afterwards.
func (e *experiment) run(ctx context.Context) (o outcome, err error) {
	began := time.Now()
	if err := e.service.start(ctx); err != nil {
		return o, err
	}
	api := newAPI(e.service.where, e.grounds.token)
	names := newNames()
	var callers []*caller
	for id := range e.flags.callers {
		callers = append(callers, newCaller(id, e.flags.seed, api, names, began))
	}
	o.broken = e.work(ctx, callers)
	if err := e.settleDown(ctx); err != nil {
		return o, err
	}
	witnesses := examine(ctx, api, names.past, began, e.flags.callers)
	if err := e.service.stop(); err != nil {
		return o, fmt.Errorf("stopping the service in order: %w", err)
	}
	o.rows, err = e.readRows(ctx)
	var clocks []*clock
	for _, c := range append(callers, witnesses...) {
		o.calls = append(o.calls, c.log...)
		clocks = append(clocks, c.clock)
	}
	o.slack = slack(clocks...)
	o.names, o.kills, o.stops, o.starts = len(names.past), e.kills, e.stops, e.service.starts
	o.took = time.Since(began)
	return o, err
}

// work runs the callers while the mayhem lasts.
func (e *experiment) work(ctx context.Context, callers []*caller) error {
	working, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, c := range callers {
		all.Go(func() { c.run(working) })
	}
	err := lab.AsTest(func(testing.TB) error { return e.mayhem(ctx) })
	stop()
	all.Wait()
	return err
}

// settleDown sees to it that everything runs for the last look.
func (e *experiment) settleDown(ctx context.Context) error {
	if e.service.process == nil {
		return e.service.start(ctx)
	}
	return e.service.await(ctx)
}

// mayhem kills and stops, in random order and at random moments.
func (e *experiment) mayhem(ctx context.Context) error {
	var events []func(context.Context) error
	for range e.flags.kills {
		events = append(events, e.killService)
	}
	if e.cluster != nil {
		for range e.flags.stops {
			events = append(events, e.stopPostgres)
		}
	}
	e.rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	for _, event := range events {
		if !sleep(ctx, e.upTo(1200*time.Millisecond)) {
			return context.Cause(ctx)
		}
		if err := event(ctx); err != nil {
			return err
		}
	}
	sleep(ctx, time.Second)
	return nil
}

// killService kills the service and starts it again; now and then it is killed while it starts.
func (e *experiment) killService(ctx context.Context) error {
	if e.kills == e.flags.kills {
		return nil
	}
	if err := e.service.kill(); err != nil {
		return err
	}
	e.kills++
	if e.rng.IntN(3) == 0 {
		sleep(ctx, e.upTo(80*time.Millisecond))
	}
	if err := e.service.launch(); err != nil {
		return err
	}
	if e.kills < e.flags.kills && e.rng.IntN(8) == 0 {
		sleep(ctx, e.upTo(60*time.Millisecond))
		return e.killService(ctx)
	}
	return e.service.await(ctx)
}

// stopPostgres stops Postgres as a crash does, and starts it again. The service is not told; now and then it is
// killed in between, so that it starts without a database.
func (e *experiment) stopPostgres(ctx context.Context) error {
	e.cluster.StopImmediate()
	e.stops++
	sleep(ctx, e.upTo(500*time.Millisecond))
	if e.rng.IntN(4) == 0 {
		if err := e.killService(ctx); err != nil {
			return err
		}
	}
	e.cluster.Start()
	return nil
}

func (e *experiment) upTo(most time.Duration) time.Duration {
	return time.Duration(e.rng.Int64N(int64(most)))
}

// sleep waits; it gives false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// examine asks for every name once more, after everything: by a lookup and, where that shows a settled record, by a
// reserve, which must be a replay. These calls join the history, and its rules hold for them as for any.
func examine(ctx context.Context, api *api, all []wire.Name, began time.Time, firstID int) []*caller {
	const examiners = 8
	var witnesses []*caller
	var busy sync.WaitGroup
	for i := range examiners {
		c := newCaller(firstID+i, 0, api, nil, began)
		witnesses = append(witnesses, c)
		busy.Go(func() {
			for at := i; at < len(all) && ctx.Err() == nil; at += examiners {
				found := c.put(ctx, lookup, all[at], ask{})
				if found != nil && found.got.record != nil && found.got.record.hasContent {
					c.put(ctx, reserve, all[at], ask{attemptID: fmt.Sprintf("witness-%d-%d", i, at), fingerprint: found.got.record.fingerprint})
				}
			}
		})
	}
	busy.Wait()
	return witnesses
}
