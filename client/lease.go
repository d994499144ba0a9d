package client

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Lease is what the work of [Do] holds while it runs. Its methods may be called by many goroutines.
type Lease struct {
	op     Op
	tenant string
	grant  Grant // as it was acquired; without a token when the work runs unguarded
	client *Client
	end    context.CancelCauseFunc // ends the context of the work

	over context.Context // ends when nothing of this lease may go out any more
	shut context.CancelFunc
	wire chan struct{} // has room for one: whoever sends a heartbeat, so that they go one at a time

	mu      sync.Mutex // of what follows
	until   time.Time
	lost    error // why the lease is not ours any more, as the service said
	holds   bool  // hold was acknowledged: from then on only the work may say that nothing happened
	seq     int64 // of the last checkpoint
	expired *time.Timer
	told    bool
}

func newLease(c *Client, op Op, r *Reservation, end context.CancelCauseFunc) *Lease {
	l := &Lease{op: op, client: c, end: end, tenant: c.tenant, wire: make(chan struct{}, 1)}
	l.over, l.shut = context.WithCancel(context.Background())
	if r == nil {
		return l
	}
	l.tenant, l.grant, l.until = r.Record.Tenant, *r.Grant, r.Grant.Until
	l.holds = op.OnLapse == HoldOnLapse
	if r.Grant.Progress != nil {
		l.seq = r.Grant.Progress.Seq
	}
	return l
}

// Name is that of the key.
func (l *Lease) Name() Name { return l.op.name() }

// Tenant is whose key it is.
func (l *Lease) Tenant() string { return l.tenant }

// Fingerprint is that of the request.
func (l *Lease) Fingerprint() string { return l.op.Fingerprint }

// Token proves this acquisition. It is secret: keep it where only the holders of the operation read, and out of logs. It
// is empty when the work runs unguarded.
func (l *Lease) Token() string { return l.grant.Token }

// Fence rises with every acquisition of the key. Write it beside what the work changes, and let no lower one through. It is 0
// when the work runs unguarded.
func (l *Lease) Fence() int64 { return l.grant.Fence }

// Attempt is 1, 2, 3 …: which acquisition of the key this is; 0 when the work runs unguarded.
func (l *Lease) Attempt() int { return l.grant.Attempt }

// Takeover tells that the holder before vanished: its work may be half done.
func (l *Lease) Takeover() bool { return l.grant.Takeover }

// Progress is the last checkpoint of the attempts before, and whether there is one.
func (l *Lease) Progress() (data string, ok bool) {
	if l.grant.Progress == nil {
		return "", false
	}
	return l.grant.Progress.Data, true
}

// Unguarded tells that there is no lease: the service could not be asked, and the policy is [FailOpen].
func (l *Lease) Unguarded() bool { return l.grant.Token == "" }

// Until is the moment until which the lease surely lasts, by the monotonic clock of this process. Heartbeats move it. It is
// zero when the work runs unguarded.
func (l *Lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Err is nil while the lease surely lasts, and [ErrLeaseLost] otherwise. It looks at the clock, and so also tells a
// process that was stopped, before a timer could.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.Unguarded():
		return nil
	case l.lost != nil:
		return l.lost
	case !time.Now().Before(l.until):
		return errRanOut
	}
	return nil
}

// errRanOut is that no heartbeat was acknowledged in time. Nobody needs to have taken over.
var errRanOut = fmt.Errorf("%w: it ran out before a heartbeat was answered", ErrLeaseLost)

// DownstreamKey derives an idempotency key for a provider: the same for every attempt at this key, another for every
// tenant, operation, subject, key and step. step names the effect within the work, and may be empty if there is one. It is
// 64 characters: the hex SHA-256 of these five texts, each behind its length in bytes as an 8-byte big-endian number. The
// provider must remember it for longer than anybody retries.
func (l *Lease) DownstreamKey(step string) string {
	return DownstreamKey(l.tenant, l.op.name(), step)
}

// DownstreamKey is what [Lease.DownstreamKey] gives, for programs that have no lease, such as an outbox worker.
func DownstreamKey(tenant string, n Name, step string) string {
	var parts []byte
	for _, part := range []string{tenant, n.Operation, n.Subject, n.Key, step} {
		parts = binary.BigEndian.AppendUint64(parts, uint64(len(part)))
		parts = append(parts, part...)
	}
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:])
}

