package httpapi_test

// resolveRows are the rows of resolve.
func resolveRows() []row {
	return concat(resolveOpen(), resolveRefused(), resolveVersion(), resolveResponse())
}

func to(state string) fields { return fields{"to": state} }

var force = fields{"force": true}

// liveHeld is a live lease under hold.
func liveHeld(k *key) {
	k.reserve(attempt(1), hold, fields{"lease": "1h"}).want(201, "acquired")
}

// resolveOpen ends what is open in each of the three ways.
func resolveOpen() (rows []row) {
	for _, open := range []struct {
		id    string
		given func(k *key)
		when  func(f ...fields) func(k *key) *answer
	}{
		{"abandoned", abandoned, func(f ...fields) func(k *key) *answer { return onceIn("abandoned", resolves(f...)) }},
		{"uncertain", uncertain, func(f ...fields) func(k *key) *answer { return onceIn("uncertain", resolves(f...)) }},
		{"uncertain-forced", uncertain, func(f ...fields) func(k *key) *answer { return onceIn("uncertain", resolves(append(f, force)...)) }},
		{"live-forced", live, func(f ...fields) func(k *key) *answer { return resolves(append(f, force)...) }},
		{"live-hold-forced", liveHeld, func(f ...fields) func(k *key) *answer { return resolves(append(f, force)...) }},
	} {
		rows = append(rows,
			row{"resolve/" + open.id + "/completed", open.given, open.when(to("completed")), 200, "completed", isSettled},
			row{"resolve/" + open.id + "/failed", open.given, open.when(to("failed")), 200, "failed", isSettled},
			row{"resolve/" + open.id + "/released", open.given, open.when(to("released")), 200, "released", isGivenBack})
	}
	return rows
}

// isSettled looks at what the holder, and whoever comes next, are told after an operator's settlement.
func isSettled(k *key, a *answer) {
	a.wantNone("record.response").wantAt("record.attempt", "1")
	for range 2 {
		k.complete().want(409, "already_completed").wantAt("record.state", a.what())
		k.release().want(409, "already_completed")
		k.heartbeat().want(409, "lease_lost")
	}
	k.reserve(attempt(1)).want(200, "replay")
	k.reserve(attempt(2)).want(200, "replay").wantNone("record.response").wantAt("record.version", a.text("record.version"))
}

// isGivenBack looks at the same after an operator's release.
func isGivenBack(k *key, a *answer) {
	a.wantAt("record.last_error", why)
	for _, call := range []func(...fields) *answer{k.complete, k.release, k.heartbeat} {
		call().want(409, "lease_lost")
	}
	k.reserve(attempt(1)).want(409, "lease_lost") // a stray duplicate
	next := k.reserve(attempt(2)).want(201, "acquired").wantAt("record.attempt", "2").wantAt("lease.takeover", "false")
	if next.number("lease.fence") <= a.number("record.fence") {
		k.t.Errorf("the fence did not rise: %d, then %d", a.number("record.fence"), next.number("lease.fence"))
	}
}

// resolveRefused is what there is nothing to resolve of.
func resolveRefused() []row {
	settled := func(_ *key, a *answer) {
		a.wantAt("advice", "none").wantNone("retry_after_ms").wantNone("record.response")
	}
	isLive := func(k *key, a *answer) { a.wantAt("retry_after_ms", "2000"); names("force")(k, a) }
	absent := func(_ *key, a *answer) { a.wantNone("record") }
	is := func(id string, given func(k *key), f fields, status int, what string, then func(k *key, a *answer)) row {
		return row{"resolve/" + id, given, refusedAct(resolves(f)), status, what, then}
	}
	return []row{
		is("absent/never-made", nil, nil, 404, "not_found", absent),
		is("absent/never-made-forced", nil, force, 404, "not_found", absent),
		{"resolve/absent/expired", soonGone, onceIn("not_found", resolves()), 404, "not_found", absent},
		is("absent/other-key", live, fields{"key": "another"}, 404, "not_found", absent),
		is("absent/other-operation", live, fields{"operation": "another"}, 404, "not_found", absent),
		is("absent/other-subject", live, fields{"subject": "another"}, 404, "not_found", absent),
		is("live/no-force", live, nil, 409, "in_progress", isLive),
		is("live/force-false", live, fields{"force": false}, 409, "in_progress", isLive),
		is("live/force-null", live, fields{"force": nil}, 409, "in_progress", isLive),
		is("live/hold", liveHeld, nil, 409, "in_progress", isLive),
		is("settled/completed", completed, nil, 409, "already_completed", settled),
		is("settled/completed-forced", completed, force, 409, "already_completed", settled),
		is("settled/failed", failed, to("released"), 409, "already_completed", settled),
		is("settled/response-dropped", dropped, nil, 409, "already_completed", settled),
		is("released/by-its-holder", released, nil, 409, "already_completed", settled),
		is("released/forgotten", forgotten, to("released"), 409, "already_completed", settled),
	}
}

