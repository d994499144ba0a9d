package main

import (
	"context"
	"time"

	"github.com/reprise-idempotency/reprise/storage/storagetest/faultproxy"
)

// planned is how often things are killed, stopped and cut, after what the flags ask of the first experiment.
func (e *linearRun) planned() (kills, stops, cuts int) {
	kills = (e.flags.kills + 3) / 4
	if e.cluster != nil {
		stops, cuts = (e.flags.stops+3)/4, 3*kills
	}
	return kills, stops, cuts
}

// mayhem kills, stops and cuts in random order and at random moments.
func (e *linearRun) mayhem(ctx context.Context) error {
	kills, stops, cuts := e.planned()
	var events []func(context.Context) error
	for range kills {
		events = append(events, e.killService)
	}
	for range stops {
		events = append(events, e.stopPostgres)
	}
	for range cuts {
		events = append(events, e.cut)
	}
	e.rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	gap := 2 * linearPace / time.Duration(max(1, len(events)))
	for _, event := range events {
		if !sleep(ctx, time.Duration(e.rng.Int64N(int64(gap)))) {
			return context.Cause(ctx)
		}
		if err := event(ctx); err != nil {
			return err
		}
	}
	return nil
}

// linearPace is how long the mayhem takes by the pauses between its events.
const linearPace = 25 * time.Second

// killService kills the service and starts it again.
func (e *linearRun) killService(ctx context.Context) error {
	if err := e.service.kill(); err != nil {
		return err
	}
	e.kills++
	return e.service.start(ctx)
}

// stopPostgres stops Postgres as a crash does, and starts it again under a service that goes on.
func (e *linearRun) stopPostgres(ctx context.Context) error {
	e.cluster.StopImmediate()
	e.stops++
	sleep(ctx, time.Duration(e.rng.Int64N(int64(300*time.Millisecond))))
	e.cluster.Start()
	return nil
}

// cutPatience is for a cut whose message does not come, because the service has just been killed or the database stopped.
const cutPatience = time.Second

// cut breaks a connection between service and database, before, after or in the middle of a message of either side.
func (e *linearRun) cut(ctx context.Context) error {
	e.proxy.Forget()
	fault := faultproxy.Fault{
		Direction: faultproxy.Direction(e.rng.IntN(2)),
		Message:   1 + e.rng.IntN(40),
		At:        faultproxy.Position(e.rng.IntN(3)),
		Offset:    1 + e.rng.IntN(60),
		Reset:     e.rng.IntN(2) == 0,
	}
	armed := e.proxy.Arm(fault)
	defer e.proxy.Disarm()
	select {
	case <-armed.Fired():
		e.cuts++
	case <-time.After(cutPatience):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
