package clienttest

import (
	"context"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// reserveOrWait looks again whenever something changed, for as long as the call wants to wait. The fake's lock is held, but
// not while it waits.
func (f *Fake) reserveOrWait(ctx context.Context, n name, q wire.ReserveRequest) (any, *refusal) {
	answer, no := f.reserve(n, q)
	if q.Wait == nil {
		return answer, no
	}
	end := f.now().Add(duration(q.Wait, 0))
	for no != nil && no.code == "in_progress" && f.now().Before(end) && ctx.Err() == nil {
		next := end
		if r := f.at(n); r != nil && r.leaseEnd.Before(end) {
			next = r.leaseEnd
		}
		f.pause(ctx, next.Sub(f.now()))
		if ctx.Err() == nil {
			answer, no = f.reserve(n, q)
		}
	}
	return answer, no
}

// pause waits for a change, for d, or for the end of ctx.
func (f *Fake) pause(ctx context.Context, d time.Duration) {
	changed := f.changed
	f.mu.Unlock()
	defer f.mu.Lock()
	timer := time.NewTimer(max(d, 0) + time.Microsecond)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}
