package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

// linearResult is one run in numbers.
type linearResult struct {
	Store         string         `json:"store"`
	Operations    int            `json:"operations"` // that were judged: answered or in doubt
	Names         int            `json:"names"`
	Kills         int            `json:"kills"`
	Stops         int            `json:"stops"`
	Cuts          int            `json:"cuts"`
	Unfinished    int            `json:"unfinished"`
	Denied        int            `json:"denied"`
	Unsent        int            `json:"unsent"`
	Batches       int            `json:"batches"`
	Batched       int            `json:"batched"`     // calls
	Waits         int            `json:"waits"`       // calls that were to wait
	WaitsEnded    int            `json:"waits_ended"` // by something else than in_progress, after a while
	Takeovers     int            `json:"takeovers"`
	Outcomes      map[string]int `json:"outcomes"`
	Violations    int            `json:"violations"`
	Undecided     int            `json:"undecided"`
	SlackMS       float64        `json:"slack_ms"`
	Seconds       float64        `json:"seconds"`
	JudgedSeconds float64        `json:"judged_seconds"`

	floors map[string]int
	traces []string
}

// count puts a run into numbers.
func (e *linearRun) count(calls []*sentCall) *linearResult {
	r := &linearResult{Store: e.store, Kills: e.kills, Stops: e.stops, Cuts: e.cuts, Outcomes: map[string]int{}}
	r.floors = e.floors()
	names := map[*contested]bool{}
	batches := map[int]bool{}
	for _, s := range calls {
		names[s.on] = true
		switch s.fate {
		case denied:
			r.Denied++
			continue
		case unsent:
			r.Unsent++
			continue
		case unknown:
			r.Unfinished++
		default:
			r.note(s)
		}
		r.Operations++
		if s.batch != 0 {
			batches[s.batch] = true
			r.Batched++
		}
		if s.wait > 0 {
			r.Waits++
		}
	}
	r.Names, r.Batches = len(names), len(batches)
	return r
}

// note counts an answer.
func (r *linearResult) note(s *sentCall) {
	r.Outcomes[s.answer.Outcome.String()]++
	if s.answer.Outcome == storage.OutcomeAcquired && s.answer.Takeover {
		r.Takeovers++
	}
	if s.wait > 0 && s.answered-s.sent > s.wait/4 && s.answer.Outcome != storage.OutcomeInProgress {
		r.WaitsEnded++
	}
}

// floors are what a run must come to at least to show anything: a quarter or less of what it usually does.
func (e *linearRun) floors() map[string]int {
	kills, stops, cuts := e.planned()
	part := func(n int) int { return n * e.flags.operations / linearOperations }
	f := map[string]int{
		"calls": e.flags.operations, "kills": kills, "unfinished calls": 2 * kills,
		"batches": part(1000), "calls in batches": part(5000), "waits": part(1000), "waits that ended": part(50),
		"in_progress": part(5000), "takeovers": part(300), "replay": part(3000), "acquired": part(3000), "settled": part(500),
		"released": part(1000), "renewed": part(1000), "lease_lost": part(5000), "already_completed": part(500),
		"uncertain": part(100), "resolved": part(100), "expired": part(100), "response_unavailable": part(100),
	}
	if e.cluster != nil {
		f["stops"], f["cuts"], f["unfinished calls"] = stops, cuts/2, 2*kills+stops+cuts/4
	}
	return f
}

// quiet names what happened too seldom.
func (r *linearResult) quiet() (few []string) {
	got := map[string]int{"calls": r.Operations, "kills": r.Kills, "stops": r.Stops, "cuts": r.Cuts, "unfinished calls": r.Unfinished,
		"batches": r.Batches, "calls in batches": r.Batched, "waits": r.Waits, "waits that ended": r.WaitsEnded, "takeovers": r.Takeovers}
	for _, what := range slices.Sorted(maps.Keys(r.floors)) {
		n, ok := got[what]
		if !ok {
			n = r.Outcomes[what]
		}
		if n < r.floors[what] {
			few = append(few, fmt.Sprintf("%s: order of calls: too quiet: %s: %d, want %d", r.Store, what, n, r.floors[what]))
		}
	}
	return few
}

// judge takes in the names for which no order was found, with their histories and pictures in files.
func (r *linearResult) judge(found []linear.Finding) {
	const written = 3
	for i, f := range found {
		if f.Undecided {
			r.Undecided++
		} else {
			r.Violations++
		}
		if i < written {
			folder, err := f.Write()
			r.traces = append(r.traces, fmt.Sprintf("%s: the history of %q, and a picture of it, are in %s (%v)\n%v", r.Store, f.Name.Key, folder, err, f))
		}
	}
}

// failures is why the run failed.
func (r *linearResult) failures() []string {
	all := r.quiet()
	if r.Violations > 0 {
		all = append(all, fmt.Sprintf("%s: %d names whose answers no order explains", r.Store, r.Violations))
	}
	if r.Undecided > 0 {
		all = append(all, fmt.Sprintf("%s: %d names for which an order was not found within %v", r.Store, r.Undecided, linearSearch))
	}
	return all
}

// printLinears writes a column for each store.
func printLinears(w io.Writer, all []*linearResult) {
	if len(all) == 0 {
		return
	}
	for _, r := range all {
		for _, trace := range r.traces {
			fmt.Fprintln(w, trace)
		}
	}
	fmt.Fprintln(w, "\nIs there an order of all calls on a name that explains every answer?")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(label string, value func(*linearResult) any) {
		fmt.Fprintf(table, "%s\t", label)
		for _, r := range all {
			fmt.Fprintf(table, "%v\t", value(r))
		}
		fmt.Fprintln(table)
	}
	line("", func(r *linearResult) any { return r.Store })
	line("calls judged", func(r *linearResult) any { return r.Operations })
	line("names", func(r *linearResult) any { return r.Names })
	line("kills of the service", func(r *linearResult) any { return r.Kills })
	line("immediate stops of Postgres", func(r *linearResult) any { return r.Stops })
	line("cuts between service and Postgres", func(r *linearResult) any { return r.Cuts })
	line("without an answer", func(r *linearResult) any { return r.Unfinished })
	line("denied (store_unavailable)", func(r *linearResult) any { return r.Denied })
	line("connection refused", func(r *linearResult) any { return r.Unsent })
	line("batches", func(r *linearResult) any { return r.Batches })
	line("calls in batches", func(r *linearResult) any { return r.Batched })
	line("reserves with wait", func(r *linearResult) any { return r.Waits })
	line("of them ended by the holder", func(r *linearResult) any { return r.WaitsEnded })
	line("takeovers", func(r *linearResult) any { return r.Takeovers })
	for _, outcome := range outcomesOf(all) {
		line(outcome, func(r *linearResult) any { return r.Outcomes[outcome] })
	}
	line("clock slack, ms", func(r *linearResult) any { return r.SlackMS })
	line("seconds", func(r *linearResult) any { return fmt.Sprintf("%.0f", r.Seconds) })
	line("seconds of judging", func(r *linearResult) any { return fmt.Sprintf("%.0f", r.JudgedSeconds) })
	line("names not decided in time", func(r *linearResult) any { return r.Undecided })
	line("violations", func(r *linearResult) any { return r.Violations })
	table.Flush()
}

// outcomesOf gives every outcome that any run had, in order.
func outcomesOf(all []*linearResult) (outcomes []string) {
	for _, r := range all {
		for o := range r.Outcomes {
			if !slices.Contains(outcomes, o) {
				outcomes = append(outcomes, o)
			}
		}
	}
	slices.Sort(outcomes)
	return outcomes
}
