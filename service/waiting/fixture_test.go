package waiting_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/service/waiting"
	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/sqlite"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

const (
	long  = time.Hour              // no lease and no wait of a test ends by itself after that
	brief = 250 * time.Millisecond // a lease that runs out soon
	hang  = 30 * time.Second       // whoever waits longer hangs
)

var roomy = waiting.Limits{Total: 10_000, PerTenant: 10_000}

// backends open a database of their own, and give a way to open it once more, as another process does.
var backends = []struct {
	name string
	open func(t *testing.T) (again func() storage.Store)
}{
	{"sqlite", openSQLite},
	{"postgres", openPostgres},
}

func openSQLite(t *testing.T) func() storage.Store {
	path := filepath.Join(t.TempDir(), "reprise.db")
	return func() storage.Store {
		s, err := sqlite.Open(t.Context(), path)
		return closing(t, s, err)
	}
}

func openPostgres(t *testing.T) func() storage.Store {
	t.Helper()
	url := pgtest.URL(t)
	migrator, err := postgres.Migrator(url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrator.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = migrator.Close()
	return func() storage.Store {
		s, err := postgres.Open(t.Context(), url, postgres.Options{ReadTimeout: time.Minute, WriteTimeout: time.Minute})
		return closing(t, s, err)
	}
}

func closing(t *testing.T, s storage.Store, err error) storage.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// process is one that serves a store: its callers use the store, and wait in the room.
type process struct {
	t     *testing.T
	store storage.Store
	room  *waiting.Room
	told  *told
}

// serve makes a process with a store, in which a test may have put something between.
func serve(t *testing.T, s storage.Store, l waiting.Limits) *process {
	p := &process{t: t, told: &told{}}
	p.room = waiting.New(s, l, p.told)
	p.store = p.room.Watch(s)
	t.Cleanup(p.room.Close)
	return p
}

// eachPair runs a test on every backend, with two processes that share a database.
func eachPair(t *testing.T, test func(t *testing.T, here, there *process)) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			open := b.open(t)
			test(t, serve(t, open(), roomy), serve(t, open(), roomy))
		})
	}
}

// spied is a store whose questions a test answers itself where it wants to.
type spied struct {
	storage.Store
	held  func(ctx context.Context, names []storage.Name) ([]bool, error)
	apply func(ctx context.Context, calls []storage.Call) []storage.Answer
}

func (s spied) Held(ctx context.Context, names []storage.Name) ([]bool, error) {
	if s.held != nil {
		return s.held(ctx, names)
	}
	return s.Store.Held(ctx, names)
}

func (s spied) Apply(ctx context.Context, calls []storage.Call) []storage.Answer {
	if s.apply != nil {
		return s.apply(ctx, calls)
	}
	return s.Store.Apply(ctx, calls)
}

// blind is a store by which no poll ever finds anything.
func blind(s storage.Store) storage.Store {
	return spied{Store: s, held: func(_ context.Context, names []storage.Name) ([]bool, error) {
		held := make([]bool, len(names))
		for i := range held {
			held[i] = true
		}
		return held, nil
	}}
}

// told is what an observer is told.
type told struct {
	mu    sync.Mutex
	ends  []waiting.End
	after []time.Duration
	polls []poll
}

type poll struct {
	at    time.Time // when it was over
	names int
	took  time.Duration
	err   error
}

func (o *told) WaitEnded(end waiting.End, after time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends, o.after = append(o.ends, end), append(o.after, after)
}

func (o *told) Polled(names int, took time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.polls = append(o.polls, poll{time.Now(), names, took, err})
}

// count tells how often a wait ended like this.
func (o *told) count(end waiting.End) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.ends {
		if e == end {
			n++
		}
	}
	return n
}

// forget begins anew.
func (o *told) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends, o.after, o.polls = nil, nil, nil
}

// polled tells how often was polled, and how often in vain.
func (o *told) polled() (all, failed int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.polls {
		if p.err != nil {
			failed++
		}
	}
	return len(o.polls), failed
}

func name(key string) storage.Name {
	return storage.Name{Tenant: "acme", Operation: "POST /v1/orders", Subject: "customer", Key: key}
}

