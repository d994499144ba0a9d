package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that what an operator does is in the audit log if, and only if, it is done.

var actPromises = []promise{
	anActIsWrittenWithItsChange,
	aRefusedActLeavesNone,
	anActThatCannotBeWrittenChangesNothing,
	anActThatCannotBeWrittenFailsAlone,
	anActAmongOrdinaryCalls,
	twoActsOnOneNameInAGroup,
	textsOfAnActComeBackAsTheyWereGiven,
	actsAreNewestFirst,
	everyActIsOnOnePage,
	actsAreFoundByName,
	actsOfAnotherTenantAreNeverShown,
}

// actOf is what the audit log must say of a call that was done: on the record as it was before, with its answer.
func actOf(call storage.Call, before *storage.Record, a storage.Answer) storage.Act {
	act := storage.Act{Name: call.On(), At: a.Now, Before: before.StandingAt(a.Now), After: a.Record.StandingAt(a.Now)}
	switch c := call.(type) {
	case storage.Resolve:
		act.Operator, act.Action = c.By, storage.ActionResolve
	case storage.Expire:
		act.Operator, act.Action = c.By, storage.ActionExpire
	}
	return act
}

// acts asks for acts.
func (f *fixture) acts(q storage.ActQuery) []storage.Act {
	f.t.Helper()
	acts, err := f.store.Acts(f.ctx(), q)
	if err != nil {
		f.t.Fatalf("listing acts: %v", err)
	}
	if len(acts) > q.Limit {
		f.t.Fatalf("got %d acts, with a limit of %d", len(acts), q.Limit)
	}
	return acts
}

// wroteActs asserts that these acts, and no others, are in the log of the name's tenant; the order does not matter.
func (f *fixture) wroteActs(n storage.Name, want ...storage.Act) {
	f.t.Helper()
	byID := func(a, b storage.Act) int { return strings.Compare(a.ActID, b.ActID) }
	got := f.acts(storage.ActQuery{Tenant: n.Tenant, Limit: len(want) + 10})
	f.same("the audit log", slices.SortedFunc(slices.Values(got), byID), slices.SortedFunc(slices.Values(want), byID))
}

func anActIsWrittenWithItsChange(_ *testing.T, f *fixture) {
	for _, to := range resolutions {
		f.inEach(whenInProgress, func(f *fixture, n storage.Name, _ storage.Reserve) {
			before, c := f.record(n), f.resolving(n, to)
			c.Force = true
			resolved := f.want(storage.OutcomeResolved, c)
			first := actOf(c, before, resolved)
			f.wroteActs(n, first)
			f.same("the instant of the change", resolved.Record.UpdatedAt, first.At)

			before, end := f.record(n), f.expiring(n)
			f.wroteActs(n, first, actOf(end, before, f.want(storage.OutcomeExpired, end)))
		})
	}
}

func aRefusedActLeavesNone(_ *testing.T, f *fixture) {
	f.inEach(whenever, func(f *fixture, n storage.Name, _ storage.Reserve) {
		refuse := func(c storage.Call) {
			f.t.Helper()
			if a := f.one(c); a.Outcome == storage.OutcomeResolved || a.Outcome == storage.OutcomeExpired {
				f.t.Fatalf("%+v: %v", c, a.Outcome)
			}
		}
		for _, to := range resolutions {
			conflict := f.resolving(n, to)
			conflict.Version += "0"
			refuse(conflict)
			elsewhere := conflict
			elsewhere.Key += "-absent"
			refuse(elsewhere)
		}
		switch r := f.one(storage.Lookup{Name: n}); r.Record.StateAt(r.Now) {
		case storage.InProgress:
			refuse(f.resolving(n, storage.Completed))
			refuse(f.expiring(n))
		case storage.Abandoned, storage.Uncertain:
			refuse(f.expiring(n))
		default:
			refuse(f.resolving(n, storage.Failed))
			conflict := f.expiring(n)
			conflict.Version = ""
			refuse(conflict)
		}
		f.wroteActs(n)
	})
}

// poisonedOperators are operators each of whom has one text that cannot be stored.
func poisonedOperators() []storage.Operator {
	var all []storage.Operator
	for _, poison := range poisons {
		actor, address, request, reason := operator(), operator(), operator(), operator()
		actor.Actor, address.Address, request.RequestID, reason.Reason = poison, poison, poison, poison
		all = append(all, actor, address, request, reason)
	}
	return all
}

