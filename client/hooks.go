package client

import (
	"sync/atomic"
	"time"
)

// Hooks are called while a client works, by the goroutine that works: they must be fast and must not panic. A nil one is
// left out.
type Hooks struct {
	// Request is called after each request on the wire, repetitions included.
	Request func(RequestInfo)
	// Done is called at the end of each [Do], [Middleware] and their kin.
	Done func(DoneInfo)
}

// RequestInfo is one request on the wire.
type RequestInfo struct {
	Call      string // "reserve", "complete", "release", "heartbeat", "lookup" or "batch"
	Try       int    // 1, 2, 3 …: above 1 it is a repetition
	Status    int    // of the answer; 0 when there was none
	Code      string // of the problem, if it was one
	RequestID string // of the service's log; empty when there was no answer
	Took      time.Duration
	Err       error // nil for a success
}

// DoneInfo is one piece of work.
type DoneInfo struct {
	Operation string
	How       How
	Took      time.Duration // with all waiting
	Err       error         // what the caller got
}

// How says what became of a piece of work. The set may grow.
type How string

const (
	Ran         How = "ran"          // it ran here, and was recorded
	Replayed    How = "replayed"     // it had been done: the caller got what is stored
	Refused     How = "refused"      // it did not run: the service refused, could not be asked, or the context ended
	Released    How = "released"     // it ran here, did not get done, and the key was given back
	LeftOpen    How = "left_open"    // it ran here, and nobody says whether it was done: its lease runs out
	NotRecorded How = "not_recorded" // it ran here, and its result could not be recorded
	Unguarded   How = "unguarded"    // it ran here without a grant: the service was out, and the policy is FailOpen
)

// Stats are counts since the client was made.
type Stats struct {
	Requests    int64 // on the wire
	Retries     int64 // of these, repetitions
	Unguarded   int64 // pieces of work that ran without a grant, under FailOpen
	NotRecorded int64 // pieces of work whose result could not be recorded
	LeasesLost  int64 // leases that were lost, or could not be kept, while the work ran
}

type stats struct {
	requests, retries, unguarded, notRecorded, leasesLost atomic.Int64
}

// Stats returns the counts of this client.
func (c *Client) Stats() Stats {
	return Stats{
		Requests:    c.stats.requests.Load(),
		Retries:     c.stats.retries.Load(),
		Unguarded:   c.stats.unguarded.Load(),
		NotRecorded: c.stats.notRecorded.Load(),
		LeasesLost:  c.stats.leasesLost.Load(),
	}
}
