package cas_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
)

// table is a Table in memory that fails on demand. It checks what it is promised.
type table struct {
	t      *testing.T
	rows   map[storage.Name]*storage.Record
	now    time.Time
	loads  int
	saves  int
	onLoad func(names []storage.Name) error
	onSave func(changes []cas.Change) error
}

func newTable(t *testing.T) *table {
	return &table{t: t, rows: map[storage.Name]*storage.Record{}, now: time.UnixMicro(1_800_000_000_000_000)}
}

func (m *table) Load(_ context.Context, names []storage.Name) ([]*storage.Record, time.Time, error) {
	m.loads++
	m.sorted(names)
	if m.onLoad != nil {
		if err := m.onLoad(names); err != nil {
			return nil, m.now, err
		}
	}
	rows := make([]*storage.Record, len(names))
	for i, n := range names {
		rows[i] = m.rows[n]
	}
	return rows, m.now, nil
}

func (m *table) Save(_ context.Context, changes []cas.Change) ([]bool, error) {
	m.saves++
	names := make([]storage.Name, len(changes))
	for i, c := range changes {
		names[i] = c.Next.Name
	}
	m.sorted(names)
	if m.onSave != nil {
		if err := m.onSave(changes); err != nil {
			return nil, err
		}
	}
	saved := make([]bool, len(changes))
	for i, c := range changes {
		if m.rows[c.Next.Name] == c.Prev {
			m.rows[c.Next.Name], saved[i] = c.Next, true
		}
	}
	return saved, nil
}

// sorted fails the test unless names are in the order of their bytes, with none twice.
func (m *table) sorted(names []storage.Name) {
	m.t.Helper()
	for i := 1; i < len(names); i++ {
		if names[i-1].Compare(names[i]) >= 0 {
			m.t.Errorf("the table was given %v before %v", names[i-1], names[i])
		}
	}
}

func named(key string) storage.Name {
	return storage.Name{Tenant: "t", Operation: "o", Subject: "s", Key: key}
}

func reserve(key string) storage.Reserve {
	return storage.Reserve{Name: named(key), Fingerprint: "f", Token: storage.NewToken(), Lease: time.Minute, Retention: time.Hour}
}

func apply(m *table, calls ...storage.Call) []storage.Answer {
	return cas.Apply(context.Background(), m, calls)
}

// expect compares outcomes, and errors by errors.Is.
func expect(t *testing.T, answers []storage.Answer, want ...any) {
	t.Helper()
	if len(answers) != len(want) {
		t.Fatalf("got %d answers, want %d", len(answers), len(want))
	}
	for i, a := range answers {
		switch w := want[i].(type) {
		case storage.Outcome:
			if a.Outcome != w || a.Err != nil {
				t.Errorf("answer %d: got %v, %v, want %v", i, a.Outcome, a.Err, w)
			}
		case error:
			if !errors.Is(a.Err, w) || a.Outcome != 0 {
				t.Errorf("answer %d: got %v, %v, want the error %v", i, a.Outcome, a.Err, w)
			}
		}
	}
}

// Ensure that the table sees each name once, in the order of the bytes of all four parts, however the calls came.
func TestNamesAreSortedAndDistinct(t *testing.T) {
	m := newTable(t)
	var calls []storage.Call
	for _, tenant := range []string{"b", "a"} {
		for _, operation := range []string{"y", "x", "xx"} {
			for _, subject := range []string{"2", "", "1"} {
				for _, key := range []string{"k9", "k10", "ы", "k9"} {
					c := reserve(key)
					c.Tenant, c.Operation, c.Subject = tenant, operation, subject
					calls = append(calls, c)
				}
			}
		}
	}
	for i, a := range apply(m, calls...) {
		want := storage.OutcomeAcquired
		if i%4 == 3 {
			want = storage.OutcomeInProgress
		}
		if a.Outcome != want || a.Record.Name != calls[i].On() {
			t.Errorf("call %d: got %v on %v, want %v on %v", i, a.Outcome, a.Record.Name, want, calls[i].On())
		}
	}
	if m.loads != 1 || m.saves != 1 {
		t.Errorf("got %d loads and %d saves, want one of each", m.loads, m.saves)
	}
}

