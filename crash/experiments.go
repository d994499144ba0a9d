package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// runAll does the experiments that the flags ask for, one after the other. One that fails does not keep the others
// from running.
func (r *report) runAll(ctx context.Context, f flags) error {
	g, err := newGrounds(ctx)
	if err != nil {
		return err
	}
	defer g.Close()
	for _, e := range []struct {
		kind, store string
		do          func() error
	}{
		{kindKills, storeSQLite, func() error { return r.crashSQLite(ctx, f, g) }},
		{kindFlush, storeSQLite, func() error { return r.traceSQLite(ctx, g) }},
		{kindLinear, storeSQLite, func() error { return r.linearSQLite(ctx, f, g) }},
		{kindKills, storePostgres, func() error { return r.crashPostgres(ctx, f, g) }},
		{kindFlush, storePostgres, func() error { return r.tracePostgres(ctx, g) }},
		{kindOutages, storePostgres, func() error { return r.outagePostgres(ctx, g) }},
		{kindSweep, storePostgres, func() error { return r.sweepPostgres(ctx, g) }},
		{kindLinear, storePostgres, func() error { return r.linearPostgres(ctx, f, g) }},
	} {
		if (f.store == "both" || f.store == e.store) && (f.only == "" || f.only == e.kind) {
			r.note(e.do())
		}
	}
	return nil
}

// The kinds of experiments.
const (
	kindKills   = "kills"
	kindFlush   = "flush"
	kindOutages = "outages"
	kindSweep   = "sweep"
	kindLinear  = "linear"
)

var kinds = []string{kindKills, kindFlush, kindOutages, kindSweep, kindLinear}

// note keeps the error of an experiment for the end.
func (r *report) note(err error) {
	if err != nil {
		r.failures = append(r.failures, err.Error())
	}
}

// say tells what is going on; the results come later.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (r *report) crashSQLite(ctx context.Context, f flags, g *grounds) error {
	say("SQLite: %d kills of the service, %d callers, seed %d", f.kills, f.callers, f.seed)
	s := &service{lab: g.Lab, databaseURL: "sqlite:" + filepath.Join(g.Folder, "crash.db"), where: newAddress()}
	return r.crash(ctx, &experiment{flags: f, grounds: g, store: storeSQLite, service: s, rng: rand.New(rand.NewPCG(f.seed, 1<<40))}, "")
}

func (r *report) crashPostgres(ctx context.Context, f flags, g *grounds) error {
	say("Postgres: %d kills of the service, %d immediate stops of Postgres, %d callers, seed %d", f.kills, f.stops, f.callers, f.seed)
	return withPostgres(ctx, g, func(p postgres) error {
		e := &experiment{flags: f, grounds: g, store: storePostgres, service: p.service, cluster: p.cluster, rng: rand.New(rand.NewPCG(f.seed, 2<<40))}
		return r.crash(ctx, e, p.settings)
	})
}

// crash runs an experiment and judges it, also when it did not come to its end.
func (r *report) crash(ctx context.Context, e *experiment, settings string) error {
	o, err := e.run(ctx)
	err = errors.Join(err, o.broken, e.service.kill())
	if err != nil {
		err = fmt.Errorf("%s: %w", e.store, err)
	}
	found := judge(evidence{calls: o.calls, rows: o.rows, haveRows: o.rows != nil, slack: o.slack})
	run := count(e.store, e.flags.seed, o, found)
	run.settings = settings
	r.add(run)
	return err
}
