package httpapi_test

import "fmt"

// reserveRows are the rows of reserve, in the order of the table: the first that fits is the answer.
func reserveRows() []row {
	return concat(reserveAbsent(), reserveMismatch(), reserveRepeat(), reserveLive(), reserveStray(), reserveAgain(), reserveUncertain(), reserveDone())
}

func concat(all ...[]row) (rows []row) {
	for _, some := range all {
		rows = append(rows, some...)
	}
	return rows
}

func reserves(f ...fields) func(k *key) *answer {
	return func(k *key) *answer { k.t.Helper(); return k.reserve(f...) }
}

// once is reserve in a state that time has to bring about.
func once(state string, f ...fields) func(k *key) *answer {
	return func(k *key) *answer { k.t.Helper(); k.await(state); return k.reserve(f...) }
}

func isFirstAttempt(_ *key, a *answer) {
	a.wantAt("record.attempt", "1").wantAt("lease.takeover", "false").wantNone("lease.checkpoint")
}

// afresh is a reserve of an expired key with another fingerprint.
var afresh = fields{"fingerprint": other, "attempt_id": "attempt-1"}

func reserveAbsent() []row {
	return []row{
		{"reserve/absent/never-made", nil, reserves(), 201, "acquired", isFirstAttempt},
		{"reserve/absent/expired/completed", soonGone, once("not_found", afresh), 201, "acquired", isFirstAttempt},
		{"reserve/absent/expired/released", soonGoneReleased, once("not_found", afresh), 201, "acquired", isFirstAttempt},
		{"reserve/absent/expired/abandoned", soonGoneAbandoned, once("not_found", afresh), 201, "acquired", isFirstAttempt},
	}
}

// reserveMismatch is before everything else, whatever the state, and shows nothing of the record.
func reserveMismatch() []row {
	theirs := fields{"fingerprint": other}
	hidden := func(_ *key, a *answer) { a.wantNone("record") }
	mismatch := func(id string, given func(k *key), when func(k *key) *answer) row {
		return row{"reserve/other-fingerprint/" + id, given, when, 422, "fingerprint_mismatch", hidden}
	}
	return []row{
		mismatch("in-progress", live, reserves(theirs)),
		mismatch("in-progress-same-attempt", live, reserves(theirs, attempt(1))),
		mismatch("abandoned", abandoned, once("abandoned", theirs)),
		mismatch("abandoned-stray", attempts(2, fields{"lease": brief}), once("abandoned", theirs, attempt(1))),
		mismatch("uncertain", uncertain, once("uncertain", theirs)),
		mismatch("released", released, reserves(theirs)),
		mismatch("released-stray", released, reserves(theirs, attempt(1))),
		mismatch("completed", completed, reserves(theirs)),
		mismatch("failed", failed, reserves(theirs)),
		mismatch("response-dropped", dropped, reserves(theirs)),
		mismatch("bound-after-forget", then(forgotten, func(k *key) { k.reserve(attempt(2), theirs) }), reserves()),
	}
}

// reserveRepeat is a reserve whose answer was lost: the caller gets its own lease again.
func reserveRepeat() []row {
	ignored := fields{"lease": "1m", "retention": "1m", "on_lapse": "hold", "holder": "another"}
	return []row{
		{"reserve/repeat/live", live, repeats("in_progress", attempt(1)), 201, "acquired", nil},
		{"reserve/repeat/live-other-settings", live, repeats("in_progress", attempt(1), ignored), 201, "acquired", nil},
		{"reserve/repeat/lapsed-retry", abandoned, repeats("abandoned", attempt(1)), 201, "acquired", nil},
		{"reserve/repeat/lapsed-retry-other-settings", abandoned, repeats("abandoned", attempt(1), ignored), 201, "acquired", nil},
		{"reserve/repeat/lapsed-hold", uncertain, repeats("uncertain", attempt(1)), 201, "acquired", nil},
		{"reserve/repeat/takeover", takenOver, repeats("in_progress", attempt(2)), 201, "acquired", func(_ *key, a *answer) { a.wantAt("lease.takeover", "true") }},
	}
}

