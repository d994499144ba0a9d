package cas_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
)

// acting notes the acts that the table is given with changes; before runs once, ahead of the next of them.
func acting(m *table, before func()) *[]storage.Act {
	var acts []storage.Act
	m.onSave = func(changes []cas.Change) error {
		if once := before; once != nil {
			before = nil
			once()
		}
		for _, c := range changes {
			if m.rows[c.Next.Name] == c.Prev {
				acts = append(acts, c.Acts...)
			}
		}
		return nil
	}
	return &acts
}

func resolve(r *storage.Record, to storage.State) storage.Resolve {
	return storage.Resolve{Name: r.Name, To: to, Version: r.VersionText(), Force: true, Token: storage.NewToken(), By: storage.Operator{ActID: "act", Reason: "why"}}
}

// Ensure that the acts of a group come with the changes that they are about, one after the other for each name, and that a
// refused one does not come.
func TestActsComeWithTheirChange(t *testing.T) {
	m := newTable(t)
	apply(m, reserve("k"), reserve("l"))
	k, l := m.rows[named("k")], m.rows[named("l")]
	acts := acting(m, nil)
	settled := *k
	settled.Version++
	first, second := resolve(k, storage.Failed), storage.Expire{Name: k.Name, Version: settled.VersionText(), By: storage.Operator{ActID: "another act"}}
	expect(t, apply(m, first, second, resolve(l, storage.Released), storage.Expire{Name: l.Name, Version: "stale"}, reserve("m")),
		storage.OutcomeResolved, storage.OutcomeExpired, storage.OutcomeResolved, storage.OutcomeVersionConflict, storage.OutcomeAcquired)
	if len(*acts) != 3 {
		t.Fatalf("got %+v, want three acts", *acts)
	}
	want := storage.Act{Name: k.Name, Operator: first.By, At: m.now, Action: storage.ActionResolve, Before: k.StandingAt(m.now), After: settled.StandingAt(m.now)}
	want.After.State = storage.Failed
	if got := (*acts)[0]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (*acts)[1]; got.Before != want.After || got.Action != storage.ActionExpire || got.ActID != "another act" {
		t.Errorf("got %+v after %+v", got, want)
	}
}

// Ensure that an act is written once, should its row change before it could be written.
func TestAnActAfterARival(t *testing.T) {
	m := newTable(t)
	r := reserve("k")
	apply(m, r)
	var answers []storage.Answer
	acts := acting(m, func() {
		answers = apply(m, storage.Heartbeat{Name: r.Name, Token: r.Token, Lease: time.Hour}) // leaves the version as it is
	})
	expect(t, apply(m, resolve(m.rows[r.Name], storage.Completed)), storage.OutcomeResolved)
	expect(t, answers, storage.OutcomeRenewed)
	if len(*acts) != 1 || m.rows[r.Name].State != storage.Completed {
		t.Errorf("got %+v, and the row %+v", *acts, m.rows[r.Name])
	}
}

// Ensure that an act whose row somebody else settled meanwhile is refused, and not written.
func TestAnActThatCameTooLate(t *testing.T) {
	m := newTable(t)
	r := reserve("k")
	apply(m, r)
	acts := acting(m, func() {
		apply(m, storage.Complete{Name: r.Name, Token: r.Token, Result: storage.Completed, ResultHash: []byte("h")})
	})
	expect(t, apply(m, resolve(m.rows[r.Name], storage.Failed)), storage.OutcomeVersionConflict)
	if len(*acts) != 0 || m.rows[r.Name].State != storage.Completed {
		t.Errorf("got %+v, and the row %+v", *acts, m.rows[r.Name])
	}
}

// Ensure that an act is written once, should the end of what it settled have to be moved because the writing took long;
// and that what an operator ended stays so.
func TestALateActIsWrittenOnce(t *testing.T) { synctest.Test(t, lateActs) }

func lateActs(t *testing.T) {
	m := newTable(t)
	r := reserve("k")
	r.Retention = time.Second
	apply(m, r)
	const wait = 300 * time.Millisecond // by the clock of the bubble: nobody sleeps
	acts := acting(m, func() { time.Sleep(wait) })
	a := apply(m, resolve(m.rows[r.Name], storage.Completed))[0]
	if a.Err != nil || len(*acts) != 1 || a.Record.ExpiresAt.Before(m.now.Add(wait+r.Retention)) {
		t.Errorf("got %+v, %v and the acts %+v", a.Record, a.Err, *acts)
	}
	acts = acting(m, func() { time.Sleep(wait) })
	a = apply(m, storage.Expire{Name: r.Name, Version: a.Record.VersionText()})[0]
	if a.Err != nil || len(*acts) != 1 || !a.Record.ExpiresAt.Equal(m.now) || !m.rows[r.Name].ExpiredAt(m.now) {
		t.Errorf("got %+v, %v and the acts %+v; want an end at %v", a.Record, a.Err, *acts, m.now)
	}
}
