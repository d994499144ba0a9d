package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// enoughPerKill is how many acknowledged calls a kill needs around it to have shown anything.
const enoughPerKill = 50

// report gathers the results and says what they come to.
type report struct {
	began    time.Time
	seed     uint64
	runs     []runResult
	traces   []traceResult
	outage   *outageResult
	sweep    *sweepResult
	linears  []*linearResult
	failures []string // why it failed
	skipped  []string // what was not looked at
}

// runResult is one crash experiment in numbers.
type runResult struct {
	Store        string         `json:"store"`
	Seed         uint64         `json:"seed"`
	Names        int            `json:"names"`
	Calls        int            `json:"calls"`
	Acknowledged int            `json:"acknowledged"`
	Unknown      int            `json:"unknown"`
	Denied       int            `json:"denied"`
	Unsent       int            `json:"unsent"`
	Answers      map[string]int `json:"answers"`
	Rows         int            `json:"rows"`
	Kills        int            `json:"kills"`
	Starts       int            `json:"starts"`
	Stops        int            `json:"stops"`
	Violations   map[string]int `json:"violations"`
	SlackMS      float64        `json:"slack_ms"`
	Seconds      float64        `json:"seconds"`

	settings string
	traces   []string
}

// count puts a judged experiment into numbers.
func count(store string, seed uint64, o outcome, found []violation) runResult {
	r := runResult{Store: store, Seed: seed, Names: o.names, Calls: len(o.calls), Answers: map[string]int{}, Rows: len(o.rows),
		Kills: o.kills, Starts: o.starts, Stops: o.stops, Violations: map[string]int{},
		SlackMS: float64(o.slack.Microseconds()) / 1000, Seconds: o.took.Round(100 * time.Millisecond).Seconds()}
	for _, c := range o.calls {
		switch c.fate {
		case answered:
			r.Acknowledged++
			r.Answers[c.answer()]++
		case unknown:
			r.Unknown++
		case denied:
			r.Denied++
		case unsent:
			r.Unsent++
		}
	}
	for _, v := range found {
		r.Violations[v.kind]++
	}
	r.traces = tell(o, found)
	return r
}

// answer is what a call came to, for counting.
func (c *call) answer() string {
	text := fmt.Sprintf("%s %d", c.kind, c.got.status)
	switch {
	case c.got.code != "":
		text += " " + c.got.code
	case c.granted() && c.got.takeover:
		text += " takeover"
	case c.granted() && c.got.record.attempt > 1:
		text += " again"
	}
	return text
}

// tell writes the first violations with all that is known of their names.
func tell(o outcome, found []violation) (texts []string) {
	const most = 5
	told := map[wire.Name]bool{}
	for _, v := range found {
		if told[v.name] || len(told) == most {
			continue
		}
		told[v.name] = true
		var b strings.Builder
		for _, other := range found {
			if other.name == v.name {
				fmt.Fprintf(&b, "VIOLATION %s of %q: %s\n", other.kind, other.name.Key, other.text)
			}
		}
		tellStory(&b, o, v.name)
		texts = append(texts, b.String())
	}
	return texts
}

func tellStory(b *strings.Builder, o outcome, name wire.Name) {
	const most = 80
	var calls []*call
	for _, c := range o.calls {
		if c.name == name {
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b *call) int { return cmp.Compare(a.sent, b.sent) })
	for _, c := range calls[:min(most, len(calls))] {
		fmt.Fprintln(b, "   ", c)
	}
	for _, r := range o.rows {
		if r.name == name {
			fmt.Fprintf(b, "    row: token %.8s, attempt id %s, %+v\n", r.token, r.attemptID, r.seen)
		}
	}
}

// String writes a call on one line.
func (c *call) String() string {
	text := fmt.Sprintf("%v-%v caller %d %s %s%.8s lease %v hold %t forget %t seq %d: %v", c.sent, c.answered, c.caller, c.kind,
		c.ask.attemptID, c.ask.token, c.ask.lease, c.ask.hold, c.ask.forget, c.ask.seq, c.fate)
	if c.fate == answered {
		text += fmt.Sprintf(" %d %s %.8s", c.got.status, c.got.code, c.got.token)
	}
	if r := c.got.record; r != nil {
		text += fmt.Sprintf(" [%s attempt %d fence %d until %s seq %d %s]", r.state, r.attempt, r.fence, r.leaseEnd, r.seq, r.summary)
	}
	return text
}