func anActThatCannotBeWrittenChangesNothing(_ *testing.T, f *fixture) {
	uncertain, done := f.name(), f.name()
	f.lapsed(uncertain, storage.Hold)
	f.settled(done, storage.Completed)
	for _, by := range poisonedOperators() {
		f.changesNothing(uncertain, func() {
			for _, to := range resolutions {
				c := f.resolving(uncertain, to)
				c.By = by
				f.refused(fmt.Sprintf("a resolve by %q", by), f.apply(c)[0])
			}
		})
		f.changesNothing(done, func() {
			c := f.expiring(done)
			c.By = by
			f.refused(fmt.Sprintf("an expire by %q", by), f.apply(c)[0])
		})
	}
	f.wroteActs(uncertain)
	f.wroteActs(done)
}

// The acts and the ordinary calls beside it are done, and written once, though the group has to be taken apart.
func anActThatCannotBeWrittenFailsAlone(_ *testing.T, f *fixture) {
	good, bad, fresh := f.name(), f.name(), f.name()
	bad.Tenant, fresh.Tenant = good.Tenant, good.Tenant
	f.lapsed(good, storage.Hold)
	f.lapsed(bad, storage.Hold)
	before, c, poisoned := f.record(good), f.resolving(good, storage.Completed), f.resolving(bad, storage.Completed)
	poisoned.By.Actor = "a\x00b"
	f.changesNothing(bad, func() {
		answers := f.apply(poisoned, reserve(fresh), c)
		f.refused("the poisoned resolve", answers[0])
		f.same("the others", []storage.Outcome{answers[1].Outcome, answers[2].Outcome}, []storage.Outcome{storage.OutcomeAcquired, storage.OutcomeResolved})
		f.wroteActs(good, actOf(c, before, answers[2]))
	})
}

func anActAmongOrdinaryCalls(_ *testing.T, f *fixture) {
	tenant := f.name().Tenant
	name := func() storage.Name { n := f.name(); n.Tenant = tenant; return n }
	live, lapsed, done, free, back := name(), name(), name(), name(), name()
	holder := f.live(live)
	f.lapsed(lapsed, storage.Hold)
	f.settled(done, storage.Completed)
	given := f.released(back)
	resolve, expire := f.resolving(lapsed, storage.Failed), f.expiring(done)
	refused := f.resolving(back, storage.Completed)
	before := map[storage.Name]*storage.Record{lapsed: f.record(lapsed), done: f.record(done)}
	calls := []storage.Call{complete(live, holder.Token), resolve, reserve(free), refused, expire, storage.Lookup{Name: lapsed},
		storage.Release{Name: back, Token: given.Token}, reserve(done)}
	want := []storage.Outcome{storage.OutcomeSettled, storage.OutcomeResolved, storage.OutcomeAcquired, storage.OutcomeAlreadyCompleted,
		storage.OutcomeExpired, storage.OutcomeFound, storage.OutcomeReleased, storage.OutcomeAcquired}
	answers := f.apply(calls...)
	for i, a := range answers {
		if a.Err != nil || a.Outcome != want[i] {
			f.t.Errorf("answer %d, to a %T: got %v, %v; want %v", i, calls[i], a.Outcome, a.Err, want[i])
		}
	}
	f.wroteActs(lapsed, actOf(resolve, before[lapsed], answers[1]), actOf(expire, before[done], answers[4]))
}

func twoActsOnOneNameInAGroup(_ *testing.T, f *fixture) {
	n := f.name()
	f.lapsed(n, storage.Hold)
	before, resolve := f.record(n), f.resolving(n, storage.Completed)
	told := *before
	told.Version++ // what the first act will leave
	expire := storage.Expire{Name: n, Version: told.VersionText(), By: operator()}
	answers := f.apply(resolve, expire, resolve)
	f.same("the answers", []storage.Outcome{answers[0].Outcome, answers[1].Outcome, answers[2].Outcome},
		[]storage.Outcome{storage.OutcomeResolved, storage.OutcomeExpired, storage.OutcomeNotFound})
	f.wroteActs(n, actOf(resolve, before, answers[0]), actOf(expire, answers[0].Record, answers[1]))
}

func textsOfAnActComeBackAsTheyWereGiven(_ *testing.T, f *fixture) {
	for _, text := range []string{"", " ", "ы\n\"quoted\" 'twice' \\ %_ <b>", strings.Repeat("ы", 1000)} {
		n := f.name()
		n.Subject, n.Key = "", "a/b %2F "+fresh()
		f.lapsed(n, storage.Retry)
		before, c := f.record(n), f.resolving(n, storage.Failed)
		c.By.Actor, c.By.Address, c.By.RequestID, c.By.Reason = text, text, text, text
		f.wroteActs(n, actOf(c, before, f.want(storage.OutcomeResolved, c)))
	}
}
