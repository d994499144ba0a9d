package httpapi_test

// waitRows are reserves that may wait: those who need not are answered at once, the others when the lease is over or their
// time is. What another caller ends is in the tests of waiting.
func waitRows() []row {
	patient := fields{"wait": "20s"}
	waits := func(f ...fields) func(k *key) *answer { return reserves(append(f, patient)...) }
	free := func(takeover string) func(k *key, a *answer) {
		return func(_ *key, a *answer) { a.wantAt("lease.attempt", "2").wantAt("lease.takeover", takeover) }
	}
	busy := func(_ *key, a *answer) { a.wantAt("retry_after_ms", "2000").wantAt("record.state", "in_progress") }
	return []row{
		{"reserve/wait/absent", nil, waits(), 201, "acquired", isFirstAttempt},
		{"reserve/wait/own-attempt-id", live, waits(attempt(1)), 201, "acquired", nil},
		{"reserve/wait/own-attempt-id-lapsed", abandoned, once("abandoned", attempt(1), patient), 201, "acquired", nil},
		{"reserve/wait/abandoned", abandoned, once("abandoned", attempt(2), patient), 201, "acquired", free("true")},
		{"reserve/wait/released", released, waits(attempt(2)), 201, "acquired", free("false")},
		{"reserve/wait/stray", released, waits(attempt(1)), 409, "lease_lost", nil},
		{"reserve/wait/uncertain", uncertain, once("uncertain", patient), 409, "uncertain", nil},
		{"reserve/wait/completed", completed, waits(), 200, "replay", nil},
		{"reserve/wait/response-unavailable", dropped, waits(), 409, "response_unavailable", nil},
		{"reserve/wait/other-fingerprint", live, waits(fields{"fingerprint": other}), 422, "fingerprint_mismatch", nil},
		{"reserve/wait/lapses-retry", nil, whileItLapses(retry, patient), 201, "acquired", free("true")},
		{"reserve/wait/lapses-hold", nil, whileItLapses(hold, patient), 409, "uncertain", nil},
		{"reserve/wait/time-is-over", live, reserves(fields{"wait": "100ms"}), 409, "in_progress", busy},
		{"reserve/wait/least", live, reserves(fields{"wait": "1ms"}), 409, "in_progress", busy},
		{"reserve/wait/null", live, reserves(fields{"wait": nil}), 409, "in_progress", busy},
		{"reserve/wait/ignored-by-complete", live, completes(fields{"wait": "0s"}), 200, "completed", nil},
		{"reserve/wait/ignored-by-release", live, releases(fields{"wait": 1}), 200, "released", nil},
		{"reserve/wait/ignored-by-heartbeat", live, beats(fields{"wait": "1s"}), 200, "in_progress", nil},
		{"reserve/wait/unknown-to-lookup", live, looks(patient), 400, "invalid_request", names("wait")},
	}
}

// whileItLapses reserves while another attempt still holds the key, under a lease that runs out soon.
func whileItLapses(policy fields, f ...fields) func(k *key) *answer {
	return func(k *key) *answer {
		k.t.Helper()
		lapsing(k, 1, policy)
		return k.reserve(append(f, attempt(2))...)
	}
}
