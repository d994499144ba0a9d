package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-idempotency/reprise/client/fingerprint"
)

// Op is one thing that must not happen twice.
type Op struct {
	Operation string // what is done, such as "job:send-invoice": 1 to 200 bytes
	Subject   string // on whose behalf, such as the customer's account id; empty when the tenant acts for itself
	Key       string // which one, such as the id of the order: 1 to 255 bytes

	// Fingerprint says what makes a retry the same request: 1 to 128 visible ASCII bytes. Give it or Input: without, a
	// retry with other arguments would get the result of the first.
	Fingerprint string
	// Input is what the work is about: its JSON, as encoding/json writes it, becomes the fingerprint. The order of members
	// does not matter.
	Input any

	Lease     time.Duration // how long the key is held between two heartbeats; 0: the tenant's default, usually 30 s
	Retention time.Duration // how long the result is kept; 0: the tenant's default, usually 24 h
	OnLapse   OnLapse       // what becomes of the key when this process vanishes; empty: RetryOnLapse

	// Wait says how long to wait while another attempt is in progress: 0 for as long as the context lasts, NoWait for not at
	// all. Then the error is ErrInProgress.
	Wait time.Duration
	// OnOutage overrides the client's policy; 0 leaves it.
	OnOutage OutagePolicy
}

// NoWait is [Op.Wait] for who would rather come back later.
const NoWait time.Duration = -1

func (o Op) name() Name { return Name{Operation: o.Operation, Subject: o.Subject, Key: o.Key} }

// Settlement is how a piece of work ended.
type Settlement struct {
	Failed          bool // for good
	Response        *Response
	ResponseDropped bool   // there was a body, and it is not in Response
	ResourceID      string // of what the work made: up to 255 bytes
	Retention       time.Duration
}

// Outcome is what [Client.Run] ends with.
type Outcome struct {
	Settlement
	How    How
	Record *Record // where the key stands; nil when the service could not say
}

// Work does what must not happen twice, and says how it ended. An error says that it did not end: see [Client.Run].
type Work func(ctx context.Context, lease *Lease) (*Settlement, error)

// Run reserves the key of op, runs work while it extends the lease, and completes the key with what work returned; or
// returns what is stored, and does not run work. [Do] is Run with a typed result.
//
// The context of work ends with that of the caller, or with the cause [ErrLeaseLost]: at once when the service says that
// the lease is another's, and no later than the lease may run out when no heartbeat is answered. Completing and releasing go
// on after the caller's context ended, for up to [SettleTimeout].
//
// When work returns an error, the key is given back, so that the next attempt runs at once, except:
//   - the error is marked [Unsure], or is context.Canceled or context.DeadlineExceeded, or the context of work has ended: it may have
//     been done, so the lease runs out;
//   - the key is on hold, by [Op.OnLapse] or [Lease.PointOfNoReturn]: likewise, and then an operator has to look;
//   - it is marked [NotDone] or [Forget]: it surely was not done, and the key is given back in any case;
//   - it is marked [Final]: it is recorded as a failure, which retries get.
//
// When work panics, or ends its goroutine, nothing is released or completed, and the panic goes on.
//
// Run fails with the error of the reserve when the work did not run, and with that of work when it did. When the work was
// done and could not be recorded, the outcome is that of work, and the error is [ErrNotRecorded] with the reason.
func (c *Client) Run(ctx context.Context, op Op, work Work) (outcome *Outcome, err error) {
	start := time.Now()
	how := LeftOpen // if the work never returns
	defer func() {
		if c.hooks.Done != nil {
			c.hooks.Done(DoneInfo{Operation: op.Operation, How: how, Took: time.Since(start), Err: err})
		}
	}()
	outcome, err = c.run(ctx, op, work)
	how = outcome.How
	err = unmarked(err)
	if err != nil && how != NotRecorded {
		return nil, err
	}
	return outcome, err
}

func (c *Client) run(ctx context.Context, op Op, work Work) (*Outcome, error) {
	refused := &Outcome{How: Refused}
	if err := op.complete(c); err != nil {
		return refused, err
	}
	if ctx.Err() != nil {
		return refused, ended(ctx)
	}
	got, err := c.acquire(ctx, op)
	switch {
	case isOutage(err) && ctx.Err() == nil && c.failsOpen(op):
		return c.unguarded(ctx, op, work)
	case err != nil:
		return refused, err
	case got.Grant == nil:
		return &Outcome{How: Replayed, Record: &got.Record, Settlement: settlementOf(got.Record)}, nil
	}
	if ctx.Err() != nil { // too late to begin
		_, _ = c.giveBack(ctx, op, got.Grant.Token, NotDone(ended(ctx)))
		return refused, ended(ctx)
	}
	return c.guarded(ctx, op, got, work)
}

// complete checks what the service cannot, and fills in what is left out.
func (o *Op) complete(c *Client) error {
	switch {
	case o.OnOutage == FailOpen && c.tenant == "":
		return invalid("reserve", "op: OnOutage: FailOpen needs client.Tenant")
	case o.Fingerprint == "" && o.Input == nil:
		return invalid("reserve", "op: give Fingerprint or Input: it says what makes a retry the same request")
	case o.Fingerprint != "" && o.Input != nil:
		return invalid("reserve", "op: give Fingerprint or Input, not both")
	case o.Input != nil:
		f, err := fingerprintOf(o.Input)
		if err != nil {
			return invalid("reserve", "op: Input: "+err.Error())
		}
		o.Fingerprint = f
	}
	if err := fingerprint.Validate(o.Fingerprint); err != nil {
		return invalid("reserve", "op: "+err.Error())
	}
	return nil
}

