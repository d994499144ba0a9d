package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reprise-idempotency/reprise/client/wire"
)

const (
	sweptKeys    = 100_000         // that are made, most of them to be swept
	sweepCallers = 12              // enough to keep two processors busy
	noRest       = "1ms"           // between two sweeps of a replica
	sweepBound   = 2 * time.Minute // after which no more keys are made
)

// sweepResult is what two replicas and a third sweeper did to the keys of callers who were at work on them.
type sweepResult struct {
	Keys      int     `json:"keys"`       // that were made
	Calls     int     `json:"calls"`      // that were answered
	Aged      int     `json:"aged"`       // keys that were made due
	Renewed   int     `json:"renewed"`    // of them, that were acquired anew at once
	Kept      int     `json:"kept"`       // live leases and unexpired settlements at the end
	Sweeps    [3]int  `json:"sweeps"`     // of the two replicas, and of `reprise sweep`
	Deleted   [3]int  `json:"deleted"`    // rows, by each
	BrokenOff int     `json:"broken_off"` // sweeps, by any
	Deadlocks int     `json:"deadlocks"`  // in the log of Postgres, whoever met them
	Seconds   float64 `json:"seconds"`    // while callers and sweepers worked
	Rate      float64 `json:"rate"`       // rows deleted in each of them
	AloneRows int     `json:"alone_rows"` // deleted by one sweep when nobody calls
	AloneRate float64 `json:"alone_rate"` // rows deleted in each second of that

	violations []string
}

func (s *sweepResult) print(w io.Writer) {
	fmt.Fprintf(w, "\nSweeping under load: two replicas that never rest and a loop of reprise sweep, %d callers (%.1f s):\n", sweepCallers, s.Seconds)
	fmt.Fprintf(w, "   %d keys made in %d calls; %d of them aged by %d hours, %d of these acquired anew at once\n", s.Keys, s.Calls, s.Aged, agedBy, s.Renewed)
	for i, who := range []string{"replica 1", "replica 2", "reprise sweep"} {
		fmt.Fprintf(w, "   %s: %d rows deleted in %d sweeps\n", who, s.Deleted[i], s.Sweeps[i])
	}
	fmt.Fprintf(w, "   sweep rate: %.0f rows/s beside the callers; %.0f rows/s alone (%d rows)\n", s.Rate, s.AloneRate, s.AloneRows)
	fmt.Fprintf(w, "   %d live leases and unexpired settlements looked for at the end\n", s.Kept)
	fmt.Fprintf(w, "   deadlocks in the log of Postgres: %d; sweeps broken off: %d; violations: %d\n", s.Deadlocks, s.BrokenOff, len(s.violations))
}

