package storage

import (
	"strconv"
	"time"
)

// Outcome is what a call came to. The zero value is no outcome: the answer has an Err.
type Outcome int

const (
	Acquired            Outcome = iota + 1 // Reserve: the lease is the caller's; that of a repeated attempt may be nearly or wholly over
	Replayed                               // Reserve: it was done; the record holds the response
	Busy                                   // Reserve: another lease is live
	Held                                   // Reserve: uncertain; an operator must look
	ResponseUnavailable                    // Reserve: it was done, but the body was not kept
	FingerprintMismatch                    // Reserve, Lookup: the name belongs to another request
	Settled                                // Complete: settled now, or by this very call before
	GivenBack                              // Release: released now, or by this very token before
	Renewed                                // Heartbeat: the lease is still the caller's
	LeaseLost                              // Reserve of a stray duplicate; Complete, Release, Heartbeat without the latest token
	AlreadyCompleted                       // Complete, Release: settled otherwise
	Found                                  // Lookup
	Absent                                 // Lookup: never made, expired or swept
)

var outcomeNames = [...]string{"none", "acquired", "replayed", "busy", "held", "response_unavailable",
	"fingerprint_mismatch", "settled", "given_back", "renewed", "lease_lost", "already_completed", "found", "absent"}

// String names the outcome in logs and tests.
func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomeNames) {
		return "outcome(" + strconv.Itoa(int(o)) + ")"
	}
	return outcomeNames[o]
}

// Answer is what one call of a group came to.
type Answer struct {
	Outcome Outcome
	Record  *Record   // as it stands after the call; nil when there is none
	Now     time.Time // the store's clock when this was decided: what derived states and ages are reckoned by
	// GoodUntil is an instant of this process's monotonic clock before which the lease has certainly not run out,
	// whatever the two clocks say: taken before the store's clock was read. Set with Acquired and Renewed.
	GoodUntil time.Time
	Err       error // one of the errors of this package, or what is wrong with this call alone; then Outcome is zero
}