// Ensure that the calls on one name happen one after the other within one group, and are written once.
func TestCallsOnOneNameAreFolded(t *testing.T) {
	m := newTable(t)
	r := reserve("k")
	expect(t, apply(m,
		r,
		storage.Heartbeat{Name: r.Name, Token: r.Token, Hold: true},
		storage.Complete{Name: r.Name, Token: r.Token, Result: storage.Completed, ResultHash: []byte("h")},
		reserve("k"),
		storage.Release{Name: r.Name, Token: r.Token},
	), storage.OutcomeAcquired, storage.OutcomeRenewed, storage.OutcomeSettled, storage.OutcomeReplay, storage.OutcomeAlreadyCompleted)
	if m.saves != 1 || m.rows[r.Name].State != storage.Completed {
		t.Errorf("got %d saves and %v, want one and a completed row", m.saves, m.rows[r.Name])
	}
}

// Ensure that calls which change nothing write nothing.
func TestReadingWritesNothing(t *testing.T) {
	m := newTable(t)
	r := reserve("k")
	apply(m, r, storage.Complete{Name: r.Name, Token: r.Token, Result: storage.Completed, ResultHash: []byte("h")})
	m.saves = 0
	expect(t, apply(m, reserve("k"), storage.Lookup{Name: r.Name}, storage.Lookup{Name: named("none")},
		storage.Complete{Name: r.Name, Token: r.Token, Result: storage.Completed, ResultHash: []byte("h")}),
		storage.OutcomeReplay, storage.OutcomeFound, storage.OutcomeNotFound, storage.OutcomeSettled)
	if m.saves != 0 {
		t.Errorf("got %d saves, want none", m.saves)
	}
}

// Ensure that a call whose row was changed between reading and writing is decided anew, and its neighbours are not.
func TestARivalInBetween(t *testing.T) {
	m := newTable(t)
	rival := reserve("k5")
	m.onSave = func([]cas.Change) error {
		m.onSave = nil
		apply(m, rival)
		return nil
	}
	expect(t, apply(m, reserve("k4"), reserve("k5"), reserve("k6")), storage.OutcomeAcquired, storage.OutcomeInProgress, storage.OutcomeAcquired)
	if m.rows[named("k5")].Token != rival.Token {
		t.Error("the rival lost its row")
	}
}

// Ensure that a transaction that had to give way is tried again.
func TestConflictIsTriedAgain(t *testing.T) {
	m := newTable(t)
	left := 3
	m.onSave = func([]cas.Change) error {
		if left--; left >= 0 {
			return cas.ErrConflict
		}
		return nil
	}
	expect(t, apply(m, reserve("k1"), reserve("k2")), storage.OutcomeAcquired, storage.OutcomeAcquired)
}

// Ensure that a record that never comes to rest ends in an error, and not in a loop without end.
func TestEndlessConflictEnds(t *testing.T) {
	m := newTable(t)
	m.onSave = func([]cas.Change) error { return cas.ErrConflict }
	expect(t, apply(m, reserve("k")), storage.ErrUnavailable)
}

var errPoison = errors.New("this row cannot be stored")

// poison fails every group that holds one of keys.
func poison[T any](nameOf func(T) storage.Name, keys ...string) func([]T) error {
	return func(group []T) error {
		for _, g := range group {
			if slices.Contains(keys, nameOf(g).Key) {
				return fmt.Errorf("%w: %s", errPoison, nameOf(g).Key)
			}
		}
		return nil
	}
}

