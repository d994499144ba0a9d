package model

import (
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// answered is an answer as a store would give it to the first reserve of A.
func answered() storage.Answer {
	c := reserve('A').(storage.Reserve)
	return storage.Answer{Outcome: storage.OutcomeAcquired, Now: start, Record: &storage.Record{
		Name: name, State: storage.InProgress, Attempt: 1, Fence: start.UnixMicro(), Token: c.Token, Holder: c.Holder, AttemptID: c.AttemptID,
		Fingerprint: c.Fingerprint, Lease: c.Lease, Retention: c.Retention, CreatedAt: start, UpdatedAt: start,
		LeaseExpiresAt: start.Add(c.Lease), ExpiresAt: start.Add(c.Lease + c.Retention), Version: 1,
	}}
}

// Ensures that the right answer passes, and that one thing wrong with it is enough to be found.
func TestDifferences(t *testing.T) {
	for what, spoil := range map[string]func(*storage.Answer){
		"":                nil,
		"outcome":         func(a *storage.Answer) { a.Outcome = storage.OutcomeReplay },
		"record":          func(a *storage.Answer) { a.Record = nil },
		"name":            func(a *storage.Answer) { a.Record.Tenant = "Acme" },
		"state":           func(a *storage.Answer) { a.Record.State = storage.Released },
		"on_lapse":        func(a *storage.Answer) { a.Record.OnLapse = storage.Hold },
		"attempt":         func(a *storage.Answer) { a.Record.Attempt++ },
		"fence":           func(a *storage.Answer) { a.Record.Fence++ },
		"token":           func(a *storage.Answer) { a.Record.Token[15]++ },
		"takeover":        func(a *storage.Answer) { a.Record.Takeover = true },
		"holder":          func(a *storage.Answer) { a.Record.Holder = "" },
		"attempt id":      func(a *storage.Answer) { a.Record.AttemptID = "" },
		"earlier ids":     func(a *storage.Answer) { a.Record.EarlierAttemptIDs = []string{"x"} },
		"fingerprint":     func(a *storage.Answer) { a.Record.Fingerprint = "" },
		"created":         func(a *storage.Answer) { a.Record.CreatedAt = start.Add(time.Microsecond) },
		"updated":         func(a *storage.Answer) { a.Record.UpdatedAt = start.Add(time.Microsecond) },
		"end of lease":    func(a *storage.Answer) { a.Record.LeaseExpiresAt = start.Add(time.Second) },
		"settled":         func(a *storage.Answer) { a.Record.SettledAt = start },
		"expiry":          func(a *storage.Answer) { a.Record.ExpiresAt = start.Add(time.Second) },
		"checkpoint":      func(a *storage.Answer) { a.Record.Checkpoint = &storage.Checkpoint{} },
		"resource":        func(a *storage.Answer) { a.Record.ResourceID = "r" },
		"error":           func(a *storage.Answer) { a.Record.LastError = "e" },
		"response":        func(a *storage.Answer) { a.Record.Response = &storage.Response{} },
		"hash":            func(a *storage.Answer) { a.Record.ResultHash = []byte("h") },
		"time of another": func(a *storage.Answer) { a.Now = start.Add(10 * s) },
	} {
		var m Model
		e := m.Apply(reserve('A'), at(0))
		a := answered()
		if spoil != nil {
			spoil(&a)
		}
		if diff := e.Differences(a); (diff != "") != (spoil != nil) {
			t.Errorf("wrong %q: differences %q", what, diff)
		}
	}
}

// Ensures that an empty body is not no body, while an empty list is no list.
func TestDifferencesOfResponses(t *testing.T) {
	answer := func(r storage.Response) storage.Answer {
		a := answered()
		a.Record.Response = &r
		return a
	}
	expect := Expectation{Outcome: storage.OutcomeAcquired, Record: ViewOf(answer(storage.Response{Body: []byte{}}).Record, start)}
	if diff := expect.Differences(answer(storage.Response{Body: []byte{}, Headers: [][2]string{}, DroppedHeaders: []string{}})); diff != "" {
		t.Errorf("empty lists differ from none:\n%s", diff)
	}
	for _, r := range []storage.Response{{}, {Body: []byte{0}}, {Body: []byte{}, Headers: [][2]string{{"a", ""}}},
		{Body: []byte{}, DroppedHeaders: []string{"a"}}, {Body: []byte{}, BodyDropped: true}, {Body: []byte{}, Status: 200}} {
		if diff := expect.Differences(answer(r)); diff == "" {
			t.Errorf("%v passes for an empty body", r)
		}
	}
}

// Ensures that a version must change when callers must notice, must not change otherwise, and never comes back.
func TestVersions(t *testing.T) {
	shown := func(version int32) storage.Answer {
		return storage.Answer{Record: &storage.Record{Fence: 7, Version: version}}
	}
	var v Versions
	for i, c := range []struct {
		must   bool
		answer storage.Answer
		fine   bool
	}{
		{true, shown(1), true},
		{false, shown(1), true},
		{true, shown(1), false},
		{false, shown(2), false},
		{true, shown(2), true},
		{true, shown(1), false},
		{false, storage.Answer{}, true},
		{false, shown(2), true},
	} {
		if diff := v.Differences(Expectation{NewVersion: c.must}, c.answer); (diff == "") != c.fine {
			t.Errorf("answer %d: %q", i, diff)
		}
	}
}