// quiet names a run in which too little happened.
func (r runResult) quiet() string {
	switch {
	case r.Acknowledged < enoughPerKill*(r.Kills+r.Stops):
		return fmt.Sprintf("%s: too quiet: %d acknowledged calls for %d kills and stops", r.Store, r.Acknowledged, r.Kills+r.Stops)
	case r.Unknown < r.Kills:
		return fmt.Sprintf("%s: too quiet: only %d calls lost their answers in %d kills", r.Store, r.Unknown, r.Kills)
	}
	return ""
}

// add takes in the result of an experiment.
func (r *report) add(run runResult) {
	r.runs = append(r.runs, run)
	for kind, n := range run.Violations {
		r.failures = append(r.failures, fmt.Sprintf("%s: %d × %s", run.Store, n, kind))
	}
	if quiet := run.quiet(); quiet != "" {
		r.failures = append(r.failures, quiet)
	}
}

func (r *report) failed() bool { return len(r.failures) > 0 }

// print writes everything for people, and at the end one line for machines.
func (r *report) print(w io.Writer) {
	for _, run := range r.runs {
		for _, trace := range run.traces {
			fmt.Fprintln(w, trace)
		}
	}
	r.printRuns(w)
	for _, t := range r.traces {
		t.print(w)
	}
	if r.outage != nil {
		r.outage.print(w)
	}
	if r.sweep != nil {
		r.sweep.print(w)
	}
	printLinears(w, r.linears)
	for _, text := range r.skipped {
		fmt.Fprintf(w, "\n!!! SKIPPED: %s\n", text)
	}
	fmt.Fprintln(w)
	slices.Sort(r.failures)
	for _, text := range r.failures {
		fmt.Fprintln(w, "FAILED:", text)
	}
	if !r.failed() {
		fmt.Fprintln(w, "No promise was broken.")
	}
	line, err := json.Marshal(struct {
		Date     string          `json:"date"`
		CPUs     int             `json:"cpus"`
		Seed     uint64          `json:"seed"`
		Runs     []runResult     `json:"runs"`
		Traces   []traceResult   `json:"traces"`
		Outage   *outageResult   `json:"outage,omitempty"`
		Sweep    *sweepResult    `json:"sweep,omitempty"`
		Linear   []*linearResult `json:"linear,omitempty"`
		Skipped  []string        `json:"skipped,omitempty"`
		Failures []string        `json:"failures"`
		Seconds  float64         `json:"seconds"`
	}{r.began.UTC().Format(time.DateOnly), runtime.NumCPU(), r.seed, r.runs, r.traces, r.outage, r.sweep, r.linears, r.skipped,
		append([]string{}, r.failures...), time.Since(r.began).Round(100 * time.Millisecond).Seconds()})
	if err != nil {
		panic(err) // plain values
	}
	fmt.Fprintf(w, "%s\n", line)
}

// printRuns writes a column for each experiment.
func (r *report) printRuns(w io.Writer) {
	if len(r.runs) == 0 {
		return
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(label string, value func(runResult) any) {
		fmt.Fprintf(table, "%s\t", label)
		for _, run := range r.runs {
			fmt.Fprintf(table, "%v\t", value(run))
		}
		fmt.Fprintln(table)
	}
	line("", func(r runResult) any { return r.Store })
	line("kills of the service", func(r runResult) any { return r.Kills })
	line("starts of the service", func(r runResult) any { return r.Starts })
	line("immediate stops of Postgres", func(r runResult) any { return r.Stops })
	line("names", func(r runResult) any { return r.Names })
	line("calls", func(r runResult) any { return r.Calls })
	line("acknowledged", func(r runResult) any { return r.Acknowledged })
	line("answer lost or unknown", func(r runResult) any { return r.Unknown })
	line("denied (store_unavailable)", func(r runResult) any { return r.Denied })
	line("connection refused", func(r runResult) any { return r.Unsent })
	for _, answer := range r.answers() {
		line(answer, func(r runResult) any { return r.Answers[answer] })
	}
	line("rows read at the end", func(r runResult) any { return r.Rows })
	line("clock slack, ms", func(r runResult) any { return r.SlackMS })
	line("seconds", func(r runResult) any { return r.Seconds })
	line("violations", func(r runResult) any {
		n := 0
		for _, found := range r.Violations {
			n += found
		}
		return n
	})
	table.Flush()
	for _, run := range r.runs {
		if run.settings != "" {
			fmt.Fprintf(w, "%s: %s\n", run.Store, run.settings)
		}
	}
}

// answers gives every answer that any experiment got, in order.
func (r *report) answers() (all []string) {
	for _, run := range r.runs {
		for answer := range run.Answers {
			if !slices.Contains(all, answer) {
				all = append(all, answer)
			}
		}
	}
	slices.Sort(all)
	return all
}
