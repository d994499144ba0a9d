package main

import (
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

type kind string

const (
	reserve   kind = "reserve"
	complete  kind = "complete"
	release   kind = "release"
	heartbeat kind = "heartbeat"
	lookup    kind = "lookup"
)

// fate is what a caller knows of its call.
type fate int

const (
	unknown  fate = iota // no answer, or one that says so: it may have happened, then or at any time later
	answered             // the service said what it came to
	denied               // the service said that it is down and changed nothing
	unsent               // nobody listened: it cannot have happened
)

func (f fate) String() string { return [...]string{"unknown", "answered", "denied", "unsent"}[f] }

// call is one request and what became of it. Nothing is judged while it happens: the history comes first.
type call struct {
	caller         int
	kind           kind
	name           wire.Name
	ask            ask
	sent, answered time.Duration // by the monotonic clock, since the history began
	fate           fate
	got            answer // when answered
}

// ask is what a call asks for. A blind repeat has an equal one.
type ask struct {
	attemptID, fingerprint string        // reserve
	lease                  time.Duration // reserve, heartbeat; zero: not given
	hold                   bool          // reserve, heartbeat
	token                  string        // complete, release, heartbeat
	content                contentID     // complete
	digest                 digest        // of content
	forget                 bool          // release
	seq                    int64         // heartbeat; zero: no checkpoint
	data                   string
}

// answer is what the service said.
type answer struct {
	status    int
	code      string // of a problem
	token     string // of a lease
	remaining time.Duration
	takeover  bool
	record    *seen // nil: the answer had none
}

// seen is a record as an answer, or the database, shows it.
type seen struct {
	state       string
	fence       int64
	attempt     int
	hold        bool
	leaseEnd    string // as text of fixed width; empty unless in progress
	seq         int64  // of the checkpoint; zero: none
	data        string
	fingerprint string
	hasContent  bool // the response is visible here
	digest      digest
	summary     string // of the content, for a report
}

// row is what the database holds of a name at the end.
type row struct {
	name      wire.Name
	token     string
	attemptID string
	earlier   []string
	seen      seen
}

// clock gives the times of a history, and notes how far the clock on the wall strayed from the monotonic one: leases
// run by the former, callers count by the latter.
type clock struct {
	base     time.Time
	min, max time.Duration
}

func (c *clock) now() time.Duration {
	now := time.Now()
	mono := now.Sub(c.base)
	strayed := now.Round(0).Sub(c.base.Round(0)) - mono
	c.min, c.max = min(c.min, strayed), max(c.max, strayed)
	return mono
}

// slack is what the judge allows the store's clock to be off: what was seen, and more than the rounding of times.
func slack(clocks ...*clock) time.Duration {
	var least, most time.Duration
	for _, c := range clocks {
		least, most = min(least, c.min), max(most, c.max)
	}
	return most - least + time.Millisecond
}
