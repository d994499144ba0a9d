package storage

import "time"

// Operator is who acts on a record that is not theirs, and why.
type Operator struct {
	ActID     string // of the act, a fresh UUID; the audit log keeps it once
	Actor     string // who, as their token says
	Address   string // from where
	RequestID string
	Reason    string
}

// Action is what an operator did. The numbers are in the databases and never change.
type Action int16

const (
	ActionResolve Action = 1
	ActionExpire  Action = 2
)

// String gives the word that the API uses.
func (a Action) String() string {
	if a == ActionExpire {
		return "expire"
	}
	return "resolve"
}

// Act is an operator's act on a record, as the audit log keeps it: with the change itself or not at all.
type Act struct {
	Name
	Operator
	At            time.Time // of the change, by the store's clock
	Action        Action
	Before, After Standing
}

// Standing is where a record stood before or after an act.
type Standing struct {
	State   State // derived ones included
	Version string
	Attempt int
	Fence   int64
}

// StandingAt tells where a record stands at an instant of the store's clock.
func (r *Record) StandingAt(now time.Time) Standing {
	return Standing{State: r.StateAt(now), Version: r.VersionText(), Attempt: r.Attempt, Fence: r.Fence}
}

// ActQuery asks for the acts of a tenant, newest first.
type ActQuery struct {
	Tenant    string
	Operation string  // empty: any
	Subject   *string // nil: any
	Key       string  // empty: any
	Limit     int     // at least 1
	After     *ActPosition
}

// ActPosition is a place in the order of acts, newest first.
type ActPosition struct {
	At    time.Time
	ActID string
}