// reserve is a call of one attempt of its own.
func reserve(n storage.Name) storage.Reserve {
	return storage.Reserve{Name: n, Fingerprint: "fingerprint", Token: storage.NewToken(), Lease: long, Retention: long}
}

// briefly is one whose lease runs out soon.
func briefly(r storage.Reserve, policy storage.OnLapse) storage.Reserve {
	r.Lease, r.OnLapse = brief, policy
	return r
}

// want makes a call, which has to come to this outcome.
func (p *process) want(o storage.Outcome, c storage.Call) storage.Answer {
	p.t.Helper()
	a := p.store.Apply(context.Background(), []storage.Call{c})[0]
	if a.Err != nil || a.Outcome != o {
		p.t.Fatalf("%T: got %v %v, want %v", c, a.Outcome, a.Err, o)
	}
	return a
}

// hold makes somebody hold a name, and gives the proof of it.
func (p *process) hold(n storage.Name) storage.Token {
	p.t.Helper()
	return p.want(storage.OutcomeAcquired, reserve(n)).Record.Token
}

func (p *process) release(n storage.Name, t storage.Token) {
	p.t.Helper()
	p.want(storage.OutcomeReleased, storage.Release{Name: n, Token: t})
}

func (p *process) complete(n storage.Name, t storage.Token) {
	p.t.Helper()
	p.want(storage.OutcomeSettled, storage.Complete{Name: n, Token: t, Result: storage.Completed, ResultHash: []byte("hash")})
}

// waiter is a call that waits.
type waiter struct {
	t      *testing.T
	call   storage.Reserve
	done   chan struct{} // closed when it is over; then the rest is set
	answer storage.Answer
	ok     bool
}

// waits lets a call wait, and comes back when it is in the room.
func (p *process) waits(ctx context.Context, call storage.Reserve, atMost time.Duration) *waiter {
	p.t.Helper()
	before := p.room.Waiters()
	w := p.start(ctx, call, atMost)
	p.until("one more waits", func() bool { return p.room.Waiters() > before })
	return w
}

func (p *process) start(ctx context.Context, call storage.Reserve, atMost time.Duration) *waiter {
	w := &waiter{t: p.t, call: call, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		answer, end := p.room.Wait(ctx, &call, atMost)
		w.answer, w.ok = answer, end == waiting.Answered
	}()
	return w
}

// crowd lets n calls of their own wait for a name.
func (p *process) crowd(n int, on storage.Name) []*waiter {
	p.t.Helper()
	before := p.room.Waiters()
	all := make([]*waiter, n)
	for i := range all {
		all[i] = p.start(context.Background(), reserve(on), long)
	}
	p.until("all of them wait", func() bool { return p.room.Waiters() == before+n })
	return all
}

// over waits for the end of a wait.
func (w *waiter) over() *waiter {
	w.t.Helper()
	select {
	case <-w.done:
	case <-time.After(hang):
		w.t.Fatal("the waiter hangs")
	}
	return w
}

// want waits for an answer, which has to be this one.
func (w *waiter) want(o storage.Outcome) storage.Answer {
	w.t.Helper()
	if w.over(); !w.ok || w.answer.Err != nil || w.answer.Outcome != o {
		w.t.Fatalf("the waiter got %t %v %v, want %v", w.ok, w.answer.Outcome, w.answer.Err, o)
	}
	return w.answer
}

// wantNone waits for the end of a wait, which has to be one without an answer.
func (w *waiter) wantNone() {
	w.t.Helper()
	if w.over(); w.ok {
		w.t.Fatalf("the waiter got %v %v, want no answer", w.answer.Outcome, w.answer.Err)
	}
}

func (w *waiter) isOver() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// over gives those of the waiters whose wait is over.
func over(all []*waiter) (done []*waiter) {
	for _, w := range all {
		if w.isOver() {
			done = append(done, w)
		}
	}
	return done
}

// until waits for something that comes true by itself.
func (p *process) until(what string, is func() bool) {
	p.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(hang); !is(); {
		select {
		case <-tick.C:
		case <-deadline:
			p.t.Fatalf("waited in vain until %s", what)
		}
	}
}

func key(i int) string { return fmt.Sprint("key-", i) }
