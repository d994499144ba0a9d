package storage

import (
	"strconv"
	"time"
)

// State is where a record stands. The first four are stored; Abandoned and Uncertain are derived from the clock by
// [Record.StateAt]. The numbers are in the databases and never change.
type State int16

const (
	InProgress State = 1 // reserved; somebody may be doing the work
	Completed  State = 2 // settled with success
	Failed     State = 3 // settled with a failure that is final
	Released   State = 4 // given back undone
	Abandoned  State = 5 // derived: in progress, lease over, OnLapse Retry
	Uncertain  State = 6 // derived: in progress, lease over, OnLapse Hold
)

// String gives the word that the API uses.
func (s State) String() string {
	switch s {
	case InProgress:
		return "in_progress"
	case Completed:
		return "completed"
	case Failed:
		return "failed"
	case Released:
		return "released"
	case Abandoned:
		return "abandoned"
	case Uncertain:
		return "uncertain"
	}
	return "state(" + strconv.Itoa(int(s)) + ")"
}

// Settled tells whether the work has a final outcome.
func (s State) Settled() bool { return s == Completed || s == Failed }

// OnLapse says what may happen when a lease runs out while the record is in progress.
type OnLapse int16

const (
	Retry OnLapse = 0 // the next reserve takes over
	Hold  OnLapse = 1 // the effect may have happened: nobody runs it again until an operator resolves it
)

// String gives the word that the API uses.
func (o OnLapse) String() string {
	if o == Hold {
		return "hold"
	}
	return "retry"
}

// Record is all that is stored under a name. Times are those of the store's clock, in UTC and whole microseconds;
// durations are whole milliseconds.
type Record struct {
	Name
	State   State // one of the four stored states
	OnLapse OnLapse

	Attempt  int    // 1, 2, 3 …: which acquisition of this record
	Fence    int64  // rises with every acquisition of the name, for ever; below 2^53
	Token    Token  // of the latest acquisition; kept after the settlement, to know its owner again
	Takeover bool   // the latest acquisition took over from an abandoned one
	Holder   string // free text of the latest acquisition: who holds it

	AttemptID         string   // of the latest acquisition; empty when it gave none
	EarlierAttemptIDs []string // of the last KeptAttemptIDs acquisitions before it that gave one, the latest first
	Fingerprint       string   // empty after a release with Forget: any fingerprint fits
	Lease, Retention  time.Duration
	CreatedAt         time.Time // the first acquisition of this record
	UpdatedAt         time.Time // the last call that changed anything
	LeaseExpiresAt    time.Time // end of the latest lease; over when it is not after now
	SettledAt         time.Time // zero until settled
	ExpiresAt         time.Time // when the record ends, unless it is held in progress (see ExpiredAt)
	SweepHour         int32     // hours since 1970: no sweeper looks at the record before this hour
	Checkpoint        *Checkpoint
	ResourceID        string
	LastError         string // reason of the last release
	Response          *Response
	ResultHash        []byte // SHA-256 over what the holder settled; nil when it did not settle
	Revision, Version int32  // Revision counts every write; Version every change that a caller can see (see VersionText)
}

// KeptAttemptIDs is how many attempt ids are kept beside that of the latest acquisition, to know a stray duplicate of
// an earlier reserve.
const KeptAttemptIDs = 4

// Checkpoint is the holder's own note of how far it came. It survives a takeover.
type Checkpoint struct {
	Seq  int64  // only a higher one replaces it
	Data string // opaque, given back exactly
}

// Response is what the work answered. A replay gives it back byte by byte.
type Response struct {
	Status         int         // 0 when none was given
	Headers        [][2]string // kept lines, in order
	Body           []byte      // nil when none was given or it was dropped; empty when an empty one was given
	BodyDropped    bool        // there was a body, and it was not kept
	DroppedHeaders []string    // names of the header lines that could not be kept
}

// StateAt gives the state at an instant of the store's clock, derived ones included. It does not look at the expiry.
func (r *Record) StateAt(now time.Time) State {
	if r.State != InProgress || now.Before(r.LeaseExpiresAt) {
		return r.State
	}
	if r.OnLapse == Hold {
		return Uncertain
	}
	return Abandoned
}

// Expires tells when the record ends by itself; ok is false for one that does not: held while in progress.
// A live record's end moves with its lease.
func (r *Record) Expires() (at time.Time, ok bool) {
	if r.State == InProgress && r.OnLapse == Hold {
		return time.Time{}, false
	}
	return r.ExpiresAt, true
}

// ExpiredAt tells whether the record is absent at an instant of the store's clock, swept or not: over when the end is
// not after now.
func (r *Record) ExpiredAt(now time.Time) bool {
	at, ok := r.Expires()
	return ok && !now.Before(at)
}

// VersionText is the record's version for callers: it changes with every change but a heartbeat that only extends a
// live lease, and never comes back, because the fence outlives the record.
func (r *Record) VersionText() string {
	return strconv.FormatInt(r.Fence, 36) + "." + strconv.FormatInt(int64(r.Version), 36)
}

// SweepHourOf gives the coarse hour of an end: rounded up, so that the index on it moves seldom and never too early.
func SweepHourOf(end time.Time) int32 {
	const hour = int64(time.Hour / time.Microsecond)
	us := end.UnixMicro()
	h := us / hour
	if us%hour > 0 {
		h++
	}
	return int32(h)
}
