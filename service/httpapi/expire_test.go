package httpapi_test

// expireRows are the rows of expire.
func expireRows() []row {
	return concat(expireDone(), expireOpen(), expireAbsent())
}

// expireDone ends what is settled or released: it is absent from then on, and anybody may use the key anew.
func expireDone() []row {
	is := func(id, what string, given func(k *key)) row {
		return row{"expire/" + id, given, expires(), 200, what, isGone}
	}
	shown := func(k *key, a *answer) { a.wantAt("record.response.body", `{"id": 1.0}`); isGone(k, a) }
	resolved := func(k *key) { live(k); k.resolve(force, to("failed")).want(200, "failed") }
	return []row{
		{"expire/completed", completed, expires(), 200, "completed", shown},
		is("failed", "failed", failed),
		is("response-dropped", "completed", dropped),
		is("released", "released", released),
		is("forgotten", "released", forgotten),
		is("resolved", "failed", resolved),
		is("resolved-to-released", "released", func(k *key) { live(k); k.resolve(force, to("released")).want(200, "released") }),
	}
}

func isGone(k *key, a *answer) {
	if end := a.time("record.expires_at"); end.After(a.time("record.updated_at")) {
		k.t.Errorf("it ends at %s, and was expired at %s", end, a.time("record.updated_at"))
	}
	k.lookup().want(404, "not_found")
	k.expire(fields{"version": a.text("record.version")}).want(404, "not_found")
	k.complete().want(409, "lease_lost").wantNone("record")
	next := k.reserve(afresh).want(201, "acquired").wantAt("record.attempt", "1").wantAt("lease.takeover", "false").wantNone("record.last_error")
	if next.number("lease.fence") <= a.number("record.fence") || next.text("record.version") == a.text("record.version") {
		k.t.Errorf("fence %d and version %s, after %d and %s", next.number("lease.fence"), next.text("record.version"), a.number("record.fence"), a.text("record.version"))
	}
}

// expireOpen has to be resolved first.
func expireOpen() []row {
	open := func(id string, given func(k *key), when func(k *key) *answer, then func(k *key, a *answer)) row {
		return row{"expire/open/" + id, given, when, 409, "in_progress", then}
	}
	isLive := func(_ *key, a *answer) { a.wantAt("retry_after_ms", "2000").wantAt("record.state", "in_progress") }
	over := func(state string) func(k *key, a *answer) {
		return func(_ *key, a *answer) { a.wantNone("retry_after_ms").wantAt("record.state", state) }
	}
	return []row{
		open("live", live, refusedAct(expires()), isLive),
		open("live-hold", liveHeld, refusedAct(expires()), isLive),
		open("abandoned", abandoned, onceIn("abandoned", refusedAct(expires())), over("abandoned")),
		open("uncertain", uncertain, onceIn("uncertain", refusedAct(expires())), over("uncertain")),
	}
}

func expireAbsent() []row {
	changed := func(_ *key, a *answer) { a.wantAt("advice", "look_again").wantNone("record.response") }
	is := func(id string, given func(k *key), f fields) row {
		return row{"expire/absent/" + id, given, refusedAct(expires(f)), 404, "not_found", nil}
	}
	return []row{
		is("never-made", nil, nil),
		is("other-key", completed, fields{"key": "another"}),
		is("other-operation", completed, fields{"operation": "another"}),
		is("other-subject", completed, fields{"subject": "another"}),
		{"expire/absent/expired", soonGone, onceIn("not_found", expires()), 404, "not_found", nil},
		{"expire/version/another", completed, refusedAct(expires(fields{"version": "1.1"})), 409, "version_conflict", changed},
		{"expire/version/another-of-a-live-one", live, refusedAct(expires(fields{"version": "1.1"})), 409, "version_conflict", changed},
		{"expire/version/acquired-since", released, func(k *key) *answer {
			seen := k.standing()
			k.reserve(attempt(2))
			return unchanged(k, func() *answer { return k.expire(seen) })
		}, 409, "version_conflict", changed},
	}
}
