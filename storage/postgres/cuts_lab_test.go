package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/storagetest/faultproxy"
)

// cutLab is a store behind a proxy that cuts, and two ways past it.
type cutLab struct {
	t        *testing.T
	random   *rand.Rand
	proxy    *faultproxy.Proxy
	store    *postgres.Store
	straight *postgres.Store
	observer *pgx.Conn
	app      string          // what the sessions of the store behind the proxy are called
	warmer   storage.Reserve // of a record that warming up renews
	names    int
	tally    tally
	plan     cutPlan
	failures int
	ctx      context.Context // of one run: it ends with a hang
	served   int             // process of the connection that was cut after all had been said on it; nobody can know
}

func newCutLab(t *testing.T, random *rand.Rand) *cutLab {
	t.Helper()
	address, app := migrated(t), "cuts-"+storage.NewToken().String()
	proxy, err := faultproxy.New(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	through, err := proxy.URL(with(t, address, "application_name", app))
	if err != nil {
		t.Fatal(err)
	}
	o := patient
	o.MaxConns = 2
	l := &cutLab{t: t, random: random, proxy: proxy, store: open(t, through, o), straight: open(t, address, patient),
		observer: connect(t, address), app: app, warmer: reserve("warmer"), tally: tally{}, ctx: t.Context()}
	l.direct(l.warmer)
	return l
}

// fail reports what a cut led to.
func (l *cutLab) fail(format string, args ...any) {
	l.t.Helper()
	l.failures++
	l.t.Errorf("%v: %s", l.plan, fmt.Sprintf(format, args...))
}

// given are the calls of one run, each on a name of its own, and the records before.
type given struct {
	kinds  []kind
	calls  []storage.Call
	before []seen
}

// seen is what is stored under a name: as the store reads it, all of the row as text, empty without one, and how often an operator acted.
type seen struct {
	record *storage.Record
	row    string
	acts   int
}

func (l *cutLab) given(kinds []kind) given {
	l.t.Helper()
	g := given{kinds: kinds}
	for _, k := range kinds {
		l.names++
		n := storage.Name{Tenant: "t", Operation: "op", Subject: "s", Key: fmt.Sprintf("key-%06d", l.names)}
		g.calls = append(g.calls, k.given(l, n))
	}
	g.before = l.look(g)
	return g
}

// direct sends calls past the proxy; they have to come to an outcome.
func (l *cutLab) direct(calls ...storage.Call) []storage.Answer {
	l.t.Helper()
	answers := l.straight.Apply(l.ctx, calls)
	for i, a := range answers {
		if a.Err != nil {
			l.t.Fatalf("past the proxy, %T: %v", calls[i], a.Err)
		}
	}
	return answers
}

// look reads what is stored under the names of the calls, past the proxy.
func (l *cutLab) look(g given) []seen {
	l.t.Helper()
	all := make([]seen, len(g.calls))
	for i, c := range g.calls {
		all[i].record = l.direct(storage.Lookup{Name: c.On()})[0].Record
		err := l.observer.QueryRow(l.ctx, `SELECT coalesce((SELECT row_to_json(k)::text FROM reprise_keys AS k WHERE key = $1), ''),
			(SELECT count(*) FROM reprise_audit WHERE key = $1)`, c.On().Key).Scan(&all[i].row, &all[i].acts)
		if err != nil {
			l.t.Fatal(err)
		}
	}
	return all
}

// apply sends calls through the proxy.
func (l *cutLab) apply(calls []storage.Call) []storage.Answer {
	l.t.Helper()
	return l.store.Apply(l.ctx, calls)
}

// prepare makes the pool cold, without a connection, or warm: each of its connections has prepared every statement.
func (l *cutLab) prepare(cold bool) {
	l.t.Helper()
	if !cold {
		l.warm()
		return
	}
	l.store.Pool().Reset()
	for _, c := range l.proxy.Conns() {
		l.wait("a connection of the pool ends", c.Done()) // its farewell is no message of the calls
	}
}

// warm goes from one connection to the next: the pool gives the one that came back last.
func (l *cutLab) warm() {
	l.t.Helper()
	pool := l.store.Pool()
	first, err := pool.Acquire(l.ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	second, err := pool.Acquire(l.ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	first.Release()
	l.useAll()
	if first, err = pool.Acquire(l.ctx); err != nil {
		l.t.Fatal(err)
	}
	second.Release()
	l.useAll()
	first.Release()
}

// useAll makes the only free connection run every statement: one that makes a row, and one that replaces one.
func (l *cutLab) useAll() {
	l.t.Helper()
	l.names++
	fresh := attempt(storage.Name{Tenant: "t", Operation: "warm", Subject: "s", Key: fmt.Sprintf("warm-%06d", l.names)})
	for i, a := range l.apply([]storage.Call{fresh, storage.Heartbeat{Name: l.warmer.Name, Token: l.warmer.Token}}) {
		if a.Err != nil || a.Outcome != []storage.Outcome{storage.OutcomeAcquired, storage.OutcomeRenewed}[i] {
			l.t.Fatalf("warming up: %v, %v", a.Outcome, a.Err)
		}
	}
}

func (l *cutLab) wait(what string, signal <-chan struct{}) {
	l.t.Helper()
	select {
	case <-signal:
	case <-time.After(time.Minute):
		l.t.Fatalf("%v: waited in vain: %s", l.plan, what)
	}
}

// run makes one cut, and judges what came of it.
func (l *cutLab) run(p cutPlan) {
	l.t.Helper()
	p.fault.Offset = 1 + l.random.IntN(max(p.bytes-1, 1))
	p.fault.Reset = l.random.IntN(2) == 0
	l.plan = p
	var cancel context.CancelFunc
	l.ctx, cancel = context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	g := l.given(p.calls)
	l.prepare(p.cold)
	l.proxy.Forget()
	armed := l.proxy.Arm(p.fault)
	answers := l.apply(g.calls)
	if l.proxy.Disarm() > 0 {
		l.tally["missed"]++
		l.t.Logf("missed: %v", l.plan)
		return
	}
	l.wait("the cut", armed.Fired())
	l.tally["fired"]++
	l.tally[fmt.Sprintf("%v %v", p.fault.At, p.fault.Direction)]++
	l.serverEnds(armed)
	l.returned(armed)
	stored := l.look(g)
	l.judge(g, answers, stored)
	l.repeat(g, stored)
	l.usable()
}

// serverEnds waits until nothing more can come of what the server was sent.
func (l *cutLab) serverEnds(armed *faultproxy.Armed) {
	l.t.Helper()
	if !l.plan.fault.Reset {
		l.wait("the server's end", armed.Conn().ServerGone())
	}
	pid := armed.Conn().PID() // 0: it was not told yet, and the session had not begun
	eventually(l.t, "the server's process never ended", func() bool {
		var runs bool
		err := l.observer.QueryRow(l.ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)`, pid).Scan(&runs)
		return err == nil && !runs
	})
}

// returned asserts that the connection that was cut is not in the pool, unless the cut came after all had been said.
func (l *cutLab) returned(armed *faultproxy.Armed) {
	l.t.Helper()
	pid := armed.Conn().PID()
	l.served = 0
	if m := armed.Message(); m.Name == "ReadyForQuery" && m.Forwarded == m.Length {
		l.served = pid
	}
	for _, conn := range l.store.Pool().AcquireAllIdle(l.ctx) {
		if is := int(conn.Conn().PgConn().PID()); is == pid && is != l.served {
			l.fail("the connection that was cut is in the pool")
		}
		conn.Release()
	}
}

// usable asserts that every connection of the pool works, and that no transaction is open.
func (l *cutLab) usable() {
	l.t.Helper()
	var inTransaction int
	err := l.observer.QueryRow(l.ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1
		AND state LIKE 'idle in transaction%'`, l.app).Scan(&inTransaction)
	if err != nil || inTransaction > 0 {
		l.fail("%d sessions are in a transaction, %v", inTransaction, err)
	}
	for _, conn := range l.store.Pool().AcquireAllIdle(l.ctx) {
		if err := conn.Ping(l.ctx); err != nil && int(conn.Conn().PgConn().PID()) != l.served {
			l.fail("a connection of the pool is broken: %v", err)
		}
		conn.Release()
	}
	if total := l.store.Pool().Stat().TotalConns(); total > 2 {
		l.fail("the pool has %d connections, want 2 at most", total)
	}
}
