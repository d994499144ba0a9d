package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// ReserveRequest asks for the right to do the work. Durations of 0 are the tenant's defaults.
type ReserveRequest struct {
	Name
	// Fingerprint says what makes a retry the same request: 1 to 128 visible ASCII bytes, such as one of
	// package fingerprint.
	Fingerprint string
	// AttemptID is made afresh for each acquisition, and kept while the same call is repeated: 8 to 128 visible ASCII
	// bytes, never a job or message id. Empty: Reserve makes one, for this call and its repetitions.
	AttemptID string
	Lease     time.Duration // how long the key is held without a heartbeat: 100 ms to 1 h, by default 30 s
	Retention time.Duration // how long the result is kept: 1 s to 90 days, by default 24 h
	OnLapse   OnLapse       // empty: RetryOnLapse
	Holder    string        // for people; empty: the client's
	Wait      time.Duration // how long the service may wait while another attempt is in progress: up to 20 s
}

// Reservation is what Reserve got: a grant, or what was done before.
type Reservation struct {
	Record Record
	Grant  *Grant // nil: it was done, and Record.Response is the answer to give (nil if none was stored)
}

// CompleteRequest settles a key.
type CompleteRequest struct {
	Name
	Token           string
	Failed          bool // it failed for good
	Response        *Response
	ResponseDropped bool          // there was a body, and it is not in Response
	ResourceID      string        // of what the work made: up to 255 bytes
	Retention       time.Duration // 0: what the reservation set
}

// ReleaseRequest gives a key back undone.
type ReleaseRequest struct {
	Name
	Token  string
	Reason string // for people, as Record.LastError; up to 1,000 bytes
	Forget bool   // also blank fingerprint and checkpoint, so that a corrected request may use the key
}

// HeartbeatRequest extends a lease.
type HeartbeatRequest struct {
	Name
	Token      string
	Lease      time.Duration // from now; 0: what the reservation set
	Checkpoint *Checkpoint   // changes nothing unless its Seq is higher than the one that is stored
	OnLapse    OnLapse       // HoldOnLapse turns it to hold; nothing turns it back
}

// LookupRequest reads a key.
type LookupRequest struct {
	Name
	Fingerprint string // compared when it is given
}

// Reserve acquires the key, or gives what is stored under it. Its errors are [ErrInProgress], [ErrFingerprintMismatch],
// [ErrUncertain], [ErrLeaseLost] (a stray repetition of an older acquisition), [ErrResponseUnavailable], and those of every call.
func (c *Client) Reserve(ctx context.Context, r ReserveRequest) (*Reservation, error) {
	return c.reserve(ctx, r, c.tries())
}

func (c *Client) reserve(ctx context.Context, r ReserveRequest, tries tries) (*Reservation, error) {
	request, err := r.wire(c)
	if err != nil {
		return nil, err
	}
	var answer wire.ReserveAnswer
	if r.Wait < 0 || r.Wait > time.Minute {
		return nil, invalid(wire.CallReserve, "wait: must be up to 20s")
	}
	sent, err := c.do(ctx, call{name: wire.CallReserve, wait: r.Wait, tries: tries}, request, into(&answer, func(wire.ReserveAnswer) error { return nil }))
	if err != nil {
		return nil, err
	}
	return c.reservation(r.Name, answer, sent)
}

// reservation trusts nothing but an outcome that it knows.
func (c *Client) reservation(n Name, a wire.ReserveAnswer, sent time.Time) (*Reservation, error) {
	refuse := func(detail string) (*Reservation, error) {
		return nil, &Error{Call: wire.CallReserve, Status: 200, Detail: detail, kind: ErrUnexpectedAnswer}
	}
	if c.tenant != "" && a.Record.Tenant != c.tenant {
		return refuse("the token is of another tenant than client.Tenant says")
	}
	got := &Reservation{Record: recordOf(a.Record)}
	switch {
	case got.Record.Name != n:
		return refuse("the record is of another key")
	case a.Outcome == wire.OutcomeReplay && (got.Record.State == StateCompleted || got.Record.State == StateFailed):
		return got, nil
	case a.Outcome == wire.OutcomeAcquired && a.Lease != nil && a.Lease.Token != "" && a.Lease.RemainingMS > 0:
		got.Grant = grantOf(*a.Lease, sent)
		return got, nil
	}
	return refuse(fmt.Sprintf("the outcome %.40q is no grant", a.Outcome))
}

// Complete settles the key, and returns its record, without the response. Repeated with the same result it is answered alike. Its errors are
// [ErrAlreadyCompleted], [ErrLeaseLost], and those of every call. Do not release after Complete was sent: repeat it.
func (c *Client) Complete(ctx context.Context, r CompleteRequest) (*Record, error) {
	return c.complete(ctx, r, c.tries())
}

func (c *Client) complete(ctx context.Context, r CompleteRequest, tries tries) (*Record, error) {
	request, err := r.wire()
	if err != nil {
		return nil, err
	}
	return c.settle(ctx, wire.CallComplete, request, tries, r.Name, StateCompleted, StateFailed)
}

// Release gives the key back undone, and returns its record. Its errors are [ErrAlreadyCompleted], [ErrLeaseLost], and
// those of every call.
func (c *Client) Release(ctx context.Context, r ReleaseRequest) (*Record, error) {
	return c.release(ctx, r, c.tries())
}

func (c *Client) release(ctx context.Context, r ReleaseRequest, tries tries) (*Record, error) {
	request, err := r.wire()
	if err != nil {
		return nil, err
	}
	return c.settle(ctx, wire.CallRelease, request, tries, r.Name, StateReleased)
}

