package model

import (
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// Ensures that a lease and a record are over at the very instant of their end, and not a microsecond before.
func TestTheEndIsOver(t *testing.T) {
	const before = -time.Microsecond
	check(t, []row{
		{"a lease is live just before its end", held, 10*s + before, reserve('B'),
			"in_progress in_progress 1A until=10s expires=1m50s"},
		{"a lease is over at its end", held, 10 * s, reserve('B'),
			"acquired anew in_progress 2B until=20s expires=2m0s takeover"},
		{"a lease to hold is live just before its end", heldTight, 10*s + before, reserve('B'),
			"in_progress in_progress 1A until=10s stays hold"},
		{"a lease to hold is over at its end", heldTight, 10 * s, reserve('B'), "uncertain uncertain 1A until=10s stays hold"},
		{"a heartbeat just before the end only extends", held, 10*s + before, heartbeat('A'),
			"renewed in_progress 1A until=19.999999s expires=1m59.999999s"},
		{"a heartbeat at the end does more", held, 10 * s, heartbeat('A'),
			"renewed anew in_progress 1A until=20s expires=2m0s"},

		{"an abandoned record is there just before its end", held, 110*s + before, complete('A', "r"),
			`settled anew completed 1A expires=3m29.999999s resource="r" response=&{201 [] [] false []}`},
		{"an abandoned record is gone at its end", held, 110 * s, complete('A', "r"), "lease_lost nothing"},
		{"a released record is there just before its end", givenBack, 105*s + before, reserve('B'),
			`acquired anew in_progress 2B until=1m54.999999s expires=3m34.999999s error="busy"`},
		{"a released record is gone at its end", givenBack, 105 * s, reserve('B', fingerprint("g")),
			`acquired anew in_progress 1B until=1m55s expires=3m35s fingerprint="g"`},
		{"a settled record is there just before its end", plain, 105*s + before, reserve('B'),
			"replay completed 1A expires=1m45s"},
		{"a settled record is gone at its end", plain, 105 * s, reserve('B'),
			"acquired anew in_progress 1B until=1m55s expires=3m35s"},
		{"a held record outlives its retention", heldTight, 110 * s, lookup("f"), "found uncertain 1A until=10s stays hold"},
	})
}

// Ensures that names differ in every part and every byte, and never meet.
func TestNamesNeverMeet(t *testing.T) {
	var m Model
	names := []storage.Name{
		{Tenant: "a", Operation: "a/b", Subject: "", Key: "k"},
		{Tenant: "a", Operation: "a%2Fb", Subject: "", Key: "k"},
		{Tenant: "a", Operation: "a/b", Subject: "k", Key: ""},
		{Tenant: "A", Operation: "a/b", Subject: "", Key: "k"},
		{Tenant: "a", Operation: "a/b", Subject: "", Key: "K"},
		{Tenant: "a", Operation: "a/b", Subject: "", Key: "k "},
	}
	for _, n := range names {
		c := reserve('A').(storage.Reserve)
		c.Name = n
		if e := m.Apply(c, at(0)); e.Outcome != storage.OutcomeAcquired || e.Record.Name != n {
			t.Errorf("%q: %s", n, tell(e))
		}
	}
}

// Ensures that a refusal stays a refusal, and that no refused call leaves anything behind.
func TestRefusalsLeaveNothingBehind(t *testing.T) {
	var m Model
	play(&m, takenOver)
	before := tell(m.Apply(lookup(""), at(12*s)))
	for range 2 {
		for _, c := range []storage.Call{reserve('C'), reserve('C', attempt("A")), reserve('B', fingerprint("g")), complete('A', "r"),
			release('A', "x"), forget('A'), heartbeat('A', turn, checkpoint(9, "nine"), of(900*s)), lookup("g")} {
			m.Apply(c, at(12*s))
		}
	}
	if after := tell(m.Apply(lookup(""), at(12*s))); after != before {
		t.Errorf("before: %s\nafter:  %s", before, after)
	}
}