// repeats reserves again, and compares with what was acquired first. Only the end of the lease may move, later.
func repeats(state string, f ...fields) func(k *key) *answer {
	return func(k *key) *answer {
		k.t.Helper()
		before := k.await(state)
		acquired := k.lease
		a := k.reserve(f...)
		for _, same := range []string{"attempt", "fence", "on_lapse", "holder", "fingerprint", "created_at"} {
			a.wantAt("record."+same, before.text("record."+same))
		}
		if a.text("lease.token") != acquired && before.text("record.attempt") == "1" {
			k.t.Errorf("the repeat got another token")
		}
		if a.time("lease.expires_at").Before(before.time("record.lease_expires_at")) {
			k.t.Errorf("the repeat ended the lease sooner")
		}
		if again := k.reserve(f...); again.text("lease.token") != a.text("lease.token") {
			k.t.Errorf("the second repeat got another token")
		}
		return a
	}
}

func reserveLive() []row {
	shown := func(_ *key, a *answer) { a.wantAt("retry_after_ms", "2000").wantAt("record.state", "in_progress") }
	return []row{
		{"reserve/live/no-attempt-id", live, reserves(), 409, "in_progress", shown},
		{"reserve/live/other-attempt-id", live, reserves(attempt(2)), 409, "in_progress", shown},
		{"reserve/live/earlier-attempt-id", attempts(2, fields{"lease": "1h"}), reserves(attempt(1)), 409, "in_progress", shown},
		{"reserve/live/none-twice", func(k *key) { k.reserve(fields{"lease": "1h"}) }, reserves(), 409, "in_progress", shown},
		{"reserve/live/hold", func(k *key) { k.reserve(fields{"lease": "1h"}, hold) }, reserves(), 409, "in_progress", shown},
	}
}

// reserveStray is a late duplicate of a reserve whose acquisition is over. Those of the last four before the latest are
// known again, not the fifth.
func reserveStray() []row {
	lapsed := fields{"lease": brief}
	stray := func(id string, given func(k *key), when func(k *key) *answer) row {
		return row{"reserve/stray/" + id, given, when, 409, "lease_lost", func(_ *key, a *answer) { a.wantNone("retry_after_ms") }}
	}
	rows := []row{
		stray("released/latest", released, reserves(attempt(1))),
		stray("released/latest-forgotten", forgotten, reserves(attempt(1))),
		{"reserve/stray/released/fifth-before", then(attempts(6, nil), giveBack), reserves(attempt(1)), 201, "acquired", nil},
		{"reserve/stray/abandoned/fifth-before", attempts(6, lapsed), once("abandoned", attempt(1)), 201, "acquired", nil},
	}
	for i, which := range []string{"fourth-before", "third-before", "second-before", "earlier"} {
		n := i + 2
		rows = append(rows,
			stray("released/"+which, then(attempts(6, nil), giveBack), reserves(attempt(n))),
			stray("abandoned/"+which, attempts(6, lapsed), once("abandoned", attempt(n))))
	}
	return rows
}

func giveBack(k *key) { k.release().want(200, "released") }

// reserveAgain is the next acquisition of an abandoned or released key.
func reserveAgain() []row {
	next := func(takeover bool) func(k *key, a *answer) {
		return func(k *key, a *answer) {
			a.wantAt("lease.attempt", "2").wantAt("lease.takeover", fmt.Sprint(takeover)).wantAt("record.holder", "")
		}
	}
	withNote := func(_ *key, a *answer) { a.wantAt("lease.checkpoint.seq", "1").wantAt("lease.checkpoint.data", "step") }
	blank := func(_ *key, a *answer) {
		a.wantNone("lease.checkpoint").wantAt("record.attempt", "2").wantAt("record.fingerprint", other)
	}
	return []row{
		{"reserve/abandoned/no-attempt-id", abandoned, again("abandoned"), 201, "acquired", next(true)},
		{"reserve/abandoned/new-attempt-id", abandoned, again("abandoned", attempt(2)), 201, "acquired", next(true)},
		{"reserve/abandoned/checkpoint", then(abandoned, noteBriefly), again("abandoned", attempt(2)), 201, "acquired", withNote},
		{"reserve/released/no-attempt-id", released, again("released"), 201, "acquired", next(false)},
		{"reserve/released/new-attempt-id", released, again("released", attempt(2)), 201, "acquired", next(false)},
		{"reserve/released/checkpoint", then(live, noted, giveBack), again("released", attempt(2)), 201, "acquired", withNote},
		{"reserve/released/forgotten", forgotten, again("released", attempt(2), fields{"fingerprint": other}), 201, "acquired", blank},
	}
}