// Ensure that poisoned calls fail alone, whether reading or writing them fails.
func TestPoisonedCallsFailAlone(t *testing.T) {
	const calls = 100
	for name, set := range map[string]func(*table){
		"reading": func(m *table) {
			m.onLoad = poison(func(n storage.Name) storage.Name { return n }, "k3", "k50", "k51")
		},
		"writing": func(m *table) {
			m.onSave = poison(func(c cas.Change) storage.Name { return c.Next.Name }, "k3", "k50", "k51")
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTable(t)
			set(m)
			group := make([]storage.Call, calls)
			want := make([]any, calls)
			for i := range group {
				group[i], want[i] = reserve(fmt.Sprint("k", i)), storage.OutcomeAcquired
			}
			want[3], want[50], want[51] = errPoison, errPoison, errPoison
			expect(t, apply(m, group...), want...)
		})
	}
}

// Ensure that a poisoned call on a name does not fail the others on the same name.
func TestPoisonedCallAmongCallsOnOneName(t *testing.T) {
	m := newTable(t)
	m.onSave = func(changes []cas.Change) error {
		if changes[0].Next.Holder == "poison" {
			return errPoison
		}
		return nil
	}
	r, bad := reserve("k"), reserve("k")
	bad.Holder = "poison"
	expect(t, apply(m, storage.Lookup{Name: r.Name}, bad, r, storage.Release{Name: r.Name, Token: r.Token}),
		storage.OutcomeNotFound, errPoison, storage.OutcomeAcquired, storage.OutcomeReleased)
}

// Ensure that an outage is everybody's, is not tried again, and keeps its kind.
func TestOutage(t *testing.T) {
	for _, kind := range []error{storage.ErrUnavailable, storage.ErrOutcomeUnknown} {
		m := newTable(t)
		m.onSave = func([]cas.Change) error { return fmt.Errorf("%w: gone", kind) }
		expect(t, apply(m, reserve("k1"), reserve("k2")), kind, kind)
		if m.saves != 1 {
			t.Errorf("%v: got %d saves, want one", kind, m.saves)
		}
	}
	m := newTable(t)
	m.onLoad = func([]storage.Name) error { return storage.ErrUnavailable }
	expect(t, apply(m, reserve("k1"), storage.Lookup{Name: named("k2")}), storage.ErrUnavailable, storage.ErrUnavailable)
}