// resolveVersion is an act on a record that is not the one which was looked at, whatever else would be said of it.
func resolveVersion() []row {
	changed := func(k *key, a *answer) {
		a.wantAt("advice", "look_again").wantNone("retry_after_ms").wantNone("record.response")
		names("version")(k, a)
	}
	before := func(change func(k *key), f ...fields) func(k *key) *answer {
		return func(k *key) *answer {
			k.t.Helper()
			seen := k.standing()
			change(k)
			return unchanged(k, func() *answer { return k.resolve(append(f, seen)...) })
		}
	}
	conflict := func(id string, given func(k *key), when func(k *key) *answer) row {
		return row{"resolve/version/" + id, given, when, 409, "version_conflict", changed}
	}
	ofAnother := fields{"version": "1.1"}
	return []row{
		conflict("another", live, refusedAct(resolves(ofAnother, force))),
		conflict("another-not-forced", live, refusedAct(resolves(ofAnother))),
		conflict("another-settled", completed, refusedAct(resolves(ofAnother))),
		conflict("checkpoint-since", live, before(noted, force)),
		conflict("completed-since", live, before(func(k *key) { k.complete().want(200, "completed") }, force)),
		conflict("acquired-since", released, before(func(k *key) { k.reserve(attempt(2), fields{"lease": "1h"}) }, force)),
		conflict("resolved-since", live, before(func(k *key) { k.resolve(force).want(200, "completed") }, force)),
		conflict("of-the-record-before", soonGone, func(k *key) *answer {
			seen := k.standing()
			k.await("not_found")
			k.reserve(attempt(2)).want(201, "acquired")
			return unchanged(k, func() *answer { return k.resolve(seen, force) })
		}),
		{"resolve/version/extended-since", live, func(k *key) *answer {
			seen := k.standing()
			k.heartbeat(fields{"lease": "1h"}).want(200, "in_progress")
			return k.resolve(seen, force)
		}, 200, "completed", nil},
	}
}

// resolveResponse gives what the work answered, which is kept as that of a complete.
func resolveResponse() []row {
	whole := fields{"response": response(), "resource_id": "order-1"}
	shown := func(k *key, a *answer) {
		for _, a := range []*answer{a, k.reserve().want(200, "replay")} {
			a.wantAt("record.response.body", `{"id": 1.0}`).wantAt("record.response.status", "201").wantAt("record.resource_id", "order-1")
		}
	}
	tooLarge := func(k *key, a *answer) {
		a.wantNone("record.response.body").wantAt("record.response_dropped", "true").wantAt("record.response.status", "201")
		k.reserve().want(409, "response_unavailable").wantAt("record.resource_id", "order-1")
	}
	lines := func(k *key, a *answer) {
		if got := headerLines(a); !equalLines(got, [][2]string{{"X-Ok", "1"}}) {
			k.t.Errorf("kept %q", got)
		}
	}
	bytes := func(k *key, _ *answer) { k.reserve().want(200, "replay").wantAt("record.response.body", "AP8=") }
	is := func(id string, then func(k *key, a *answer), f ...fields) row {
		return row{"resolve/response/" + id, live, resolves(append(f, force)...), 200, "completed", then}
	}
	refused := func(id, field string, f ...fields) row {
		return row{"resolve/response/" + id, live, refusedAct(resolves(append(f, force)...)), 400, "invalid_request", names(field)}
	}
	return []row{
		is("kept", shown, whole),
		{"resolve/response/kept-of-a-failure", live, resolves(whole, to("failed"), force), 200, "failed", shown},
		is("too-large", tooLarge, withTooLarge),
		is("lines-dropped", lines, respond(fields{"headers": [][2]string{{"X-Bad", "a\nb"}, {"Set-Cookie", "a=b"}, {"X-Ok", "1"}}})),
		is("bytes", bytes, respond(fields{"body": "AP8=", "body_encoding": "base64"})),
		{"resolve/response/null-with-released", live, resolves(to("released"), fields{"response": nil, "resource_id": nil}, force), 200, "released", nil},
		refused("with-released", "response", to("released"), respond(response())),
		refused("empty-with-released", "response", to("released"), respond(fields{})),
		refused("resource-id-with-released", "resource_id", to("released"), fields{"resource_id": "order-1"}),
		refused("unknown-field", "response.stauts", respond(fields{"stauts": 200})),
		refused("dropped-as-in-complete", "response_dropped", fields{"response_dropped": true}),
	}
}
