package storage

import (
	"strconv"
	"time"
)

// Outcome is what a call came to. The zero value is no outcome: the answer has an Err.
type Outcome int

const (
	OutcomeAcquired            Outcome = iota + 1 // Reserve: the lease is the caller's; that of a repeated attempt may be nearly or wholly over
	OutcomeReplay                                 // Reserve: it was done; the record holds the response
	OutcomeInProgress                             // Reserve, Resolve: another lease is live; Expire: nothing is settled yet
	OutcomeUncertain                              // Reserve: lapsed under Hold; an operator must look
	OutcomeResponseUnavailable                    // Reserve: it was done, but the body was not kept
	OutcomeFingerprintMismatch                    // Reserve, Lookup: the name belongs to another request
	OutcomeSettled                                // Complete: settled now, or by this very call before
	OutcomeReleased                               // Release: released now, or by this very token before
	OutcomeRenewed                                // Heartbeat: the lease is still the caller's
	OutcomeLeaseLost                              // Reserve of a stray duplicate; Complete, Release, Heartbeat without the latest token
	OutcomeAlreadyCompleted                       // Complete, Release: settled otherwise; Resolve: settled or released
	OutcomeFound                                  // Lookup
	OutcomeNotFound                               // Lookup, Resolve, Expire: never made, expired or swept
	OutcomeResolved                               // Resolve
	OutcomeExpired                                // Expire: absent from now on
	OutcomeVersionConflict                        // Resolve, Expire: the record is not the one that was looked at
)

var outcomeNames = [...]string{"none", "acquired", "replay", "in_progress", "uncertain", "response_unavailable",
	"fingerprint_mismatch", "settled", "released", "renewed", "lease_lost", "already_completed", "found", "not_found",
	"resolved", "expired", "version_conflict"}

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