// PointOfNoReturn turns the key to hold, and returns when that is acknowledged: from then on nobody runs the work again
// before an operator has looked, unless it completes, fails for good, or says [NotDone]. Call it just before an effect that must not
// happen twice and that nothing else protects, and do not begin the effect when it fails. Its error, if the work returns it
// and the key was not on hold before, is [NotDone]. It repeats until ctx or the lease is over.
func (l *Lease) PointOfNoReturn(ctx context.Context) error {
	err := l.beat(ctx, HeartbeatRequest{OnLapse: HoldOnLapse}, func(r Record) error {
		if r.OnLapse != HoldOnLapse { // a service that did not know the field would have ignored it
			return &Error{Call: "heartbeat", Status: 200, Detail: "the key was not turned to hold", kind: ErrUnexpectedAnswer}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.holds = true
		return nil
	})
	if err == nil {
		return nil
	}
	return &mark{error: err, notDone: true, unlessHeld: l} // another goroutine may have got there
}

// Checkpoint notes how far the work came, and returns when that is acknowledged. Whoever takes over finds data in
// [Lease.Progress]: UTF-8 of up to 16 KiB. It repeats until ctx or the lease is over.
func (l *Lease) Checkpoint(ctx context.Context, data string) error {
	l.mu.Lock()
	l.seq++
	seq := l.seq
	l.mu.Unlock()
	return l.beat(ctx, HeartbeatRequest{Checkpoint: &Checkpoint{Seq: seq, Data: data}}, func(Record) error { return nil })
}

func (l *Lease) isHeld() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holds
}

// beat sends one heartbeat until it is answered, and then asks check whether it did what was meant.
func (l *Lease) beat(ctx context.Context, r HeartbeatRequest, check func(Record) error) error {
	if l.Unguarded() {
		return nil // there is nothing to turn or to note: FailOpen gives up what this protects
	}
	for n := 1; ; n++ {
		if err := l.Err(); err != nil {
			return err
		}
		record, err := l.send(ctx, r)
		if err == nil {
			return check(record)
		}
		var e *Error
		if !errors.As(err, &e) || !e.repeatable() || l.client.maxRetries == 0 {
			return err
		}
		if !sleep(ctx, l.client.backoff.pause(n, e.RetryAfter)) {
			return fmt.Errorf("%w: %w", err, ended(ctx))
		}
	}
}

// send is one request, when no other heartbeat is on the wire. It moves the lease's end, or notes that it is lost.
func (l *Lease) send(ctx context.Context, r HeartbeatRequest) (Record, error) {
	select {
	case l.wire <- struct{}{}:
		defer func() { <-l.wire }()
	case <-ctx.Done():
		return Record{}, ended(ctx)
	case <-l.over.Done():
		return Record{}, errOver
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.over, cancel)()
	r.Name, r.Token, r.Lease = l.op.name(), l.grant.Token, l.op.Lease
	got, err := l.client.heartbeat(ctx, r, once, max(l.length()/3, 100*time.Millisecond)) // one that hangs must not cost the lease
	if l.over.Err() != nil {
		return Record{}, errOver
	}
	if errors.Is(err, ErrLeaseLost) || errors.Is(err, ErrAlreadyCompleted) {
		l.lose(fmt.Errorf("%w: %w", ErrLeaseLost, err))
	}
	if err != nil {
		return Record{}, err
	}
	l.extend(got.Grant.Until)
	return got.Record, nil
}

// errOver is told to a goroutine that uses a lease after the work has come back.
var errOver = fmt.Errorf("%w: the work is over", ErrLeaseLost)

// length is how long the lease was when it was granted.
func (l *Lease) length() time.Duration { return l.grant.Until.Sub(l.grant.Sent) }

// close lets nothing go out any more, and returns when nothing is on the wire.
func (l *Lease) close() {
	l.shut()
	l.wire <- struct{}{} // and is never given back
}

// extend moves the end of the lease, later alone.
func (l *Lease) extend(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil && until.After(l.until) {
		l.until = until
		if l.expired != nil {
			l.expired.Reset(time.Until(until))
		}
	}
}

// lose ends the context of the work, because the service said that the lease is another's.
func (l *Lease) lose(why error) {
	l.mu.Lock()
	first := l.lost == nil
	l.lost = why
	l.mu.Unlock()
	if first {
		l.lapse(why)
	}
}

// lapse ends the context of the work, and counts that once.
func (l *Lease) lapse(why error) {
	l.mu.Lock()
	first := !l.told
	l.told = true
	l.mu.Unlock()
	if first {
		l.client.stats.leasesLost.Add(1)
		l.client.logger.Warn("reprise: a lease was lost while the work ran", "operation", l.op.Operation, "attempt", l.grant.Attempt, "error", why)
	}
	l.end(why)
}
