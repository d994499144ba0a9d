package storagetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that a call which cannot be stored fails by itself, and leaves nothing behind.

var poisonPromises = []promise{
	aNameThatIsNoTextIsRefused,
	aTextThatIsNoTextIsRefused,
	aPoisonedCallFailsAlone,
	severalPoisonedCallsFailAlone,
	aPoisonedCallFailsAloneAmongCallsOnItsName,
}

// poisons are what PostgreSQL takes for no text; every backend refuses the same.
var poisons = []string{"a\x00b", "\x00", "\xff", "caf\xe9", "\xed\xa0\x80", "\xc0\x80", "a\xf4\x90\x80\x80"}

// refused asserts that a call was refused for what it is, not because of an outage.
func (f *fixture) refused(what string, a storage.Answer) {
	f.t.Helper()
	switch {
	case a.Err == nil:
		f.t.Errorf("%s was answered: %v", what, a.Outcome)
	case errors.Is(a.Err, storage.ErrUnavailable), errors.Is(a.Err, storage.ErrOutcomeUnknown):
		f.t.Errorf("%s is taken for an outage: %v", what, a.Err)
	}
}

// Nor is it stripped: "a\0b" must not become "ab".
func aNameThatIsNoTextIsRefused(_ *testing.T, f *fixture) {
	for _, poison := range poisons {
		for part := range 4 {
			n := f.name()
			*[]*string{&n.Tenant, &n.Operation, &n.Subject, &n.Key}[part] = poison
			what := fmt.Sprintf("part %d of a name, %q,", part, poison)
			f.refused(what, f.apply(reserve(n))[0])
			f.refused(what, f.apply(storage.Lookup{Name: n})[0])
			n.Key = strings.ToValidUTF8(strings.ReplaceAll(n.Key, "\x00", ""), "")
			if part == 3 {
				f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
			}
		}
	}
}

func aTextThatIsNoTextIsRefused(_ *testing.T, f *fixture) {
	for _, poison := range poisons {
		n := f.name()
		fingerprint, attempt, holder := reserve(n), reserve(n), reserve(n)
		fingerprint.Fingerprint, attempt.AttemptID, holder.Holder = poison, poison, poison
		for _, c := range []storage.Reserve{fingerprint, attempt, holder} {
			f.refused(fmt.Sprintf("%q in a reserve", poison), f.apply(c)[0])
			f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
		}
		c := f.live(n)
		f.changesNothing(n, func() {
			done := complete(n, c.Token)
			done.ResourceID = poison
			f.refused(fmt.Sprintf("%q in a resource id", poison), f.apply(done)[0])
			back := storage.Release{Name: n, Token: c.Token, Reason: poison}
			f.refused(fmt.Sprintf("%q in a reason", poison), f.apply(back)[0])
		})
	}
}

func aPoisonedCallFailsAlone(_ *testing.T, f *fixture) { f.poisonedAmong(100, 37) }

func severalPoisonedCallsFailAlone(_ *testing.T, f *fixture) {
	f.poisonedAmong(100, 0, 1, 50, 51, 98, 99)
	f.poisonedAmong(3, 0, 1, 2)
}

// poisonedAmong sends a group on different names, some of which cannot be stored: every second of those for its name,
// the others for their content.
func (f *fixture) poisonedAmong(size int, at ...int) {
	f.t.Helper()
	calls, bad := make([]storage.Call, size), map[int]bool{}
	for i := range calls {
		calls[i] = reserve(f.name())
	}
	for i, n := range at {
		c := reserve(f.name())
		if i%2 == 0 {
			c.Holder = poisons[i%len(poisons)]
		} else {
			c.Key = poisons[i%len(poisons)]
		}
		calls[n], bad[n] = c, true
	}
	for i, a := range f.apply(calls...) {
		if bad[i] {
			f.refused(fmt.Sprintf("the poisoned call %d", i), a)
			continue
		}
		if a.Err != nil || a.Outcome != storage.OutcomeAcquired {
			f.t.Fatalf("call %d of %d failed with the poisoned ones: %v, %v", i, size, a.Outcome, a.Err)
		}
		f.same("the record", f.record(calls[i].On()), a.Record)
	}
}

// The others on the name happen in their order, as if it had not been there.
func aPoisonedCallFailsAloneAmongCallsOnItsName(_ *testing.T, f *fixture) {
	n, other := f.name(), f.name()
	first, second := reserve(n), reserve(n)
	bad := storage.Release{Name: n, Token: first.Token, Reason: "a\x00b", Forget: true}
	good := storage.Release{Name: n, Token: first.Token, Reason: "good"}
	poisonedReserve := reserve(n)
	poisonedReserve.Holder = "\xff"
	answers := f.apply(poisonedReserve, first, bad, storage.Lookup{Name: n}, reserve(other), good, second, complete(n, second.Token))
	f.refused("the poisoned reserve", answers[0])
	f.refused("the poisoned release", answers[2])
	want := map[int]storage.Outcome{1: storage.OutcomeAcquired, 3: storage.OutcomeFound, 4: storage.OutcomeAcquired, 5: storage.OutcomeReleased,
		6: storage.OutcomeAcquired, 7: storage.OutcomeSettled}
	for i, o := range want {
		if answers[i].Err != nil || answers[i].Outcome != o {
			f.t.Errorf("call %d: got %v, %v; want %v", i, answers[i].Outcome, answers[i].Err, o)
		}
	}
	f.same("the state between", answers[3].Record.State, storage.InProgress)
	r := f.record(n)
	f.same("the state at the end", r.State, storage.Completed)
	f.same("the reason", r.LastError, "good")
	f.same("the attempt", r.Attempt, 2)
}
