package httpapi_test

import "time"

// heartbeatRows are the rows of heartbeat.
func heartbeatRows() []row {
	return concat(heartbeatOwner(), heartbeatCheckpoint(), heartbeatOnLapse(), heartbeatSettled(), lost("heartbeat", (*key).heartbeat))
}

func beats(f ...fields) func(k *key) *answer {
	return func(k *key) *answer { k.t.Helper(); return k.heartbeat(f...) }
}

// leftAtMost bounds the lease from above; from below it is bounded by what is left to run.
func leftAtMost(most time.Duration) func(k *key, a *answer) {
	return func(k *key, a *answer) {
		left := time.Duration(a.number("lease.remaining_ms")) * time.Millisecond
		if left > most || left < most/2 {
			k.t.Errorf("%s are left, want up to %s, and more than half", left, most)
		}
	}
}

func heartbeatOwner() []row {
	short := func(k *key) { k.reserve(attempt(1), fields{"lease": "1m"}).want(201, "acquired") }
	return []row{
		{"heartbeat/owner/live", live, beats(), 200, "in_progress", leftAtMost(time.Hour)},
		{"heartbeat/owner/longer", short, beats(fields{"lease": "1h"}), 200, "in_progress", leftAtMost(time.Hour)},
		{"heartbeat/owner/shorter", live, beats(fields{"lease": "1m"}), 200, "in_progress", leftAtMost(time.Hour)},
		{"heartbeat/owner/omitted-after-longer", then(short, func(k *key) { k.heartbeat(fields{"lease": "2m"}) }), beats(), 200, "in_progress", leftAtMost(2 * time.Minute)},
		{"heartbeat/owner/lapsed-retry", abandoned, onceIn("abandoned", beats(fields{"lease": "1m"})), 200, "in_progress", leftAtMost(time.Minute)},
		{"heartbeat/owner/lapsed-hold", uncertain, onceIn("uncertain", beats(fields{"lease": "1m"})), 200, "in_progress", leftAtMost(time.Minute)},
		{"heartbeat/owner/same-version", live, sameVersion, 200, "in_progress", nil},
	}
}

// sameVersion is a heartbeat that only extends a live lease.
func sameVersion(k *key) *answer {
	k.t.Helper()
	before := k.lookup()
	a := k.heartbeat(fields{"lease": "1h"})
	return a.wantAt("record.version", before.text("record.version"))
}

func heartbeatCheckpoint() []row {
	note := func(seq int, data string) func(k *key) *answer {
		return beats(fields{"checkpoint": fields{"seq": seq, "data": data}})
	}
	at5 := then(live, func(k *key) { note(5, "five")(k).want(200, "in_progress") })
	shows := func(seq, data string) func(k *key, a *answer) {
		return func(k *key, a *answer) {
			a.wantAt("record.checkpoint.seq", seq).wantAt("record.checkpoint.data", data).wantAt("lease.checkpoint.data", data)
		}
	}
	return []row{
		{"heartbeat/checkpoint/first", live, note(1, "one"), 200, "in_progress", shows("1", "one")},
		{"heartbeat/checkpoint/higher", at5, note(6, "six"), 200, "in_progress", shows("6", "six")},
		{"heartbeat/checkpoint/equal", at5, note(5, "another"), 200, "in_progress", shows("5", "five")},
		{"heartbeat/checkpoint/lower", at5, note(4, "four"), 200, "in_progress", shows("5", "five")},
		{"heartbeat/checkpoint/none", at5, beats(), 200, "in_progress", shows("5", "five")},
		{"heartbeat/checkpoint/odd-text", live, note(1, "\x00 ы\n\u202e é"), 200, "in_progress", shows("1", "\x00 ы\n\u202e é")},
	}
}

// heartbeatOnLapse turns retry into hold, and never back.
func heartbeatOnLapse() []row {
	held := func(k *key) { k.reserve(attempt(1), hold, fields{"lease": "1h"}).want(201, "acquired") }
	is := func(policy string) func(k *key, a *answer) {
		return func(k *key, a *answer) { a.wantAt("record.on_lapse", policy) }
	}
	return []row{
		{"heartbeat/on-lapse/retry-to-hold", live, beats(hold), 200, "in_progress", is("hold")},
		{"heartbeat/on-lapse/retry-to-retry", live, beats(retry), 200, "in_progress", is("retry")},
		{"heartbeat/on-lapse/retry-omitted", live, beats(), 200, "in_progress", is("retry")},
		{"heartbeat/on-lapse/hold-to-retry", held, beats(retry), 200, "in_progress", is("hold")},
		{"heartbeat/on-lapse/hold-to-hold", held, beats(hold), 200, "in_progress", is("hold")},
		{"heartbeat/on-lapse/hold-omitted", held, beats(), 200, "in_progress", is("hold")},
		{"heartbeat/on-lapse/retry-in-next-attempt", then(held, giveBack, func(k *key) { k.reserve(attempt(2)) }), beats(), 200, "in_progress", is("retry")},
	}
}

func heartbeatSettled() []row {
	beat := func(k *key) *answer { return unchanged(k, func() *answer { return k.heartbeat(hold) }) }
	return []row{
		{"heartbeat/lost/released", released, beat, 409, "lease_lost", nil},
		{"heartbeat/lost/released-forgotten", forgotten, beat, 409, "lease_lost", nil},
		{"heartbeat/lost/completed", completed, beat, 409, "lease_lost", nil},
		{"heartbeat/lost/failed", failed, beat, 409, "lease_lost", nil},
	}
}
