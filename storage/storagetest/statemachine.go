package storagetest

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/model"
)

// sequences is how many a run tries, unless -rapid.checks or RAPID_CHECKS asks for a number: some seconds under the race
// detector, on a small machine, with a database that flushes at every commit.
const sequences = 40

// StateMachine holds a store against the reference model in random sequences of calls: every answer must be the one
// that the model expects at the instant at which the store decided, and over the whole sequence the promises of a
// ledger that knows nothing of the model must hold.
//
// A failing sequence is minimised, and its trace printed together with the seed that brings it back. The clock is the
// real one, so that a failure that hangs on a microsecond may not come back: then the trace is that of the last
// time that it did.
func StateMachine(t *testing.T, open func(t *testing.T) storage.Store) {
	limitSequences(t)
	store := open(t)
	var (
		run     int
		met     encounters
		failure string
	)
	defer func() {
		t.Logf("what was met: %v", met)
		if t.Failed() {
			t.Logf("the last sequence that failed:\n%s", failure)
		}
	}()
	rapid.Check(t, func(rt *rapid.T) {
		run++ // each sequence has names of its own, so that one store serves them all
		m := newMachine(store, run, &met, &failure)
		rt.Repeat(map[string]func(*rapid.T){"step": m.step})
		m.audit(rt)
	})
}

// limitSequences lowers the default of rapid, unless somebody asked for a number.
func limitSequences(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	asked := os.Getenv("RAPID_CHECKS") != ""
	flag.Visit(func(f *flag.Flag) { asked = asked || f == checks })
	if asked {
		return
	}
	before := checks.Value.String()
	t.Cleanup(func() { checks.Value.Set(before) })
	checks.Value.Set(strconv.Itoa(sequences)) // not flag.Set: that counts as asking
}

// machine is one sequence.
type machine struct {
	store    storage.Store
	model    model.Model
	versions map[storage.Name]*model.Versions
	ledgers  map[storage.Name]*ledger
	cook     *cook
	trace    trace
	now      time.Time // the latest that the store told
	met      *encounters
	failure  *string // where the trace of a failure goes
}

func newMachine(store storage.Store, run int, met *encounters, failure *string) *machine {
	m := &machine{
		store:    store,
		versions: map[storage.Name]*model.Versions{},
		ledgers:  map[storage.Name]*ledger{},
		cook:     newCook(run),
		met:      met,
		failure:  failure,
	}
	for _, name := range m.cook.names {
		m.versions[name] = &model.Versions{}
		m.ledgers[name] = &ledger{}
	}
	return m
}

// step lets time pass or not, and sends a group of one to eight calls. It draws the same dice whatever happens.
func (m *machine) step(rt *rapid.T) {
	wait := rapid.Uint8().Draw(rt, "wait")
	recipes := rapid.SliceOfN(rapid.Make[recipe](), 1, 8).Draw(rt, "calls")

	m.wait(rt, wait)
	var group []storage.Call
	for _, r := range recipes {
		group = append(group, m.cook.call(r, m.look))
	}
	m.apply(rt, group...)
}

// look shows what is known of a name so far.
func (m *machine) look(n storage.Name) known {
	return known{view: m.model.Look(n, m.now), version: m.versions[n].Last()}
}

// wait looks a name up again and again until the store's clock has passed the end of its lease, or its own, if there is
// one that is near. Each look is a call like any other, so that the answers around the end are held against the model.
func (m *machine) wait(rt *rapid.T, die uint8) {
	var end func(v *model.View) time.Time
	switch pick(die, "no", "for a lease", "for an expiry") {
	case "no":
		return
	case "for a lease":
		end = func(v *model.View) time.Time { return v.LeaseEnd }
	case "for an expiry":
		end = func(v *model.View) time.Time { return v.Expires }
	}
	var near []storage.Name
	for _, name := range m.cook.names {
		v := m.model.Look(name, m.now)
		if v != nil && end(v).After(m.now) && end(v).Sub(m.now) < time.Second {
			near = append(near, name)
		}
	}
	if len(near) == 0 {
		return
	}
	name := pick(die/3, near...) // the kind took the rest
	until := end(m.model.Look(name, m.now))
	giveUp := time.Now().Add(time.Minute)
	for m.now.Before(until) {
		m.apply(rt, storage.Lookup{Name: name})
		if time.Now().After(giveUp) {
			rt.Fatal("the store's clock does not get on")
		}
	}
}

// apply sends a group, and holds each answer against the model and the ledger.
func (m *machine) apply(rt *rapid.T, group ...storage.Call) {
	answers := m.store.Apply(rt.Context(), group)
	came := time.Now()
	if len(answers) != len(group) {
		rt.Fatalf("%d calls, %d answers", len(group), len(answers))
	}
	for i, call := range group {
		a := answers[i]
		m.trace = append(m.trace, event{call: call, answer: a, place: i + 1, group: len(group)})
		if a.Err != nil {
			m.fail(rt, call, "there must be an answer", a.Err.Error())
		}
		m.met[a.Outcome]++
		m.now = a.Now
		expected := m.model.Apply(call, model.ToldBy(a, m.versions[call.On()]))
		if d := expected.Differences(a) + m.versions[call.On()].Differences(expected, a); d != "" {
			m.fail(rt, call, "the store and the model disagree", d)
		}
		if d := m.ledgers[call.On()].enter(call, a) + goodUntil(a, came); d != "" {
			m.fail(rt, call, "a promise is broken", d)
		}
	}
}

// audit holds the acts that the store kept against those that were done: each of them once, and no other.
func (m *machine) audit(rt *rapid.T) {
	for _, tenant := range m.cook.tenants() {
		acts, err := m.store.Acts(rt.Context(), storage.ActQuery{Tenant: tenant, Limit: len(m.trace) + 1})
		if err != nil {
			rt.Fatalf("listing acts: %v", err)
		}
		var want []storage.Act
		for _, l := range m.ledgers {
			want = append(want, l.actsOf(tenant)...)
		}
		byID := func(a, b storage.Act) int { return strings.Compare(a.ActID, b.ActID) }
		slices.SortFunc(acts, byID)
		slices.SortFunc(want, byID)
		if diff := cmp.Diff(want, acts, cmpopts.EquateEmpty()); diff != "" {
			*m.failure = diff
			rt.Fatalf("the audit log is not what was done")
		}
	}
}

// fail ends the sequence. Its message is the same each time the same thing is wrong, because that is how rapid knows a
// failure again; what differs from time to time goes to the trace.
func (m *machine) fail(rt *rapid.T, call storage.Call, what, why string) {
	*m.failure = m.trace.of(call.On()) + why
	rt.Fatalf("%s: %T", what, call)
}
