// Package model is the life of a key once more, as plainly as it can be said: no rows, no statements, no concurrency.
// It is written from the contract alone, apart from package life, so that the two can be held against each other: call
// by call, a store must answer what the model expects.
package model

import (
	"fmt"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// Model remembers what happened to every name. The zero value has seen nothing.
type Model struct {
	names map[storage.Name]*history
}

// Told is what the model cannot know, and is told by the store's answer. Everything else it must know by itself.
type Told struct {
	Now time.Time // the instant of the store's clock at which the call was decided
	// LeaseEnd is where the store put the end of the lease. It counts in one place only: the contract leaves to the
	// store how far a repeated reserve moves it. The model takes the nearest end that the contract allows.
	LeaseEnd time.Time
	// Version is the text that showed callers the latest change before this call.
	Version string
}

// ToldBy takes out of an answer, and out of the ones before it on the same name, what the model may be told.
func ToldBy(a storage.Answer, before *Versions) Told {
	t := Told{Now: a.Now, Version: before.Last()}
	if a.Record != nil {
		t.LeaseEnd = a.Record.LeaseExpiresAt
	}
	return t
}

// Expectation is what a call must come to.
type Expectation struct {
	Outcome storage.Outcome
	Record  *View // nil: none is shown
	// NewVersion tells whether the text that shows callers a change must now be one that this name never had. Otherwise
	// it must be the one that was shown last.
	NewVersion bool
}

// Apply gives what call must come to, and remembers its effect.
func (m *Model) Apply(call storage.Call, told Told) Expectation {
	h := m.history(call.On())
	switch c := call.(type) {
	case storage.Reserve:
		return h.reserve(c, told)
	case storage.Complete:
		return h.complete(c, told.Now)
	case storage.Release:
		return h.release(c, told.Now)
	case storage.Heartbeat:
		return h.heartbeat(c, told.Now)
	case storage.Lookup:
		return h.lookup(c, told.Now)
	case storage.Resolve:
		return h.resolve(c, told)
	case storage.Expire:
		return h.expire(c, told)
	}
	panic(fmt.Sprintf("model: no such call: %T", call))
}

// Look gives the record as it stands at now, or nil when it is absent. It changes nothing.
func (m *Model) Look(name storage.Name, now time.Time) *View {
	return m.history(name).view(now)
}

func (m *Model) history(name storage.Name) *history {
	if m.names == nil {
		m.names = map[storage.Name]*history{}
	}
	if m.names[name] == nil {
		m.names[name] = &history{name: name}
	}
	return m.names[name]
}
