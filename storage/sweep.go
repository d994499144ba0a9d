package storage

import "time"

// SweepDelay is how long after its end a record may be deleted at the earliest: longer than a decision on it may take
// to be written.
const SweepDelay = time.Minute

// OpenAfter is how long a key must have been in progress to be noted among the open ones.
const OpenAfter = time.Minute

// OpenCounted bounds what a count of the open keys of all tenants reads.
const OpenCounted = 10_000

// Sweepable is a row whose hour to be swept has come.
type Sweepable struct {
	Name
	SweepHour int32
	Fence     int64
	Revision  int32     // every write since would change it
	Due       bool      // it may be deleted; a record that is held in progress may not
	DueSince  time.Time // since when, if it may
}

// OpenKeys counts what is open in all tenants: the keys that have been in progress for a minute or longer.
type OpenKeys struct {
	Counts map[State]Count // InProgress, Abandoned and Uncertain; Oldest is never set
	Oldest time.Time       // creation of the oldest in progress; zero when there is none
	Now    time.Time
}

// Deletable is the first instant at which a row may be deleted: a minute after its end, and not before its sweep hour,
// which stays where it was when an operator ends a record early, so that its fence is not forgotten.
func Deletable(expiresAt time.Time, sweepHour int32) time.Time {
	hour := time.UnixMicro(int64(sweepHour) * int64(time.Hour/time.Microsecond)).UTC()
	if expiresAt.After(hour) {
		hour = expiresAt
	}
	return hour.Add(SweepDelay)
}
