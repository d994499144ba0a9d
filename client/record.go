package client

import (
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// Name says which key is meant, within the tenant of the token. Upper and lower case differ, and nothing is trimmed.
type Name struct {
	Operation string // what is being done, such as "POST /v1/orders": 1 to 200 bytes
	Subject   string // on whose behalf, such as the id of the authenticated customer; empty when the tenant acts for itself
	Key       string // the caller's name for one logical operation: 1 to 255 bytes
}

func (n Name) wire() wire.Name {
	return wire.Name{Operation: n.Operation, Subject: n.Subject, Key: n.Key}
}

// State of a record. The set may grow.
type State string

const (
	StateInProgress State = "in_progress" // somebody holds a live lease
	StateCompleted  State = "completed"   // it was done
	StateFailed     State = "failed"      // it was tried, and failed for good
	StateReleased   State = "released"    // given back undone
	StateAbandoned  State = "abandoned"   // the lease ran out under [RetryOnLapse]: the next reserve takes over
	StateUncertain  State = "uncertain"   // the lease ran out under [HoldOnLapse]: an operator has to look
)

// OnLapse says what becomes of a key whose lease runs out.
type OnLapse string

const (
	// RetryOnLapse lets the next reserve take over: the work may be done again. This is the default.
	RetryOnLapse OnLapse = "retry"
	// HoldOnLapse lets nobody run it again before an operator has looked.
	HoldOnLapse OnLapse = "hold"
)

// Record is what the service keeps under a name.
type Record struct {
	Tenant string
	Name
	State           State
	Attempt         int    // 1, 2, 3 …: which acquisition
	Fence           int64  // rises with every acquisition of the name; below 2^53
	Version         string // opaque: changes with the record
	Fingerprint     string
	Holder          string
	OnLapse         OnLapse
	CreatedAt       time.Time // times are by the clock of the service's store, and zero when there is none
	UpdatedAt       time.Time
	LeaseExpiresAt  time.Time // while in progress
	SettledAt       time.Time
	ExpiresAt       time.Time // zero also while the record does not expire by itself
	Checkpoint      *Checkpoint
	ResourceID      string
	LastError       string    // reason of the last release
	Response        *Response // nil when none was given, or the token may not see it
	ResponseDropped bool      // there was a body, and it was not kept
	DroppedHeaders  []string  // names of header lines that were not kept
}

// Checkpoint is a holder's note of how far it came.
type Checkpoint struct {
	Seq  int64  // only a higher one replaces it
	Data string // up to 16 KiB of UTF-8
}

// Grant is the right to do the work: a lease.
type Grant struct {
	Token    string // secret: proof of this acquisition
	Fence    int64
	Attempt  int
	Takeover bool        // the holder before vanished: its work may be half done
	Sent     time.Time   // when the request went out, from which the lease is counted
	Until    time.Time   // until when the lease surely lasts, by the monotonic clock of this process
	Progress *Checkpoint // of earlier attempts; nil when there is none
}

func recordOf(r wire.Record) Record {
	return Record{
		Tenant:          r.Tenant,
		Name:            Name{Operation: r.Operation, Subject: r.Subject, Key: r.Key},
		State:           State(r.State),
		Attempt:         r.Attempt,
		Fence:           r.Fence,
		Version:         r.Version,
		Fingerprint:     r.Fingerprint,
		Holder:          r.Holder,
		OnLapse:         OnLapse(r.OnLapse),
		CreatedAt:       timeOf(&r.CreatedAt),
		UpdatedAt:       timeOf(&r.UpdatedAt),
		LeaseExpiresAt:  timeOf(r.LeaseExpiresAt),
		SettledAt:       timeOf(r.SettledAt),
		ExpiresAt:       timeOf(r.ExpiresAt),
		Checkpoint:      checkpointOf(r.Checkpoint),
		ResourceID:      textOf(r.ResourceID),
		LastError:       textOf(r.LastError),
		Response:        responseOf(r.Response),
		ResponseDropped: r.ResponseDropped,
		DroppedHeaders:  r.DroppedHeaders,
	}
}

// longestLease bounds what is believed of an answer.
const longestLease = 24 * time.Hour

func grantOf(l wire.Lease, sent time.Time) *Grant {
	return &Grant{
		Token: l.Token, Fence: l.Fence, Attempt: l.Attempt, Takeover: l.Takeover, Progress: checkpointOf(l.Checkpoint),
		Sent: sent, Until: sent.Add(time.Duration(max(0, min(l.RemainingMS, longestLease.Milliseconds()))) * time.Millisecond),
	}
}

func checkpointOf(c *wire.Checkpoint) *Checkpoint {
	if c == nil {
		return nil
	}
	return &Checkpoint{Seq: c.Seq, Data: textOf(c.Data)}
}

// timeOf reads a time for people to look at: one that cannot be read is none, rather than the end of a call that was
// answered.
func timeOf(text *string) time.Time {
	if text == nil {
		return time.Time{}
	}
	t, _ := time.Parse(time.RFC3339Nano, *text)
	return t
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// given is a field that is left out when it is empty.
func given[T ~string](s T) *string {
	if s == "" {
		return nil
	}
	text := string(s)
	return &text
}