func (s *sweepResult) accuse(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// sweepPostgres lets callers make keys, age most of them past the service, and go on with some of these, while everybody
// sweeps; and looks for what was acknowledged.
func (r *report) sweepPostgres(ctx context.Context, g *grounds) error {
	say("Postgres: sweeping under load, %d keys", sweptKeys)
	return withPostgres(ctx, g, func(p postgres) (err error) {
		s := &sweepResult{}
		r.sweep = s
		e := &sweeping{grounds: g, url: p.service.databaseURL, result: s}
		defer func() { err = errors.Join(err, e.close()) }()
		if err := e.start(ctx); err != nil {
			return err
		}
		if err := e.underLoad(ctx); err != nil {
			return err
		}
		if err := e.alone(ctx); err != nil {
			return err
		}
		s.Deadlocks = strings.Count(p.cluster.Log(), "deadlock detected")
		r.failures = append(r.failures, s.failures()...)
		return nil
	})
}

// failures says why the experiment failed, if it did.
func (s *sweepResult) failures() (why []string) {
	const most = 10
	for _, text := range s.violations[:min(most, len(s.violations))] {
		why = append(why, "sweeping: "+text)
	}
	switch {
	case len(s.violations) > most:
		why = append(why, fmt.Sprintf("sweeping: and %d violations more", len(s.violations)-most))
	case len(s.violations) == 0 && s.Keys < sweptKeys/4:
		why = append(why, fmt.Sprintf("sweeping: too quiet: only %d keys in %v", s.Keys, sweepBound))
	}
	if s.BrokenOff > 0 {
		why = append(why, fmt.Sprintf("sweeping: %d sweeps were broken off", s.BrokenOff))
	}
	return why
}

// sweeping is the experiment while it runs.
type sweeping struct {
	grounds  *grounds
	url      string
	replicas [2]*service
	past     *pgxpool.Pool // past the service
	result   *sweepResult
}

func (e *sweeping) start(ctx context.Context) (err error) {
	if e.past, err = pgxpool.New(ctx, e.url); err != nil {
		return err
	}
	for i := range e.replicas {
		e.replicas[i] = &service{lab: e.grounds.Lab, databaseURL: e.url, where: newAddress(), more: []string{"--sweep-interval", noRest}}
		if err := e.replicas[i].start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e *sweeping) close() (err error) {
	for _, replica := range e.replicas {
		if replica != nil {
			err = errors.Join(err, replica.kill())
		}
	}
	if e.past != nil {
		e.past.Close()
	}
	return err
}

// underLoad runs callers and sweepers, sweeps once more, and judges.
func (e *sweeping) underLoad(ctx context.Context) error {
	s, began := e.result, time.Now()
	sweeps, stop := context.WithCancel(ctx)
	var sweeping sync.WaitGroup
	var third error
	sweeping.Go(func() { third = e.sweepUntil(sweeps) })
	callers := e.call(ctx, began.Add(sweepBound))
	if err := errors.Join(e.note(ctx), ctx.Err()); err != nil {
		stop()
		sweeping.Wait()
		return err
	}
	stop()
	sweeping.Wait()
	s.Seconds = time.Since(began).Seconds()
	s.Rate = float64(s.Deleted[0]+s.Deleted[1]+s.Deleted[2]) / s.Seconds
	if third != nil {
		s.accuse("reprise sweep: %v", third)
	}
	for _, replica := range e.replicas { // so that nobody but us changes anything any more
		if err := replica.stop(); err != nil {
			return err
		}
	}
	if _, err := e.sweepOnce(ctx); err != nil { // what became due behind the last sweep
		return err
	}
	rows, err := e.readSwept(ctx)
	if err != nil {
		return err
	}
	kept := map[wire.Name]keeping{}
	for _, c := range callers {
		c.addTo(s, kept)
	}
	s.Kept = len(kept)
	s.violations = append(s.violations, judgeSwept(kept, rows)...)
	return nil
}

// call runs the callers until they have made their keys, or the time is over.
func (e *sweeping) call(ctx context.Context, until time.Time) []*sweepCaller {
	var callers []*sweepCaller
	var all sync.WaitGroup
	for id := range sweepCallers {
		c := newSweepCaller(id, e)
		callers = append(callers, c)
		all.Go(func() { c.run(ctx, sweptKeys/sweepCallers+1, until) })
	}
	all.Wait()
	return callers
}

// swept is what `reprise sweep` prints.
type swept struct {
	Due         int
	Deleted     int
	TookSeconds float64 `json:"took_seconds"`
}

// thirdRests is how long the loop of `reprise sweep` rests: the start of a process costs more than the sweep, and the
// replicas never rest.
const thirdRests = 200 * time.Millisecond

// sweepUntil runs `reprise sweep` again and again until ctx ends. The last one is not cut off.
func (e *sweeping) sweepUntil(ctx context.Context) error {
	for ctx.Err() == nil {
		done, err := e.sweepOnce(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		e.result.Sweeps[2]++
		e.result.Deleted[2] += done.Deleted
		sleep(ctx, thirdRests)
	}
	return nil
}

func (e *sweeping) sweepOnce(ctx context.Context) (done swept, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var stderr strings.Builder
	cmd := e.grounds.Command(ctx, "sweep", "--database-url", e.url)
	cmd.SysProcAttr, cmd.Stderr = die(), &stderr
	out, err := cmd.Output()
	if err != nil {
		return done, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return done, json.Unmarshal(out, &done)
}

// note asks the replicas what they swept.
func (e *sweeping) note(ctx context.Context) error {
	for i, replica := range e.replicas {
		counted, err := metricsOf(ctx, replica.where.get(ctx))
		if err != nil {
			return err
		}
		e.result.Deleted[i] = int(counted["reprise_swept_keys_total"])
		e.result.Sweeps[i] = int(counted[`reprise_sweeps_total{result="ok"}`])
		e.result.BrokenOff += int(counted[`reprise_sweeps_total{result="error"}`])
	}
	return nil
}

// metricsOf gives the value of each series.
func metricsOf(ctx context.Context, url string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	values := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			values[line[:at]], _ = strconv.ParseFloat(strings.TrimSpace(line[at:]), 64) // or it is none of ours
		}
	}
	return values, err
}

// alone ages all that is left, and lets one sweep have it.
func (e *sweeping) alone(ctx context.Context) error {
	if _, err := e.past.Exec(ctx, `UPDATE reprise_keys SET `+backByHours+` WHERE state <> 1`); err != nil {
		return fmt.Errorf("aging what is left: %w", err)
	}
	done, err := e.sweepOnce(ctx)
	if err != nil {
		return err
	}
	e.result.AloneRows, e.result.AloneRate = done.Deleted, float64(done.Deleted)/done.TookSeconds
	return nil
}
