package httpapi_test

// completeRows are the rows of complete.
func completeRows() []row {
	return concat(completeOwner(), completeRepeat(), lost("complete", (*key).complete), completeLost())
}

func completes(f ...fields) func(k *key) *answer {
	return func(k *key) *answer { k.t.Helper(); return k.complete(f...) }
}

// onceIn makes a call in a state that time has to bring about.
func onceIn(state string, when func(k *key) *answer) func(k *key) *answer {
	return func(k *key) *answer { k.t.Helper(); k.await(state); return when(k) }
}

func completeOwner() []row {
	settled := func(k *key, a *answer) {
		a.wantAt("record.resource_id", "order-1").wantNone("record.response")
		k.reserve().want(200, "replay").wantAt("record.response.body", `{"id": 1.0}`)
	}
	whole := completes(fields{"response": response(), "resource_id": "order-1"})
	asFailed := completes(fields{"response": response(), "resource_id": "order-1", "result": "failed"})
	return []row{
		{"complete/owner/live", live, whole, 200, "completed", settled},
		{"complete/owner/live-hold", then(live, func(k *key) { k.heartbeat(hold) }), whole, 200, "completed", settled},
		{"complete/owner/lapsed-retry", abandoned, onceIn("abandoned", whole), 200, "completed", settled},
		{"complete/owner/lapsed-hold", uncertain, onceIn("uncertain", whole), 200, "completed", settled},
		{"complete/owner/failed", live, asFailed, 200, "failed", settled},
		{"complete/owner/completed-said", live, completes(fields{"result": "completed"}), 200, "completed", nil},
		{"complete/owner/nothing-said", live, completes(), 200, "completed", func(_ *key, a *answer) { a.wantNone("record.resource_id") }},
		{"complete/owner/after-takeover", then(takenOver, func(k *key) { k.reserve(attempt(2)) }), whole, 200, "completed", settled},
	}
}

// completeRepeat is a key that this token settled: by the very same call again, or by another.
func completeRepeat() []row {
	first := fields{"response": response(), "resource_id": "order-1"}
	done := then(live, func(k *key) { k.complete(first).want(200, "completed") })
	other := func(id string, f fields) row {
		return row{"complete/settled/" + id, done, completes(first, f), 409, "already_completed", func(k *key, a *answer) {
			a.wantAt("record.state", "completed").wantAt("record.resource_id", "order-1")
			k.reserve().want(200, "replay").wantAt("record.response.body", `{"id": 1.0}`)
		}}
	}
	body := merged(response(), fields{"body": "another"})
	return []row{
		{"complete/repeat/same", done, sameAgain(first), 200, "completed", nil},
		{"complete/repeat/other-retention", done, sameAgain(first, fields{"retention": "1s"}), 200, "completed", nil},
		{"complete/repeat/unknown-field", done, sameAgain(first, fields{"trace": "1"}), 200, "completed", nil},
		{"complete/repeat/dropped-body", droppedAsTooLarge, sameAgain(withTooLarge), 200, "completed", nil},
		{"complete/repeat/body-said-to-be-dropped", dropped, sameAgain(saidDropped), 200, "completed", nil},
		other("other-result", fields{"result": "failed"}),
		other("other-resource-id", fields{"resource_id": "order-2"}),
		other("no-resource-id", fields{"resource_id": omitted}),
		other("other-body", fields{"response": body}),
		other("other-status", fields{"response": merged(response(), fields{"status": 200})}),
		other("other-headers", fields{"response": merged(response(), fields{"headers": omitted})}),
		other("no-body", fields{"response": merged(response(), fields{"body": omitted})}),
		other("no-response", fields{"response": omitted}),
		other("body-said-to-be-dropped", fields{"response_dropped": true}),
	}
}

// sameAgain completes again, and compares with the record as it was.
func sameAgain(f ...fields) func(k *key) *answer {
	return func(k *key) *answer {
		k.t.Helper()
		before := k.lookup()
		a := k.complete(f...)
		for _, same := range []string{"version", "settled_at", "expires_at", "updated_at"} {
			a.wantAt("record."+same, before.text("record."+same))
		}
		return a
	}
}