// acquire reserves, and waits while another attempt is in progress.
func (c *Client) acquire(ctx context.Context, op Op) (*Reservation, error) {
	r := ReserveRequest{Name: op.name(), Fingerprint: op.Fingerprint, AttemptID: NewAttemptID(),
		Lease: op.Lease, Retention: op.Retention, OnLapse: op.OnLapse}
	until := deadline(ctx, op.Wait)
	for n, lost := 1, 0; ; n++ {
		if op.Wait != NoWait {
			r.Wait = c.poll(until)
		}
		asked := time.Now()
		got, err := c.Reserve(ctx, r)
		if err == nil {
			got, err = c.confirm(ctx, op, got)
		}
		var e *Error
		if err == nil || !errors.As(err, &e) {
			return got, err
		}
		switch {
		case e.Code == "lease_lost" && lost < 3: // the answer to this attempt was lost or late, and others had the key since
			lost++
			r.AttemptID = NewAttemptID()
		case e.Code != "in_progress" || op.Wait == NoWait || !time.Now().Before(until):
			return nil, err
		case r.Wait >= time.Second && time.Since(asked) >= r.Wait:
			continue // it waited there: to ask again is the long poll
		}
		pause := min(c.backoff.pause(n, e.RetryAfter), max(time.Until(until), time.Millisecond))
		if !sleep(ctx, pause) {
			e.cause = ended(ctx)
			return nil, e
		}
	}
}

// confirm extends a lease that comes with less than half of it left, because its answer was late or had been waited for: work
// must not begin under a lease that is over, or nearly.
func (c *Client) confirm(ctx context.Context, op Op, r *Reservation) (*Reservation, error) {
	for range 3 {
		if r.Grant == nil || time.Until(r.Grant.Until) >= r.Grant.Until.Sub(r.Grant.Sent)/2 {
			return r, nil
		}
		beat, err := c.Heartbeat(ctx, HeartbeatRequest{Name: op.name(), Token: r.Grant.Token, Lease: op.Lease})
		if err != nil {
			return nil, err
		}
		r.Grant.Sent, r.Grant.Until = beat.Grant.Sent, beat.Grant.Until
	}
	return nil, &Error{Call: "reserve", Detail: "the lease is over before its answer is here: it is too short for this network", kind: ErrOutcomeUnknown}
}

// farOff is the end of a wait that nothing bounds.
const farOff = 24 * 365 * time.Hour

// deadline is when waiting ends: after wait if that bounds it, and a little before ctx does, so that the last answer says why.
func deadline(ctx context.Context, wait time.Duration) time.Time {
	now := time.Now()
	left := farOff
	if wait != 0 {
		left = max(wait, 0)
	}
	if end, ok := ctx.Deadline(); ok {
		d := end.Sub(now)
		left = min(left, d-min(d/4, 200*time.Millisecond))
	}
	return now.Add(left)
}

// poll is how long the service may wait within one request.
func (c *Client) poll(until time.Time) time.Duration {
	return max(min(c.longPoll, time.Until(until)), 0).Truncate(time.Millisecond)
}

// isOutage tells that the service could not be asked, rather than that it refused.
func isOutage(err error) bool {
	var e *Error
	return errors.As(err, &e) && errors.Is(e.kind, ErrUnavailable)
}

func (c *Client) failsOpen(op Op) bool {
	policy := c.outage
	if op.OnOutage != 0 {
		policy = op.OnOutage
	}
	return policy == FailOpen
}

// unguarded runs the work without a grant.
func (c *Client) unguarded(ctx context.Context, op Op, work Work) (*Outcome, error) {
	c.stats.unguarded.Add(1)
	c.logger.Warn("reprise: the service cannot be asked: the work runs unguarded", "operation", op.Operation)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s, err := work(ctx, newLease(c, op, nil, end))
	s, err = conclude(s, err)
	if err != nil {
		return &Outcome{How: Unguarded}, err
	}
	return &Outcome{How: Unguarded, Settlement: *s}, nil
}

// guarded runs the work under its lease, and settles or gives back.
func (c *Client) guarded(ctx context.Context, op Op, r *Reservation, work Work) (*Outcome, error) {
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	l := newLease(c, op, r, end)
	k := keep(ctx, l)
	defer k.end() // also when the work panics: then nothing else happens, and the lease runs out
	s, err := work(inner, l)
	broken := inner.Err() != nil
	k.end()
	s, err = conclude(s, err)
	if err != nil {
		if cause := context.Cause(inner); errors.Is(cause, ErrLeaseLost) && !errors.Is(err, ErrLeaseLost) {
			err = fmt.Errorf("%w: %w", err, cause) // work says no more than that its context ended
		}
		return c.giveUp(ctx, l, err, broken)
	}
	return c.record(ctx, l, s)
}

// conclude turns a final failure into a settlement.
func conclude(s *Settlement, err error) (*Settlement, error) {
	w := word(err)
	switch {
	case err == nil && s == nil:
		return &Settlement{}, nil
	case w.final != nil:
		return failureSettlement(w.final), nil
	}
	return s, err
}
