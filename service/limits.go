package service

import (
	"errors"
	"fmt"
	"time"
)

// Range is what a duration may be, and what it is when a call leaves it out.
type Range struct{ Default, Min, Max time.Duration }

// Limits bound what a call may ask. Sizes are bytes.
type Limits struct {
	Lease     Range         // how long one acquisition lasts without a heartbeat
	Retention Range         // how long a settled record is kept
	Wait      time.Duration // the longest that a reserve may ask to wait for another holder

	Waiters          int // callers that wait at once, in all
	WaitersPerTenant int
	BatchCalls       int // of one batch
	List             int // keys or acts of one page

	Operation   int // at least 1
	Subject     int
	Key         int // at least 1
	Holder      int
	ResourceID  int
	Reason      int // at least 1: operators must give one
	Checkpoint  int // data
	HeaderLines int // kept of a response
	HeaderBytes int // kept of a response: names and values
	Body        int // of a response, decoded; a larger one is dropped and marked
}

// The length of an attempt id is the same everywhere.
const (
	minAttemptID = 8
	maxAttemptID = 128
)

// DefaultLimits are those of the API's contract.
func DefaultLimits() Limits {
	return Limits{
		Lease:     Range{Default: 30 * time.Second, Min: 100 * time.Millisecond, Max: time.Hour},
		Retention: Range{Default: 24 * time.Hour, Min: time.Second, Max: 90 * 24 * time.Hour},
		Wait:      20 * time.Second,

		Waiters:          10_000,
		WaitersPerTenant: 1000,
		BatchCalls:       256,
		List:             200,

		Operation:   200,
		Subject:     200,
		Key:         255,
		Holder:      255,
		ResourceID:  255,
		Reason:      1000,
		Checkpoint:  16 << 10,
		HeaderLines: 64,
		HeaderBytes: 16 << 10,
		Body:        1 << 20,
	}
}

// maxWait leaves time for the answer before a server, or a load balancer, takes a request for dead after a minute.
const maxWait = 40 * time.Second

// The name is the key of an index, whose entries PostgreSQL bounds at 2,704 bytes.
const maxNamePart = 512

// Validate tells everything that is wrong with the limits at once, by the names of the settings.
func (l Limits) Validate() error {
	return errors.Join(
		l.Lease.validate("limits.lease"),
		l.Retention.validate("limits.retention"),
		withinTime("limits.wait", l.Wait, time.Millisecond, maxWait),
		within("limits.waiters", l.Waiters, 0, 1_000_000),
		within("limits.waiters_per_tenant", l.WaitersPerTenant, 0, 1_000_000),
		within("limits.batch_calls", l.BatchCalls, 1, 4096),
		within("limits.list", l.List, 1, 1000),
		within("limits.operation", l.Operation, 1, maxNamePart),
		within("limits.subject", l.Subject, 0, maxNamePart),
		within("limits.key", l.Key, 1, maxNamePart),
		within("limits.holder", l.Holder, 0, 4096),
		within("limits.resource_id", l.ResourceID, 0, 4096),
		within("limits.reason", l.Reason, 1, 1<<16),
		within("limits.checkpoint", l.Checkpoint, 0, 1<<20),
		within("limits.header_lines", l.HeaderLines, 0, 1024),
		within("limits.header_bytes", l.HeaderBytes, 0, 1<<20),
		within("limits.response_body", l.Body, 0, 64<<20),
	)
}

func (r Range) validate(name string) error {
	if r.Min < time.Millisecond || r.Min > r.Max || r.Default < r.Min || r.Default > r.Max {
		return fmt.Errorf("%[1]s_default: %[2]s is not within %[1]s_min (%[3]s, at least 1ms) and %[1]s_max (%[4]s)", name, r.Default, r.Min, r.Max)
	}
	if r.Default%time.Millisecond != 0 || r.Min%time.Millisecond != 0 || r.Max%time.Millisecond != 0 {
		return fmt.Errorf("%s: durations are whole milliseconds", name)
	}
	return nil
}

func within(name string, got, least, most int) error {
	if got < least || got > most {
		return fmt.Errorf("%s: %d is not within %d and %d", name, got, least, most)
	}
	return nil
}

func withinTime(name string, got, least, most time.Duration) error {
	if got < least || got > most {
		return fmt.Errorf("%s: %s is not within %s and %s", name, got, least, most)
	}
	return nil
}