// settle believes an answer only if it has the record of that name in one of states.
func (c *Client) settle(ctx context.Context, name string, request any, tries tries, n Name, states ...State) (*Record, error) {
	var answer wire.RecordAnswer
	check := func(a wire.RecordAnswer) error { return isOf(a.Record, n, states...) }
	if _, err := c.do(ctx, call{name: name, tries: tries}, request, into(&answer, check)); err != nil {
		return nil, err
	}
	record := recordOf(answer.Record)
	return &record, nil
}

// isOf holds a record to what it must be.
func isOf(r wire.Record, n Name, states ...State) error {
	if r.Operation != n.Operation || r.Subject != n.Subject || r.Key != n.Key {
		return errors.New("the record is of another key")
	}
	if len(states) > 0 && !slices.Contains(states, State(r.State)) {
		return fmt.Errorf("the record is %.20q", r.State)
	}
	return nil
}

// Heartbeat extends the lease, and may note progress or turn the key to hold. Record tells whether it did. Its errors are
// [ErrLeaseLost], and those of every call.
func (c *Client) Heartbeat(ctx context.Context, r HeartbeatRequest) (*Reservation, error) {
	return c.heartbeat(ctx, r, c.tries(), 0)
}

func (c *Client) heartbeat(ctx context.Context, r HeartbeatRequest, tries tries, limit time.Duration) (*Reservation, error) {
	request, err := r.wire()
	if err != nil {
		return nil, err
	}
	var answer wire.HeartbeatAnswer
	check := func(a wire.HeartbeatAnswer) error { return isOf(a.Record, r.Name, StateInProgress) }
	sent, err := c.do(ctx, call{name: wire.CallHeartbeat, tries: tries, limit: limit}, request, into(&answer, check))
	if err != nil {
		return nil, err
	}
	return &Reservation{Record: recordOf(answer.Record), Grant: grantOf(answer.Lease, sent)}, nil
}

// Lookup reads the key. Without the scope keys:body the record has no response. Its errors are [ErrNotFound],
// [ErrFingerprintMismatch], and those of every call.
func (c *Client) Lookup(ctx context.Context, r LookupRequest) (*Record, error) {
	request, err := r.wire()
	if err != nil {
		return nil, err
	}
	var answer wire.RecordAnswer
	if _, err := c.do(ctx, call{name: wire.CallLookup, tries: c.tries(), reads: true}, request, into(&answer, func(a wire.RecordAnswer) error { return isOf(a.Record, r.Name) })); err != nil {
		return nil, err
	}
	record := recordOf(answer.Record)
	return &record, nil
}

func (r ReserveRequest) wire(c *Client) (any, error) {
	if r.Fingerprint == "" {
		return nil, invalid(wire.CallReserve, "fingerprint: it is empty: it says what makes a retry the same request")
	}
	if r.AttemptID == "" {
		r.AttemptID = NewAttemptID()
	}
	if r.Holder == "" {
		r.Holder = c.holder
	}
	return wire.ReserveRequest{
		Name: r.Name.wire(), Fingerprint: &r.Fingerprint, AttemptID: &r.AttemptID, Lease: millis(r.Lease),
		Retention: millis(r.Retention), OnLapse: given(r.OnLapse), Holder: given(r.Holder), Wait: millis(r.Wait),
	}, texts(wire.CallReserve, r.Name, "fingerprint", r.Fingerprint, "attempt_id", r.AttemptID, "holder", r.Holder)
}

func (r CompleteRequest) wire() (any, error) {
	w := wire.CompleteRequest{Name: r.Name.wire(), LeaseToken: r.Token, Response: r.Response.wire(),
		ResourceID: given(r.ResourceID), Retention: millis(r.Retention)}
	if r.Failed {
		w.Result = given(StateFailed)
	}
	if r.ResponseDropped {
		w.ResponseDropped = &r.ResponseDropped
	}
	return w, texts(wire.CallComplete, r.Name, "resource_id", r.ResourceID)
}

func (r ReleaseRequest) wire() (any, error) {
	w := wire.ReleaseRequest{Name: r.Name.wire(), LeaseToken: r.Token, Reason: given(r.Reason)}
	if r.Forget {
		w.Forget = &r.Forget
	}
	return w, texts(wire.CallRelease, r.Name, "reason", r.Reason)
}

func (r HeartbeatRequest) wire() (any, error) {
	w := wire.HeartbeatRequest{Name: r.Name.wire(), LeaseToken: r.Token, Lease: millis(r.Lease), OnLapse: given(r.OnLapse)}
	var data string
	if r.Checkpoint != nil {
		data = r.Checkpoint.Data
		w.Checkpoint = &wire.Checkpoint{Seq: r.Checkpoint.Seq, Data: &data}
	}
	return w, texts(wire.CallHeartbeat, r.Name, "checkpoint.data", data)
}

func (r LookupRequest) wire() (any, error) {
	return wire.LookupRequest{Name: r.Name.wire(), Fingerprint: given(r.Fingerprint)},
		texts(wire.CallLookup, r.Name, "fingerprint", r.Fingerprint)
}

// texts refuses what JSON would change on the way: bytes that are no UTF-8 would arrive as U+FFFD, and two keys as one.
func texts(call string, n Name, more ...string) error {
	fields := append([]string{"operation", n.Operation, "subject", n.Subject, "key", n.Key}, more...)
	for i := 0; i < len(fields); i += 2 {
		if !utf8.ValidString(fields[i+1]) {
			return invalid(call, fields[i]+": it is not valid UTF-8")
		}
	}
	return nil
}

// invalid refuses a request before it is sent.
func invalid(call, detail string) *Error {
	return &Error{Call: call, Detail: detail, Advice: AdviceFixRequest, kind: ErrInvalidRequest}
}

// NewAttemptID makes a new id for an acquisition: 26 characters with at least 128 random bits.
func NewAttemptID() string { return rand.Text() }
