package model

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-idempotency/reprise/storage"
)

const s = time.Second

// Ensures that each row of the contract about reserve is what the model says.
func TestReserve(t *testing.T) {
	check(t, []row{
		{"an absent name is acquired as attempt 1", never, 0, reserve('A'),
			"acquired anew in_progress 1A until=10s expires=1m50s"},
		{"one that is held from the start does not expire", never, 0, reserve('A', hold),
			"acquired anew in_progress 1A until=10s stays hold"},
		{"an expired record is absent: attempt 1 again", givenBack, 105 * s, reserve('B'),
			"acquired anew in_progress 1B until=1m55s expires=3m35s"},

		{"another fingerprint is a mismatch while in progress", held, 1 * s, reserve('B', fingerprint("g")),
			"fingerprint_mismatch in_progress 1A until=10s expires=1m50s"},
		{"another fingerprint is a mismatch even with the attempt id of the latest acquisition", held, 1 * s,
			reserve('B', attempt("A"), fingerprint("g")), "fingerprint_mismatch in_progress 1A until=10s expires=1m50s"},
		{"another fingerprint is a mismatch when abandoned", held, 11 * s, reserve('B', fingerprint("g")),
			"fingerprint_mismatch abandoned 1A until=10s expires=1m50s"},
		{"another fingerprint is a mismatch when uncertain", heldTight, 11 * s, reserve('B', fingerprint("g")),
			"fingerprint_mismatch uncertain 1A until=10s stays hold"},
		{"another fingerprint is a mismatch when released", givenBack, 6 * s, reserve('B', fingerprint("g")),
			`fingerprint_mismatch released 1A expires=1m45s error="busy"`},
		{"another fingerprint is a mismatch when completed", done, 6 * s, reserve('B', fingerprint("g")),
			`fingerprint_mismatch completed 1A expires=1m45s resource="r" response=&{201 [] [] false []}`},

		{"a live lease is busy for others", held, 1 * s, reserve('B'),
			"in_progress in_progress 1A until=10s expires=1m50s"},
		{"a live lease is busy for a reserve without an attempt id", held, 1 * s, reserve('B', attempt("")),
			"in_progress in_progress 1A until=10s expires=1m50s"},
		{"no attempt id is not the same as no attempt id", []step{{0, reserve('A', attempt(""))}}, 1 * s,
			reserve('B', attempt("")), "in_progress in_progress 1A until=10s expires=1m50s"},
		{"a live lease is busy for an earlier attempt id, too", takenOver, 12 * s, reserve('C', attempt("A")),
			"in_progress in_progress 2B until=21s expires=2m1s takeover checkpoint=&{3 three}"},

		{"an abandoned name is taken over, with the last checkpoint", takenOver[:2], 11 * s, reserve('B'),
			"acquired anew in_progress 2B until=21s expires=2m1s takeover checkpoint=&{3 three}"},
		{"a takeover sets lease, retention and on_lapse afresh", held, 11 * s,
			reserve('B', hold, lease(20*s), retention(50*s)), "acquired anew in_progress 2B until=31s stays hold takeover"},
		{"an abandoned name is lost to an earlier attempt id", takenOver, 22 * s, reserve('C', attempt("A")),
			"lease_lost abandoned 2B until=21s expires=2m1s takeover checkpoint=&{3 three}"},
		{"an uncertain name is held, also for an earlier attempt id",
			[]step{{0, reserve('A')}, {11 * s, reserve('B', hold)}}, 22 * s, reserve('C', attempt("A")),
			"uncertain uncertain 2B until=21s stays hold takeover"},
		{"an uncertain name is held", heldTight, 11 * s, reserve('B'),
			"uncertain uncertain 1A until=10s stays hold"},

		{"a released name is acquired again, without a takeover", givenBack, 6 * s, reserve('B'),
			`acquired anew in_progress 2B until=16s expires=1m56s error="busy"`},
		{"a released name keeps its checkpoint for the next", append(takenOver[:2:2], step{5 * s, release('A', "")}), 6 * s,
			reserve('B'), "acquired anew in_progress 2B until=16s expires=1m56s checkpoint=&{3 three}"},
		{"a released name is lost to the attempt id of the latest acquisition", givenBack, 6 * s,
			reserve('B', attempt("A")), `lease_lost released 1A expires=1m45s error="busy"`},
		{"a released name is lost to an earlier attempt id", append(takenOver[:3:3], step{12 * s, release('B', "")}), 13 * s,
			reserve('C', attempt("A")), "lease_lost released 2B expires=1m52s takeover checkpoint=&{3 three}"},
		{"the takeover flag goes with the next acquisition", append(takenOver[:3:3], step{12 * s, release('B', "")}), 13 * s,
			reserve('C'), "acquired anew in_progress 3C until=23s expires=2m3s checkpoint=&{3 three}"},
		{"a forgotten name takes any fingerprint, and binds it", forgotten, 6 * s, reserve('B', fingerprint("g")),
			`acquired anew in_progress 2B until=16s expires=1m56s fingerprint="g"`},
		{"a forgotten name still knows the attempt id", forgotten, 6 * s, reserve('B', attempt("A"), fingerprint("g")),
			`lease_lost released 1A expires=1m45s fingerprint=""`},

		{"a settled name is replayed, also to the attempt id that settled it", done, 6 * s, reserve('A'),
			`replay completed 1A expires=1m45s resource="r" response=&{201 [] [] false []}`},
		{"a name settled without a response is replayed without one", plain, 6 * s, reserve('B'),
			"replay completed 1A expires=1m45s"},
		{"a settled name whose body was dropped is unavailable", dropped, 6 * s, reserve('B'),
			"response_unavailable failed 1A expires=1m45s response=&{502 [] [] true []}"},
	})
}

