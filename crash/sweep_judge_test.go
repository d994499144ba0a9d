package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// Ensure that the judge of the sweeping finds each way in which something acknowledged can be lost, and nothing in a table
// that is as it must be.
func TestJudgeSwept(t *testing.T) {
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	live, settled := wire.Name{Key: "live"}, wire.Name{Key: "settled"}
	kept := map[wire.Name]keeping{
		live:    {token: "t1", fence: 10, state: "in_progress", until: until},
		settled: {token: "t2", fence: 20, state: "completed"},
	}
	for name, c := range map[string]struct {
		change func(rows map[wire.Name]sweptRow)
		want   []string
	}{
		"as it must be":      {func(map[wire.Name]sweptRow) {}, nil},
		"a longer lease":     {func(r map[wire.Name]sweptRow) { edit(r, live, func(r *sweptRow) { r.until = until.Add(1) }) }, nil},
		"a row is missing":   {func(r map[wire.Name]sweptRow) { delete(r, settled) }, []string{"settled: completed with fence 20 was acknowledged"}},
		"both are missing":   {func(r map[wire.Name]sweptRow) { clear(r) }, []string{"live: in_progress with fence 10", "settled: completed"}},
		"another token":      {func(r map[wire.Name]sweptRow) { edit(r, live, func(r *sweptRow) { r.token = "t3" }) }, []string{"live: the row is of another acquisition"}},
		"another fence":      {func(r map[wire.Name]sweptRow) { edit(r, live, func(r *sweptRow) { r.fence = 11 }) }, []string{"live: the row is of another acquisition, with fence 11"}},
		"another state":      {func(r map[wire.Name]sweptRow) { edit(r, settled, func(r *sweptRow) { r.state = "in_progress" }) }, []string{"settled: the row is in_progress"}},
		"a shorter lease":    {func(r map[wire.Name]sweptRow) { edit(r, live, func(r *sweptRow) { r.until = until.Add(-1) }) }, []string{"live: the lease of the row ends"}},
		"a kept row is due":  {func(r map[wire.Name]sweptRow) { edit(r, settled, func(r *sweptRow) { r.due = true }) }, []string{"settled: the row is due"}},
		"a due row was left": {func(r map[wire.Name]sweptRow) { r[wire.Name{Key: "old"}] = sweptRow{due: true} }, []string{"old: a row that nobody keeps is left, due true"}},
	} {
		t.Run(name, func(t *testing.T) {
			rows := map[wire.Name]sweptRow{live: {keeping: kept[live]}, settled: {keeping: kept[settled]}}
			c.change(rows)
			got := judgeSwept(kept, rows)
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func edit(rows map[wire.Name]sweptRow, name wire.Name, change func(*sweptRow)) {
	r := rows[name]
	change(&r)
	rows[name] = r
}

// Ensure that the experiment fails by what the judge found, by sweeps that were broken off, and when too little happened;
// and not otherwise.
func TestSweepingFails(t *testing.T) {
	for name, c := range map[string]struct {
		result sweepResult
		want   []string
	}{
		"all went well":   {sweepResult{Keys: sweptKeys}, nil},
		"a violation":     {sweepResult{Keys: 1, violations: []string{"x"}}, []string{"sweeping: x"}},
		"a broken sweep":  {sweepResult{Keys: sweptKeys, BrokenOff: 1}, []string{"sweeping: 1 sweeps were broken off"}},
		"too quiet":       {sweepResult{Keys: 10}, []string{"sweeping: too quiet: only 10 keys"}},
		"many violations": {sweepResult{violations: slices.Repeat([]string{"x"}, 12)}, append(slices.Repeat([]string{"sweeping: x"}, 10), "sweeping: and 2 violations more")},
	} {
		if got := c.result.failures(); !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
