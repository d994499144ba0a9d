package storagetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that a group is answered call by call, as if each had come alone.

var groupPromises = []promise{
	anEmptyGroupIsAnswered,
	answersBelongToTheirCalls,
	aGroupOf256NamesIsAnswered,
	callsOnOneNameHappenInOrder,
	oneGroupSettlesManyLivesOfAName,
	repeatsWithinAGroupAreRepeats,
}

func anEmptyGroupIsAnswered(_ *testing.T, f *fixture) {
	f.same("the number of answers", len(f.apply()), 0)
	f.same("the number of answers", len(f.store.Apply(f.ctx(), nil)), 0)
}

// Every kind of call, in an order that no backend works in.
func answersBelongToTheirCalls(_ *testing.T, f *fixture) {
	var calls []storage.Call
	var want []storage.Outcome
	add := func(o storage.Outcome, c storage.Call) { calls, want = append(calls, c), append(want, o) }
	for range 5 {
		live, done, free, lapsed := f.name(), f.name(), f.name(), f.name()
		l, d := f.live(live), f.settled(done, storage.Failed)
		f.lapsed(lapsed, storage.Hold)
		add(storage.OutcomeReplay, reserve(done))
		add(storage.OutcomeAcquired, reserve(free))
		add(storage.OutcomeLeaseLost, storage.Heartbeat{Name: done, Token: d.Token})
		add(storage.OutcomeRenewed, storage.Heartbeat{Name: live, Token: l.Token})
		add(storage.OutcomeNotFound, storage.Lookup{Name: f.name()})
		add(storage.OutcomeUncertain, reserve(lapsed))
		add(storage.OutcomeFingerprintMismatch, storage.Lookup{Name: live, Fingerprint: "fp-2"})
		add(storage.OutcomeAlreadyCompleted, storage.Release{Name: done, Token: d.Token})
		add(storage.OutcomeSettled, complete(live, l.Token))
	}
	order := make([]storage.Call, len(calls))
	// Calls on one name keep their order; the names are interleaved.
	at := slices.SortedStableFunc(slices.Values(indexes(len(calls))), func(a, b int) int { return a%9 - b%9 })
	for i, from := range at {
		order[i] = calls[from]
	}
	for i, a := range f.apply(order...) {
		if a.Err != nil || a.Outcome != want[at[i]] {
			f.t.Errorf("answer %d, to a %T: got %v, %v; want %v", i, order[i], a.Outcome, a.Err, want[at[i]])
		}
		if a.Record != nil {
			f.same("the name in the answer", a.Record.Name, order[i].On())
		}
	}
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func aGroupOf256NamesIsAnswered(_ *testing.T, f *fixture) {
	const size = 256
	reserves, completes, lookups := make([]storage.Call, size), make([]storage.Call, size), make([]storage.Call, size)
	for i := range size {
		c := reserve(f.name())
		done := complete(c.Name, c.Token)
		done.Response.Body = fmt.Appendf(nil, "body %d", i)
		reserves[i], completes[i], lookups[i] = c, done, storage.Lookup{Name: c.Name}
	}
	for _, step := range []struct {
		calls []storage.Call
		want  storage.Outcome
	}{{reserves, storage.OutcomeAcquired}, {completes, storage.OutcomeSettled}, {lookups, storage.OutcomeFound}} {
		for i, a := range f.apply(step.calls...) {
			if a.Err != nil || a.Outcome != step.want {
				f.t.Fatalf("%T %d: %v, %v", step.calls[i], i, a.Outcome, a.Err)
			}
			f.same("the name in the answer", a.Record.Name, step.calls[i].On())
			if step.want != storage.OutcomeAcquired {
				f.same("the body", string(a.Record.Response.Body), fmt.Sprintf("body %d", i))
			}
		}
	}
}

// What one group answers is what the same calls answer one by one, and leaves the same record.
func callsOnOneNameHappenInOrder(_ *testing.T, f *fixture) {
	script := func(n storage.Name) []storage.Call {
		first, second := reserve(n), reserve(n)
		return []storage.Call{storage.Lookup{Name: n}, first, second, first,
			storage.Heartbeat{Name: n, Token: first.Token, Checkpoint: progress(1, "x"), Lease: 2 * long},
			storage.Heartbeat{Name: n, Token: second.Token}, complete(n, second.Token),
			storage.Release{Name: n, Token: first.Token, Reason: "why"}, storage.Release{Name: n, Token: first.Token},
			first, second, storage.Lookup{Name: n, Fingerprint: "fp-2"}, complete(n, second.Token),
			complete(n, second.Token), storage.Release{Name: n, Token: second.Token}, reserve(n), storage.Lookup{Name: n}}
	}
	together, alone := f.name(), f.name()
	group := f.apply(script(together)...)
	for i, c := range script(alone) {
		a := f.one(c)
		if group[i].Err != nil || group[i].Outcome != a.Outcome {
			f.t.Errorf("call %d, a %T: %v, %v in a group; %v alone", i, c, group[i].Outcome, group[i].Err, a.Outcome)
		}
		if a.Record != nil && a.Record.State != group[i].Record.State {
			f.t.Errorf("call %d, a %T: %v in a group; %v alone", i, c, group[i].Record.State, a.Record.State)
		}
	}
	got, want := f.record(together), f.record(alone)
	f.same("the record that the group left", got, group[len(group)-1].Record)
	f.same("state, attempt, checkpoint and reason", []any{got.State, got.Attempt, got.Checkpoint, got.LastError},
		[]any{want.State, want.Attempt, want.Checkpoint, want.LastError})
}

func oneGroupSettlesManyLivesOfAName(_ *testing.T, f *fixture) {
	n := f.name()
	var calls []storage.Call
	for range 50 {
		c := reserve(n)
		calls = append(calls, c, storage.Release{Name: n, Token: c.Token})
	}
	var fence int64
	for i, a := range f.apply(calls...) {
		if want := []storage.Outcome{storage.OutcomeAcquired, storage.OutcomeReleased}[i%2]; a.Outcome != want {
			f.t.Fatalf("call %d: got %v, %v; want %v", i, a.Outcome, a.Err, want)
		}
		if i%2 == 0 && a.Record.Fence <= fence {
			f.t.Fatalf("call %d: the fence went from %d to %d", i, fence, a.Record.Fence)
		}
		fence = a.Record.Fence
	}
	f.same("the attempt", f.record(n).Attempt, 50)
	f.same("the fence", f.record(n).Fence, fence)
}

func repeatsWithinAGroupAreRepeats(_ *testing.T, f *fixture) {
	n := f.name()
	c := reserve(n)
	repeat := c
	repeat.Token = storage.NewToken()
	done := complete(n, c.Token)
	for i, a := range f.apply(c, repeat, repeat, done, done) {
		if want := []storage.Outcome{storage.OutcomeAcquired, storage.OutcomeSettled}[i/3]; a.Err != nil || a.Outcome != want {
			f.t.Errorf("call %d: got %v, %v; want %v", i, a.Outcome, a.Err, want)
		}
		f.same("the token", a.Record.Token, c.Token)
	}
}
