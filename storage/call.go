package storage

import "time"

// Call is one call on one name: Reserve, Complete, Release, Heartbeat, Lookup, Resolve or Expire.
type Call interface {
	// On names the record that the call is about.
	On() Name
}

// Reserve asks for the right to do the work.
type Reserve struct {
	Name
	Fingerprint string        // never empty
	AttemptID   string        // made afresh by the caller for each acquisition; empty when it gave none
	Token       Token         // a fresh one; it is the record's only if the call acquires
	Lease       time.Duration // at least 1 ms
	Retention   time.Duration // at least 1 ms
	OnLapse     OnLapse
	Holder      string
}

// Complete settles the record with the outcome of the work.
type Complete struct {
	Name
	Token      Token
	Result     State         // Completed or Failed
	Response   *Response     // nil when none was given
	ResultHash []byte        // over result, resource id and response as they were given: what makes a repeat the same
	Retention  time.Duration // zero: what the acquisition set
	ResourceID string
}

// Release gives the name back undone.
type Release struct {
	Name
	Token  Token
	Reason string
	Forget bool // also blanks fingerprint and checkpoint, so that a corrected request may use the name
}

// Heartbeat extends the lease, and may note progress or turn Retry into Hold.
type Heartbeat struct {
	Name
	Token      Token
	Lease      time.Duration // zero: what the acquisition set
	Checkpoint *Checkpoint   // nil: none
	Hold       bool          // turns on_lapse to Hold; false leaves it as it is
}

// Lookup reads.
type Lookup struct {
	Name
	Fingerprint string // compared when not empty
}

// Resolve settles or releases by an operator's word what no holder will.
type Resolve struct {
	Name
	To         State // Completed, Failed or Released
	Version    string
	Force      bool      // also while a lease is live
	Response   *Response // nil when none was given
	ResourceID string
	Token      Token // a fresh one, which nobody holds: a released record takes it, so that it is not released by its holder
	By         Operator
}

// Expire makes a settled or released record absent before its time.
type Expire struct {
	Name
	Version string
	By      Operator
}

func (c Reserve) On() Name   { return c.Name }
func (c Complete) On() Name  { return c.Name }
func (c Release) On() Name   { return c.Name }
func (c Heartbeat) On() Name { return c.Name }
func (c Lookup) On() Name    { return c.Name }
func (c Resolve) On() Name   { return c.Name }
func (c Expire) On() Name    { return c.Name }
