package client

import (
	"context"
	"sync"
	"time"
)

// keeper extends a lease while the work runs: at each third of it, one heartbeat at a time.
type keeper struct {
	lease *Lease
	stop  context.CancelFunc
	done  chan struct{}
	once  sync.Once
}

// keep begins to extend the lease. ctx is that of the work, without its end: a caller who hangs up is no reason to let go
// of a lease while the work is not over.
func keep(ctx context.Context, l *Lease) *keeper {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	k := &keeper{lease: l, stop: stop, done: make(chan struct{})}
	l.mu.Lock()
	l.expired = time.AfterFunc(time.Until(l.until), k.ranOut)
	l.mu.Unlock()
	go k.run(ctx)
	return k
}

// ranOut ends the context of the work when no heartbeat was acknowledged in time.
func (k *keeper) ranOut() {
	if err := k.lease.Err(); err != nil {
		k.lease.lapse(err)
	}
}

// end stops the heartbeats, those of the work's own goroutines too, and returns when none is on the wire any more.
func (k *keeper) end() {
	k.once.Do(func() {
		k.stop()
		k.lease.close()
		<-k.done
		k.lease.mu.Lock()
		defer k.lease.mu.Unlock()
		k.lease.expired.Stop()
	})
}

// run sends a heartbeat at each third of the lease. After one that failed for a reason that may pass it tries again soon,
// also past the end of the lease: as long as nobody took over it is still ours, and only completing can tell.
func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	length := max(k.lease.length(), 30*time.Millisecond)
	next := k.lease.grant.Sent.Add(length / 3)
	for n := 1; sleep(ctx, time.Until(next)); {
		sent := time.Now()
		_, err := k.lease.send(ctx, HeartbeatRequest{})
		switch {
		case err == nil:
			n, next = 1, sent.Add(length/3)
		case k.lease.isLost():
			return
		default:
			next = time.Now().Add(min(k.lease.client.backoff.pause(n, 0), length/6))
			n++
		}
	}
}