// Ensures that a repeated reserve gets the lease that it has, and moves no more than its end.
func TestRepeatedReserve(t *testing.T) {
	other := reserve('B', attempt("A"), hold, lease(500*s), retention(1*s))
	check(t, []row{
		{"a repeat in time gets the same token and fence", held, 4 * s, reserve('B', attempt("A")),
			"acquired in_progress 1A until=10s expires=1m50s"},
		{"what the repeat asks for is ignored", held, 4 * s, other,
			"acquired in_progress 1A until=10s expires=1m50s"},
		{"a lapsed lease is still its own", held, 20 * s, other,
			"acquired abandoned 1A until=10s expires=1m50s"},
		{"a lapsed one that is held is still its own, too", heldTight, 2000 * s, other,
			"acquired uncertain 1A until=10s stays hold"},
		{"a takeover is still one when it is asked for again", takenOver, 12 * s, reserve('C', attempt("B")),
			"acquired in_progress 2B until=21s expires=2m1s takeover checkpoint=&{3 three}"},
		{"after the expiry it is a new record", held, 110 * s, reserve('A'),
			"acquired anew in_progress 1A until=2m0s expires=3m40s"},
	})
}

// Ensures that the model follows the store in how far a repeated reserve moves the lease, within what is allowed.
func TestRepeatedReserveFollowsTheStore(t *testing.T) {
	for _, c := range []struct{ at, says, follows time.Duration }{
		{8 * s, 5 * s, 10 * s}, {8 * s, 10 * s, 10 * s}, {8 * s, 15 * s, 15 * s}, {8 * s, 18 * s, 18 * s}, {8 * s, 19 * s, 18 * s},
		{20 * s, 9 * s, 10 * s}, {20 * s, 10 * s, 10 * s}, {20 * s, 30 * s, 30 * s}, {20 * s, 31 * s, 30 * s},
	} {
		var m Model
		play(&m, held)
		e := m.Apply(reserve('A'), Told{Now: start.Add(c.at), LeaseEnd: start.Add(c.says)})
		if got := e.Record.LeaseEnd.Sub(start); got != c.follows || e.NewVersion != (got != 10*s) {
			t.Errorf("at %v the store says %v: the model says %v, want %v", c.at, c.says, got, c.follows)
		}
	}
}

// Ensures that the attempt ids of the last four earlier acquisitions are known, and no older ones.
func TestKeptAttemptIDs(t *testing.T) {
	var m Model
	for i, letter := range []byte("ABCxDEF") { // x has no attempt id
		c := reserve(letter).(storage.Reserve)
		if letter == 'x' {
			c.AttemptID = ""
		}
		m.Apply(c, at(time.Duration(i)*s))
		m.Apply(release(letter, ""), at(time.Duration(i)*s))
	}
	for id, want := range map[string]storage.Outcome{"F": storage.OutcomeLeaseLost, "E": storage.OutcomeLeaseLost, "D": storage.OutcomeLeaseLost,
		"C": storage.OutcomeLeaseLost, "B": storage.OutcomeLeaseLost} {
		if got := m.Apply(reserve('Z', attempt(id)), at(50*s)).Outcome; got != want {
			t.Errorf("attempt id %s: %v, want %v", id, got, want)
		}
	}
	e := m.Apply(reserve('Z', attempt("A")), at(50*s))
	if e.Outcome != storage.OutcomeAcquired || e.Record.Attempt != 8 {
		t.Errorf("the attempt id that is too old to be kept: %s", tell(e))
	}
}

// Ensures that every fence is higher than all before it, also over an expiry and while the clock stands still, and is
// the clock where that is higher.
func TestFences(t *testing.T) {
	var m Model
	fence := func(letter byte, d time.Duration) int64 {
		return m.Apply(reserve(letter, retention(time.Millisecond)), at(d)).Record.Fence - start.UnixMicro()
	}
	var got []int64
	for i, letter := range []byte("ABC") {
		got = append(got, fence(letter, 0))
		if i < 2 {
			m.Apply(release(letter, ""), at(0))
		}
	}
	got = append(got, fence('C', 1*s), fence('D', 100*s), fence('E', 50*s))
	m.Apply(release('D', ""), at(50*s))
	got = append(got, fence('E', 50*s))
	if diff := cmp.Diff([]int64{0, 1, 2, 2, 100_000_000, 100_000_000, 100_000_001}, got); diff != "" {
		t.Errorf("- wanted, + got\n%s", diff)
	}
}
