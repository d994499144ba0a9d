package httpapi_test

// lookupRows are the rows of lookup.
func lookupRows() []row {
	return concat(lookupAbsent(), lookupPresent(), lookupFingerprint())
}

func looks(f ...fields) func(k *key) *answer {
	return func(k *key) *answer { k.t.Helper(); return k.lookup(f...) }
}

func lookupAbsent() []row {
	return []row{
		{"lookup/absent/never-made", nil, looks(), 404, "not_found", nil},
		{"lookup/absent/never-made-fingerprint", nil, looks(fields{"fingerprint": mine}), 404, "not_found", nil},
		{"lookup/absent/expired/completed", soonGone, onceIn("not_found", looks()), 404, "not_found", nil},
		{"lookup/absent/expired/other-fingerprint", soonGone, onceIn("not_found", looks(fields{"fingerprint": other})), 404, "not_found", nil},
		{"lookup/absent/expired/released", soonGoneReleased, onceIn("not_found", looks()), 404, "not_found", nil},
		{"lookup/absent/expired/abandoned", soonGoneAbandoned, onceIn("not_found", looks()), 404, "not_found", nil},
		{"lookup/absent/other-key", live, looks(fields{"key": "another"}), 404, "not_found", nil},
		{"lookup/absent/other-operation", live, looks(fields{"operation": "another"}), 404, "not_found", nil},
		{"lookup/absent/other-subject", live, looks(fields{"subject": "lookup/another"}), 404, "not_found", nil},
		{"lookup/absent/no-subject", live, looks(fields{"subject": omitted}), 404, "not_found", nil},
	}
}

func lookupPresent() []row {
	shows := func(want ...string) func(k *key, a *answer) {
		return func(k *key, a *answer) {
			for i := 0; i < len(want); i += 2 {
				a.wantAt("record."+want[i], want[i+1])
			}
		}
	}
	whole := shows("response.body", `{"id": 1.0}`, "response.status", "201", "fingerprint", mine, "holder", "holder-1", "on_lapse", "retry")
	return []row{
		{"lookup/present/in-progress", then(live, noted), looks(), 200, "in_progress", shows("checkpoint.seq", "1", "attempt", "1", "holder", "holder-1")},
		{"lookup/present/abandoned", abandoned, func(k *key) *answer { return k.await("abandoned") }, 200, "abandoned", nil},
		{"lookup/present/uncertain", uncertain, func(k *key) *answer { return k.await("uncertain") }, 200, "uncertain", shows("on_lapse", "hold")},
		{"lookup/present/released", released, looks(), 200, "released", shows("last_error", "no stock", "fingerprint", mine)},
		{"lookup/present/forgotten", forgotten, looks(), 200, "released", shows("fingerprint", "")},
		{"lookup/present/completed", completed, looks(), 200, "completed", whole},
		{"lookup/present/failed", failed, looks(), 200, "failed", whole},
		{"lookup/present/response-dropped", dropped, looks(), 200, "completed", shows("response_dropped", "true", "response.status", "201", "resource_id", "order-1")},
	}
}

// lookupFingerprint compares a fingerprint where one is given, in every state.
func lookupFingerprint() []row {
	rows := []row{{"lookup/fingerprint/any/forgotten", forgotten, looks(fields{"fingerprint": other}), 200, "released", nil}}
	for _, s := range []struct {
		state string
		given func(k *key)
	}{
		{"in_progress", live}, {"abandoned", abandoned}, {"uncertain", uncertain}, {"released", released},
		{"completed", completed}, {"failed", failed},
	} {
		look := func(fingerprint string) func(k *key) *answer {
			return onceIn(s.state, looks(fields{"fingerprint": fingerprint}))
		}
		hidden := func(_ *key, a *answer) { a.wantNone("record") }
		rows = append(rows,
			row{"lookup/fingerprint/same/" + s.state, s.given, look(mine), 200, s.state, nil},
			row{"lookup/fingerprint/other/" + s.state, s.given, look(other), 422, "fingerprint_mismatch", hidden})
	}
	return rows
}
