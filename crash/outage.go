package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	deniedWithin   = 3 * time.Second // an outage is answered while the caller still listens
	servedWithin   = 2 * time.Second // after Postgres accepts connections again
	outageLoad     = 8               // callers that have calls under way when Postgres freezes
	frozenUnderway = 12 * time.Second
)

// outageResult is what was measured while Postgres was away, in milliseconds.
type outageResult struct {
	StoppedDeniedMS int64 `json:"stopped_denied_ms"` // the slowest 503 of a reserve
	StartedServedMS int64 `json:"started_served_ms"` // from when Postgres accepts connections to a served reserve
	FrozenDeniedMS  int64 `json:"frozen_denied_ms"`
	ThawedServedMS  int64 `json:"thawed_served_ms"`
	Starts          int   `json:"starts"` // of the service: one
	// Calls that were under way, or came, while Postgres was frozen under load.
	LoadSlowestMS map[string]int64 `json:"load_slowest_ms"` // by answer
	LoadAnswers   map[string]int   `json:"load_answers"`

	violations []string
}

func (o *outageResult) print(w io.Writer) {
	fmt.Fprintf(w, "\nOutage of Postgres, without a restart of the service (%d start):\n", o.Starts)
	fmt.Fprintf(w, "   stopped: a reserve is answered 503 store_unavailable within %d ms (allowed: %v), /readyz 503, /livez 200\n", o.StoppedDeniedMS, deniedWithin)
	fmt.Fprintf(w, "   started: a reserve is served %d ms after Postgres accepts connections (allowed: %v)\n", o.StartedServedMS, servedWithin)
	fmt.Fprintf(w, "   frozen:  a reserve is answered 503 store_unavailable within %d ms (allowed: %v), /readyz 503, /livez 200\n", o.FrozenDeniedMS, deniedWithin)
	fmt.Fprintf(w, "   thawed:  a reserve is served %d ms after Postgres goes on (allowed: %v)\n", o.ThawedServedMS, servedWithin)
	for _, answer := range slices.Sorted(maps.Keys(o.LoadAnswers)) {
		fmt.Fprintf(w, "   frozen for %v under load: %d × %s, the slowest after %d ms (measured, no promise)\n", frozenUnderway,
			o.LoadAnswers[answer], answer, o.LoadSlowestMS[answer])
	}
}

// outagePostgres takes Postgres away from a running service, and gives it back.
func (r *report) outagePostgres(ctx context.Context, g *grounds) error {
	say("Postgres: outages")
	return withPostgres(ctx, g, func(p postgres) error {
		if err := p.service.start(ctx); err != nil {
			return err
		}
		o := &outageResult{LoadAnswers: map[string]int{}, LoadSlowestMS: map[string]int64{}}
		r.outage = o
		probe := newProbe(p.service, g)
		if err := probe.served(ctx); err != nil {
			return err
		}
		p.cluster.Stop()
		o.StoppedDeniedMS = o.away(ctx, probe, "stopped")
		p.cluster.Start()
		o.StartedServedMS = o.back(ctx, probe, "started")
		p.cluster.Pause()
		o.FrozenDeniedMS = o.away(ctx, probe, "frozen")
		p.cluster.Resume()
		o.ThawedServedMS = o.back(ctx, probe, "thawed")
		o.underLoad(ctx, probe, p)
		o.Starts = p.service.starts
		r.failures = append(r.failures, o.violations...)
		return nil
	})
}

func (o *outageResult) accuse(format string, args ...any) {
	o.violations = append(o.violations, "outage: "+fmt.Sprintf(format, args...))
}

// away looks at the service while Postgres is away: each answer says so, and soon.
func (o *outageResult) away(ctx context.Context, p *probe, how string) (slowestMS int64) {
	for range 5 {
		c := p.reserve(ctx)
		took := c.answered - c.sent
		slowestMS = max(slowestMS, took.Milliseconds())
		if c.fate != denied || c.got.status != http.StatusServiceUnavailable || took > deniedWithin {
			o.accuse("%s: after %v: %v", how, took, c)
		}
	}
	for path, want := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/livez": http.StatusOK} {
		if got, err := p.status(ctx, path); err != nil || got != want {
			o.accuse("%s: %s answered %d (%v), not %d", how, path, got, err, want)
		}
	}
	return slowestMS
}

// back measures how long it takes until a reserve is served.
func (o *outageResult) back(ctx context.Context, p *probe, how string) int64 {
	began := time.Now()
	if err := p.served(ctx); err != nil {
		o.accuse("%s: %v", how, err)
	}
	took := time.Since(began)
	if took > servedWithin {
		o.accuse("%s: served after %v only", how, took)
	}
	if got, err := p.status(ctx, "/readyz"); err != nil || got != http.StatusOK {
		o.accuse("%s: /readyz answered %d (%v)", how, got, err)
	}
	return took.Milliseconds()
}

// underLoad freezes Postgres while calls are under way, for longer than the service waits for anything. A change that
// was sent is waited for, so that these answers take longer than the promise to a call that comes during an outage.
func (o *outageResult) underLoad(ctx context.Context, p *probe, pg postgres) {
	working, stop := context.WithCancel(ctx)
	var callers []*caller
	var all sync.WaitGroup
	for id := range outageLoad {
		c := newCaller(id, 1, p.api, p.caller.names, p.caller.clock.base)
		callers = append(callers, c)
		all.Go(func() { c.run(working) })
	}
	sleep(ctx, time.Second)
	pg.cluster.Pause()
	frozen := p.caller.clock.now()
	sleep(ctx, frozenUnderway)
	thawed := p.caller.clock.now()
	pg.cluster.Resume()
	stop()
	all.Wait()
	for _, c := range callers {
		for _, call := range c.log {
			if call.answered < frozen || call.sent > thawed {
				continue
			}
			answer := fmt.Sprintf("%d %s", call.got.status, call.got.code)
			o.LoadAnswers[answer]++
			o.LoadSlowestMS[answer] = max(o.LoadSlowestMS[answer], (call.answered - call.sent).Milliseconds())
		}
	}
	o.back(ctx, p, "thawed under load")
}

// probe asks a service how it is.
type probe struct {
	api    *api
	caller *caller
}

func newProbe(s *service, g *grounds) *probe {
	api := newAPI(s.where, g.token)
	return &probe{api: api, caller: newCaller(1000, 0, api, newNames(), time.Now())}
}

// reserve reserves a fresh name, once.
func (p *probe) reserve(ctx context.Context) *call {
	name := p.caller.names.fresh()
	c := &call{kind: reserve, name: name, ask: ask{attemptID: fmt.Sprintf("probe-%d", p.caller.next()), fingerprint: fingerprintOf(name)}}
	p.api.put(ctx, c, p.caller.clock)
	return c
}

// served reserves until it is granted.
func (p *probe) served(ctx context.Context) error {
	deadline := time.Now().Add(patience)
	for {
		c := p.reserve(ctx)
		if c.granted() {
			return nil
		}
		if time.Now().After(deadline) || !sleep(ctx, 5*time.Millisecond) {
			return fmt.Errorf("no reserve is served: %v", c)
		}
	}
}

func (p *probe) status(ctx context.Context, path string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.api.where.get(ctx)+path, nil)
	if err != nil {
		return 0, err
	}
	response, err := p.api.client.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}