// Ensure that nothing is asked of the table for a caller who is gone.
func TestACallerWhoIsGone(t *testing.T) {
	m := newTable(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	expect(t, cas.Apply(ctx, m, []storage.Call{reserve("k")}), storage.ErrUnavailable)
	if m.loads != 0 {
		t.Errorf("got %d loads, want none", m.loads)
	}
}

// Ensure that a change on a record that ends soon is only valid until then, and no change for longer than a pause that
// a sweeper could use.
func TestChangesAreBoundByTheEndOfTheRecord(t *testing.T) {
	m := newTable(t)
	var until []time.Time
	m.onSave = func(changes []cas.Change) error {
		until = append(until, changes[0].ValidBefore)
		return nil
	}
	r := reserve("k")
	r.Lease, r.Retention = time.Second, time.Second
	start := m.now
	const most = 30 * time.Second
	apply(m, r)                                                                                   // there was no row
	apply(m, storage.Heartbeat{Name: r.Name, Token: r.Token, Hold: true, Lease: 5 * time.Second}) // ends a second after its lease
	apply(m, storage.Release{Name: r.Name, Token: r.Token})                                       // held: does not end
	apply(m, reserve("k"))                                                                        // released: ends after a second
	m.now = m.now.Add(10 * time.Hour)
	apply(m, reserve("k")) // over already
	want := []time.Time{start.Add(most), start.Add(2 * time.Second), start.Add(most), start.Add(time.Second), m.now.Add(most)}
	if !slices.Equal(until, want) {
		t.Errorf("got %v, want %v", until, want)
	}
}

// Ensure that the retention of a settlement or a release is counted from when it was written, should that have taken a
// good part of it.
func TestALateSettlementIsKeptAsLongAsAnyOther(t *testing.T) { synctest.Test(t, lateSettlement) }

func lateSettlement(t *testing.T) {
	for _, name := range []string{"settled", "released"} {
		m := newTable(t)
		r := reserve("k")
		r.Retention = time.Second
		apply(m, r)
		const wait = 300 * time.Millisecond // by the clock of the bubble: nobody sleeps
		m.onSave = func([]cas.Change) error {
			m.onSave = nil
			time.Sleep(wait)
			return nil
		}
		var c storage.Call = storage.Release{Name: r.Name, Token: r.Token}
		if name == "settled" {
			c = storage.Complete{Name: r.Name, Token: r.Token, Result: storage.Completed, ResultHash: []byte("h")}
		}
		a := apply(m, c)[0]
		if a.Err != nil || a.Record.ExpiresAt.Before(m.now.Add(wait+r.Retention)) || a.Record.ExpiresAt.Sub(a.Now) != r.Retention {
			t.Errorf("%s: got %+v, %v; want an end no sooner than %v", name, a.Record, a.Err, m.now.Add(wait+r.Retention))
		}
		if stored := m.rows[r.Name]; stored != a.Record || name == "settled" && !stored.SettledAt.Equal(a.Now) || stored.Version != 2 {
			t.Errorf("%s: got %+v stored", name, stored)
		}
	}
}

// Ensure that a settlement whose end could not be moved in time is not told as if nothing had been stored.
func TestALateSettlementDuringAnOutage(t *testing.T) { synctest.Test(t, lateSettlementDuringAnOutage) }

func lateSettlementDuringAnOutage(t *testing.T) {
	m := newTable(t)
	r := reserve("k")
	r.Retention = time.Second
	apply(m, r)
	m.onSave = func([]cas.Change) error {
		m.onSave = func([]cas.Change) error { return storage.ErrUnavailable }
		time.Sleep(300 * time.Millisecond)
		return nil
	}
	expect(t, apply(m, storage.Release{Name: r.Name, Token: r.Token}), storage.ErrOutcomeUnknown)
}

// Ensure that a lease is not told to last longer than it was given, should the store's clock be set back.
func TestALeaseUnderAClockThatIsSetBack(t *testing.T) {
	m := newTable(t)
	r := reserve("k")
	r.AttemptID = "attempt-1"
	apply(m, r)
	m.now = m.now.Add(-time.Hour)
	before := time.Now()
	for _, c := range []storage.Call{r, storage.Heartbeat{Name: r.Name, Token: r.Token}} {
		if a := apply(m, c)[0]; a.Err != nil || a.GoodUntil.Sub(before) > r.Lease+time.Minute {
			t.Errorf("%T: got %v of a lease of %v, %v", c, a.GoodUntil.Sub(before), r.Lease, a.Err)
		}
	}
}

// Ensure that what was stored late stays answered as done when somebody else takes the key before its end could be moved:
// a release, and an operator's.
func TestALateReleaseThatIsTakenAtOnce(t *testing.T) { synctest.Test(t, lateReleaseThatIsTaken) }

func lateReleaseThatIsTaken(t *testing.T) {
	for want, release := range map[storage.Outcome]func(held storage.Answer) storage.Call{
		storage.OutcomeReleased: func(held storage.Answer) storage.Call {
			return storage.Release{Name: held.Record.Name, Token: held.Record.Token}
		},
		storage.OutcomeResolved: func(held storage.Answer) storage.Call {
			return storage.Resolve{Name: held.Record.Name, Version: held.Record.VersionText(), To: storage.Released, Token: storage.NewToken(), Force: true}
		},
	} {
		m := newTable(t)
		r := reserve("k")
		r.Retention = time.Second
		held := apply(m, r)[0]
		m.onSave = func([]cas.Change) error {
			m.onSave = func([]cas.Change) error {
				m.onSave = nil
				expect(t, apply(m, reserve("k")), storage.OutcomeAcquired)
				return nil
			}
			time.Sleep(300 * time.Millisecond) // by the clock of the bubble: nobody sleeps
			return nil
		}
		expect(t, apply(m, release(held)), want)
		if attempt := m.rows[r.Name].Attempt; attempt != 2 {
			t.Errorf("%v: attempt %d is stored, want the one that took it", want, attempt)
		}
	}
}