// lost are the rows that complete, release and heartbeat share: a token that does not count changes nothing.
func lost(call string, do func(k *key, f ...fields) *answer) []row {
	when := func(f ...fields) func(k *key) *answer {
		return func(k *key) *answer { k.t.Helper(); return unchanged(k, func() *answer { return do(k, f...) }) }
	}
	is := func(id string, given func(k *key), when func(k *key) *answer) row {
		return row{call + "/lost/" + id, given, when, 409, "lease_lost", nil}
	}
	successor := func(more func(k *key)) func(k *key) {
		return func(k *key) {
			released(k)
			withEarlierToken(k, func() { k.reserve(attempt(2), fields{"lease": "1h"}).want(201, "acquired"); more(k) })
		}
	}
	return []row{
		is("absent/never-made", nil, when()),
		is("absent/expired", soonGone, onceIn("not_found", when())),
		is("absent/expired-released", soonGoneReleased, onceIn("not_found", when())),
		is("absent/expired-abandoned", soonGoneAbandoned, onceIn("not_found", when())),
		is("absent/other-key", live, when(fields{"key": "another"})),
		is("absent/other-operation", live, when(fields{"operation": "another"})),
		is("absent/other-subject", live, when(fields{"subject": call + "/another"})),
		is("not-latest/taken-over", takenOver, when()),
		is("not-latest/taken-over-lapsed", abandonedTwice, onceIn("abandoned", when())),
		is("not-latest/acquired-again", successor(func(*key) {}), when()),
		is("not-latest/released-again", successor(giveBack), when()),
		is("not-latest/completed-since", successor(func(k *key) { k.complete().want(200, "completed") }), when()),
		is("not-a-token/unknown", live, when(fields{"lease_token": unknownToken})),
		is("not-a-token/other-form", live, when(fields{"lease_token": "x"})),
		is("not-a-token/upper-case", live, when(fields{"lease_token": "ABCDEFABCDEFABCDEFABCDEFABCDEFAB"})),
	}
}

func abandonedTwice(k *key) {
	abandoned(k)
	k.await("abandoned")
	withEarlierToken(k, func() { lapsing(k, 2) })
}

// unchanged wants a call to change nothing, and to create nothing.
func unchanged(k *key, call func() *answer) *answer {
	k.t.Helper()
	before := k.lookup()
	a := call()
	after := k.lookup()
	if before.status != after.status || before.text("record.version") != after.text("record.version") ||
		before.text("record.lease_expires_at") != after.text("record.lease_expires_at") {
		k.t.Errorf("the call changed the record:\n%s\n%s", before.raw, after.raw)
	}
	return a
}

func completeLost() []row {
	return []row{
		{"complete/lost/released", released, completes(), 409, "lease_lost", nil},
		{"complete/lost/released-forgotten", forgotten, completes(), 409, "lease_lost", nil},
	}
}

// releaseRows are the rows of release.
func releaseRows() []row {
	return concat(releaseOwner(), releaseRepeat(), lost("release", (*key).release))
}

func releases(f ...fields) func(k *key) *answer {
	return func(k *key) *answer { k.t.Helper(); return k.release(f...) }
}

func releaseOwner() []row {
	free := func(k *key, a *answer) { k.reserve(attempt(9)).want(201, "acquired").wantAt("record.attempt", "2") }
	kept := func(_ *key, a *answer) { a.wantAt("record.fingerprint", mine).wantAt("record.checkpoint.seq", "1") }
	blank := func(_ *key, a *answer) { a.wantAt("record.fingerprint", "").wantNone("record.checkpoint") }
	why := func(_ *key, a *answer) { a.wantAt("record.last_error", "first line\nsecond line") }
	return []row{
		{"release/owner/live", live, releases(), 200, "released", free},
		{"release/owner/lapsed-retry", abandoned, onceIn("abandoned", releases()), 200, "released", free},
		{"release/owner/lapsed-hold", uncertain, onceIn("uncertain", releases()), 200, "released", free},
		{"release/owner/keeps", then(live, noted), releases(), 200, "released", kept},
		{"release/owner/forget-false", then(live, noted), releases(fields{"forget": false}), 200, "released", kept},
		{"release/owner/forget", then(live, noted), releases(fields{"forget": true}), 200, "released", blank},
		{"release/owner/reason", live, releases(fields{"reason": "first line\nsecond line"}), 200, "released", why},
	}
}

func releaseRepeat() []row {
	same := func(f ...fields) func(k *key) *answer {
		return func(k *key) *answer { k.t.Helper(); return unchanged(k, func() *answer { return k.release(f...) }) }
	}
	return []row{
		{"release/repeat/same", released, same(fields{"reason": "no stock"}), 200, "released", nil},
		{"release/repeat/other-reason", released, same(fields{"reason": "another"}), 200, "released", func(_ *key, a *answer) { a.wantAt("record.last_error", "no stock") }},
		{"release/repeat/forgotten", forgotten, same(fields{"forget": true}), 200, "released", nil},
		{"release/settled/completed", completed, same(), 409, "already_completed", nil},
		{"release/settled/failed", failed, same(), 409, "already_completed", nil},
		{"release/settled/response-dropped", dropped, same(fields{"forget": true}), 409, "already_completed", nil},
	}
}