// noteBriefly leaves the lease as short as it is.
func noteBriefly(k *key) {
	k.heartbeat(fields{"checkpoint": checkpoint(1), "lease": brief}).want(200, "in_progress")
}

// again acquires again, with another token and a higher fence.
func again(state string, f ...fields) func(k *key) *answer {
	return func(k *key) *answer {
		k.t.Helper()
		before, earlier := k.await(state), k.lease
		a := k.reserve(f...)
		if a.number("lease.fence") <= before.number("record.fence") {
			k.t.Errorf("the fence did not rise: %s then %s", before.text("record.fence"), a.text("lease.fence"))
		}
		if a.text("lease.token") == earlier {
			k.t.Errorf("the token of an earlier acquisition was given out again")
		}
		return a
	}
}

func reserveUncertain() []row {
	turned := func(k *key) {
		lapsing(k, 1)
		k.heartbeat(hold, fields{"lease": brief}).want(200, "in_progress")
	}
	shown := func(_ *key, a *answer) { a.wantAt("record.state", "uncertain").wantAt("advice", "operator") }
	return []row{
		{"reserve/uncertain/no-attempt-id", uncertain, once("uncertain"), 409, "uncertain", shown},
		{"reserve/uncertain/new-attempt-id", uncertain, once("uncertain", attempt(2)), 409, "uncertain", shown},
		{"reserve/uncertain/earlier-attempt-id", attempts(2, merged(hold, fields{"lease": brief})), once("uncertain", attempt(1)), 409, "uncertain", shown},
		{"reserve/uncertain/turned-by-heartbeat", turned, once("uncertain", attempt(2)), 409, "uncertain", shown},
	}
}

// reserveDone is a key that was settled: it is never run again.
func reserveDone() []row {
	kept := func(_ *key, a *answer) {
		a.wantAt("record.response.body", `{"id": 1.0}`).wantAt("record.response.status", "201").wantNone("lease")
	}
	unavailable := func(_ *key, a *answer) {
		a.wantAt("record.response.status", "201").wantAt("record.resource_id", "order-1").wantAt("record.response_dropped", "true").
			wantNone("record.response.body")
	}
	failedDropped := func(k *key) {
		live(k)
		k.complete(fields{"response_dropped": true, "response": fields{"status": 201}, "resource_id": "order-1", "result": "failed"}).want(200, "failed")
	}
	without := func(f fields) func(k *key) { return then(live, func(k *key) { k.complete(f).want(200, "completed") }) }
	return []row{
		{"reserve/response-unavailable/too-large", droppedAsTooLarge, reserves(), 409, "response_unavailable", unavailable},
		{"reserve/response-unavailable/said-by-caller", dropped, reserves(), 409, "response_unavailable", unavailable},
		{"reserve/response-unavailable/failed", failedDropped, reserves(), 409, "response_unavailable", unavailable},
		{"reserve/response-unavailable/same-attempt-id", dropped, reserves(attempt(1)), 409, "response_unavailable", unavailable},
		{"reserve/completed/no-attempt-id", completed, reserves(), 200, "replay", kept},
		{"reserve/completed/same-attempt-id", completed, reserves(attempt(1)), 200, "replay", kept},
		{"reserve/completed/new-attempt-id", completed, reserves(attempt(2)), 200, "replay", kept},
		{"reserve/completed/earlier-attempt-id", then(released, func(k *key) { k.reserve(attempt(2)); k.complete(fields{"response": response()}) }),
			reserves(attempt(1)), 200, "replay", kept},
		{"reserve/completed/no-response", without(nil), reserves(), 200, "replay", func(_ *key, a *answer) { a.wantNone("record.response") }},
		{"reserve/completed/no-body", without(fields{"response": fields{"status": 204}}), reserves(), 200, "replay",
			func(_ *key, a *answer) { a.wantAt("record.response.status", "204").wantNone("record.response.body") }},
		{"reserve/completed/empty-body", without(fields{"response": fields{"body": ""}}), reserves(), 200, "replay",
			func(_ *key, a *answer) { a.wantAt("record.response.body_encoding", "utf-8") }},
		{"reserve/failed/no-attempt-id", failed, reserves(), 200, "replay", kept},
		{"reserve/failed/same-attempt-id", failed, reserves(attempt(1)), 200, "replay", kept},
		{"reserve/failed/new-attempt-id", failed, reserves(attempt(2)), 200, "replay", kept},
	}
}
