package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A killed process loses nothing that it has written, because the kernel still has it: only a loss of power would.
// Whether an acknowledged call is on disk is therefore looked at where it can be seen: in the order of the system
// calls behind one lone reserve and one lone complete.

// traceResult is that order for one store.
type traceResult struct {
	Store   string `json:"store"`
	Flushed bool   `json:"flushed"`
	Answers int    `json:"answers"`

	evidence []string
}

func (t traceResult) print(w io.Writer) {
	fmt.Fprintf(w, "\nFlushed before it is answered, %s: %t\n", t.Store, t.Flushed)
	for _, line := range t.evidence {
		fmt.Fprintln(w, "  ", line)
	}
}

func (r *report) traceSQLite(ctx context.Context, g *grounds) error {
	say("SQLite: the order of write, flush and answer")
	s := &service{lab: g.Lab, databaseURL: "sqlite:" + filepath.Join(g.Folder, "trace.db"), where: newAddress()}
	if err := s.start(ctx); err != nil {
		return err
	}
	rule := flushRule{store: storeSQLite, isLog: func(e event) bool { return strings.Contains(e.args, "trace.db-wal>") }}
	err := r.trace(ctx, g, s, rule, s.process.PID())
	return errors.Join(err, s.stop())
}

func (r *report) tracePostgres(ctx context.Context, g *grounds) error {
	say("Postgres: the order of write, flush and answer")
	return withPostgres(ctx, g, func(p postgres) error {
		if err := p.service.start(ctx); err != nil {
			return err
		}
		rule := flushRule{
			store: storePostgres,
			isLog: func(e event) bool { return strings.Contains(e.args, "/pg_wal/") },
			// What Postgres tells the service: one row was written.
			databaseAnswer: func(e event) bool {
				return e.name == "sendto" && (strings.Contains(e.args, `INSERT 0 1`) || strings.Contains(e.args, `UPDATE 1`))
			},
		}
		family, err := familyOf(p.cluster.PID())
		if err != nil {
			return err
		}
		// The service has no connection but the one that its start made, and its process is among the family.
		return r.trace(ctx, g, p.service, rule, append(family, p.service.process.PID())...)
	})
}

// trace makes two lone calls under strace and judges their order.
func (r *report) trace(ctx context.Context, g *grounds, s *service, rule flushRule, pids ...int) error {
	api := newAPI(s.where, g.token)
	if err := loneCalls(ctx, api, "warm"); err != nil { // so that connections and statements are there
		return err
	}
	t, err := attach(ctx, g.Folder, pids...)
	if errors.Is(err, errNoTrace) {
		r.skipped = append(r.skipped, fmt.Sprintf("%s: whether the log is flushed before the answer: %v", rule.store, err))
		return nil
	}
	if err != nil {
		return err
	}
	err = loneCalls(ctx, api, "traced")
	events, detached := t.detach()
	if err := errors.Join(err, detached); err != nil {
		return err
	}
	result, err := rule.judge(events)
	r.traces = append(r.traces, result)
	return err
}

// loneCalls makes a reserve and a complete while nobody else calls.
func loneCalls(ctx context.Context, api *api, key string) error {
	c := newCaller(0, 0, api, newNames(), time.Now())
	name := c.names.fresh()
	name.Key = key
	reserved := c.put(ctx, reserve, name, ask{attemptID: "attempt-" + key, fingerprint: "fp", lease: time.Minute})
	if reserved == nil || !reserved.granted() {
		return fmt.Errorf("a lone reserve was not granted: %v", reserved)
	}
	completed := c.put(ctx, complete, name, ask{token: reserved.got.token, content: 1})
	if completed == nil || !completed.accepted() {
		return fmt.Errorf("a lone complete was not accepted: %v", completed)
	}
	return nil
}

// flushRule says how the log and the answers of a store are recognised.
type flushRule struct {
	store          string
	isLog          func(event) bool
	databaseAnswer func(event) bool // nil: the service is the database
}

// loneAnswers is how many calls loneCalls makes.
const loneAnswers = 2

// judge wants, for each answer of the service: since the answer before, the log was written; after the last of these
// writes a flush of the log began, and it was over before the database, or the service itself, began to answer.
func (f flushRule) judge(events []event) (traceResult, error) {
	result := traceResult{Store: f.store}
	since := 0
	for _, answer := range events {
		if !isHTTPAnswer(answer) {
			continue
		}
		result.Answers++
		shown, err := f.judgeAnswer(events, since, answer)
		result.evidence = append(result.evidence, shown...)
		if err != nil {
			return result, fmt.Errorf("%s, answer %d: %w", f.store, result.Answers, err)
		}
		since = answer.begun
	}
	if result.Answers != loneAnswers {
		return result, fmt.Errorf("%s: %d answers in the trace, not %d", f.store, result.Answers, loneAnswers)
	}
	result.Flushed = true
	return result, nil
}

func (f flushRule) judgeAnswer(events []event, since int, answer event) (shown []string, err error) {
	first, wrote, flushed := answer, event{}, event{}
	for _, e := range events {
		switch {
		case e.begun <= since || e.begun >= first.begun:
		case f.databaseAnswer != nil && f.databaseAnswer(e):
			first = e
		case !f.isLog(e):
		case e.name == "fdatasync" || e.name == "fsync":
			if e.over != 0 && e.begun > wrote.begun {
				flushed = e
			}
		default:
			wrote = e
		}
	}
	for _, e := range []event{wrote, flushed, first, answer} {
		if line := e.String(); e.begun > 0 && !slices.Contains(shown, line) {
			shown = append(shown, line)
		}
	}
	switch {
	case f.databaseAnswer != nil && first.begun == answer.begun:
		return shown, errors.New("the answer of the database is not in the trace")
	case wrote.begun == 0:
		return shown, errors.New("it was answered, and nothing had been written to the log")
	case flushed.begun < wrote.begun || flushed.over >= first.begun:
		return shown, errors.New("it was answered before the log was flushed")
	}
	return shown, nil
}

func isHTTPAnswer(e event) bool {
	return (e.name == "write" || e.name == "writev") && strings.Contains(e.args, `"HTTP/1.1 `)
}

// folders are cut from paths: where the files lie says nothing.
var folders = regexp.MustCompile(`<[^<>]*/([^<>/]+)>`)

// String writes the event in short.
func (e event) String() string {
	const most = 60
	args, _, _ := strings.Cut(folders.ReplaceAllString(e.args, "<$1>"), `\r\n`)
	if len(args) > most {
		head := args[:most]
		if i := regexp.MustCompile(`INSERT 0 1|UPDATE 1`).FindString(args); i != "" {
			head = args[:most/2] + "… " + i
		}
		args = head + "…"
	}
	_, at, _ := strings.Cut(e.at, ".")
	return fmt.Sprintf("line %d, 0.%ss, process %d: %s(%s", e.begun, at, e.pid, e.name, args)
}

// familyOf gives a process and its children.
func familyOf(pid int) ([]int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, fmt.Errorf("listing the processes of Postgres: %w", err)
	}
	family := []int{pid}
	for _, field := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		family = append(family, child)
	}
	return family, nil
}
