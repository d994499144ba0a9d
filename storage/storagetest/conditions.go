package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file brings names into every state that a record can be in.

// live makes a record whose lease lasts.
func (f *fixture) live(n storage.Name) storage.Reserve {
	f.t.Helper()
	c := reserve(n)
	f.want(storage.OutcomeAcquired, c)
	return c
}

// lapsed makes a record whose lease has run out; it is abandoned or, under Hold, uncertain.
func (f *fixture) lapsed(n storage.Name, policy storage.OnLapse) storage.Reserve {
	f.t.Helper()
	c := reserve(n)
	c.Lease, c.OnLapse = brief, policy
	f.passes(f.want(storage.OutcomeAcquired, c).Record.LeaseExpiresAt)
	return c
}

// released makes a record that was given back.
func (f *fixture) released(n storage.Name) storage.Reserve {
	f.t.Helper()
	c := f.live(n)
	f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: c.Token, Reason: "try later"})
	return c
}

// settled makes a record with a final outcome.
func (f *fixture) settled(n storage.Name, result storage.State) storage.Reserve {
	f.t.Helper()
	c := f.live(n)
	done := complete(n, c.Token)
	done.Result = result
	f.want(storage.OutcomeSettled, done)
	return c
}

// dropped makes a record that was completed with a body that was not kept.
func (f *fixture) dropped(n storage.Name) storage.Reserve {
	f.t.Helper()
	c := f.live(n)
	done := complete(n, c.Token)
	done.Response.Body, done.Response.BodyDropped = nil, true
	f.want(storage.OutcomeSettled, done)
	return c
}

// expired makes a record that was given back and has ended, with something in every field that a new record must not
// inherit, and gives it as it stood.
func (f *fixture) expired(n storage.Name) (storage.Reserve, *storage.Record) {
	f.t.Helper()
	f.released(n)
	c := reserve(n)
	c.Retention, c.Fingerprint = brief, "fp-1"
	f.want(storage.OutcomeAcquired, c)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: c.Token, Checkpoint: progress(7, "halfway"), Hold: true})
	old := f.want(storage.OutcomeSettled, complete(n, c.Token)).Record
	f.passes(old.ExpiresAt)
	return c, old
}

// condition is a way to bring a name into a state.
type condition struct {
	name string
	make func(f *fixture, n storage.Name) storage.Reserve
}

// What a present record can be in.
var (
	whenLive      = condition{"live", (*fixture).live}
	whenAbandoned = condition{"abandoned", func(f *fixture, n storage.Name) storage.Reserve { return f.lapsed(n, storage.Retry) }}
	whenUncertain = condition{"uncertain", func(f *fixture, n storage.Name) storage.Reserve { return f.lapsed(n, storage.Hold) }}
	whenReleased  = condition{"released", (*fixture).released}
	whenCompleted = condition{"completed", func(f *fixture, n storage.Name) storage.Reserve { return f.settled(n, storage.Completed) }}
	whenFailed    = condition{"failed", func(f *fixture, n storage.Name) storage.Reserve { return f.settled(n, storage.Failed) }}
	whenDropped   = condition{"response dropped", (*fixture).dropped}

	whenInProgress = []condition{whenLive, whenAbandoned, whenUncertain}
	whenLapsed     = []condition{whenAbandoned, whenUncertain}
	whenSettled    = []condition{whenCompleted, whenFailed, whenDropped}
	whenOver       = []condition{whenReleased, whenCompleted, whenFailed, whenDropped}
	whenever       = []condition{whenLive, whenAbandoned, whenUncertain, whenReleased, whenCompleted, whenFailed, whenDropped}
)

// inEach runs a test in each of some conditions, on a name of its own.
func (f *fixture) inEach(conditions []condition, test func(f *fixture, n storage.Name, holder storage.Reserve)) {
	for _, c := range conditions {
		f.t.Run(c.name, func(t *testing.T) {
			g := &fixture{t: t, store: f.store, open: f.open}
			n := g.name()
			test(g, n, c.make(g, n))
		})
	}
}
