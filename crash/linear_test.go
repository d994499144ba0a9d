package main

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

// orderOn is a name of a family, and reserving a call on it.
func orderOn(short bool) *contested {
	return &contested{Name: wire.Name{Operation: "o", Key: "k"}, short: short, left: 1}
}

func reserving(c *contested) *asked {
	lease := longLease
	if c.short {
		lease = 200 * time.Millisecond
	}
	return &asked{on: c, call: storage.Reserve{Name: c.storageName(), Fingerprint: "f", AttemptID: "attempt-1", Lease: lease}}
}

// Ensure that a history has the calls that happened or may have, and none of those that must not have.
func TestWhatIsPutInOrder(t *testing.T) {
	var calls []*sentCall
	for _, f := range []fate{answered, unknown, denied, unsent} {
		s := &sentCall{asked: reserving(orderOn(false)), fate: f, sent: time.Second, answered: 2 * time.Second}
		if f == answered {
			s.answer = &linear.Answer{Outcome: storage.OutcomeInProgress}
		}
		calls = append(calls, s)
	}
	base := time.Now()
	ops := operationsOf(calls, base, time.Millisecond)
	if len(ops) != 2 || ops[0].Answer == nil || ops[1].Answer != nil {
		t.Fatalf("got %v, want the answered one and the one without an answer", ops)
	}
	if early, late := base.Add(999*time.Millisecond), base.Add(2001*time.Millisecond); !ops[0].Earliest.Equal(early) || !ops[0].Latest.Equal(late) {
		t.Errorf("decided at %v to %v, want %v to %v", ops[0].Earliest, ops[0].Latest, early, late)
	}
}

// Ensure that a reserve of a short lease counts as decided once more for each half of the lease that it took, also when
// it was denied, and never one of a lease that lasts.
func TestDecisionsBeforeTheLast(t *testing.T) {
	for _, test := range []struct {
		short bool
		took  time.Duration
		fate  fate
		want  int
	}{
		{true, 99 * time.Millisecond, answered, 0},
		{true, 100 * time.Millisecond, answered, 1},
		{true, 250 * time.Millisecond, denied, 2},
		{true, time.Minute, unknown, mostDecisions},
		{true, time.Minute, unsent, 0},
		{false, time.Minute, answered, 0},
	} {
		s := &sentCall{asked: reserving(orderOn(test.short)), fate: test.fate, answered: test.took}
		if got := s.extraDecisions(); got != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}

// Ensure that the calls of a batch keep their order, but for those that may be decided again after the others.
func TestOrderInABatch(t *testing.T) {
	lookup := func(c *contested) *asked { return &asked{on: c, call: storage.Lookup{Name: c.storageName()}} }
	short, long := orderOn(true), orderOn(false)
	var calls []*sentCall
	for i, a := range []*asked{lookup(short), reserving(short), lookup(long), reserving(long)} {
		calls = append(calls, &sentCall{asked: a, batch: 7, order: i, fate: unknown})
	}
	for i, op := range operationsOf(calls, time.Now(), 0) {
		if want := i != 1; (op.Group == 7) != want || op.Order != i && want {
			t.Errorf("call %d: group %d, order %d", i, op.Group, op.Order)
		}
	}
}

// Ensure that each answer is read as what it says, and one that no caller should see as an error.
func TestReadingAnswers(t *testing.T) {
	const record = `"record":{"state":"in_progress","attempt":2,"fence":7,"version":"v","fingerprint":"f","on_lapse":"hold",` +
		`"lease_expires_at":"2026-01-02T03:04:05.000006Z","checkpoint":{"seq":3,"data":"x"},"last_error":"why"}`
	seen := &linear.Seen{State: storage.InProgress, Hold: true, Attempt: 2, Fence: 7, Version: "v", Fingerprint: "f",
		LeaseEnd: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Checkpoint: storage.Checkpoint{Seq: 3, Data: "x"}, Reason: "why"}
	token := storage.NewToken()
	for _, test := range []struct {
		call   storage.Call
		status int
		body   string
		fate   fate
		want   *linear.Answer
		fails  bool
	}{
		{storage.Reserve{}, 201, `{"outcome":"acquired",` + record + `,"lease":{"token":"` + token.String() + `","takeover":true}}`, answered,
			&linear.Answer{Outcome: storage.OutcomeAcquired, Token: token, Takeover: true, Seen: seen}, false},
		{storage.Reserve{}, 409, `{"code":"in_progress",` + record + `}`, answered, &linear.Answer{Outcome: storage.OutcomeInProgress, Seen: seen}, false},
		{storage.Reserve{}, 422, `{"code":"fingerprint_mismatch"}`, answered, &linear.Answer{Outcome: storage.OutcomeFingerprintMismatch}, false},
		{storage.Heartbeat{}, 200, `{` + record + `,"lease":{"token":"` + token.String() + `"}}`, answered, &linear.Answer{Outcome: storage.OutcomeRenewed, Seen: seen}, false},
		{storage.Lookup{}, 404, `{"code":"not_found"}`, answered, &linear.Answer{Outcome: storage.OutcomeNotFound}, false},
		{storage.Complete{}, 503, `{"code":"outcome_unknown"}`, unknown, nil, false},
		{storage.Complete{}, 503, `{"code":"store_unavailable"}`, denied, nil, false},
		{storage.Complete{}, 500, `{"code":"internal"}`, unknown, nil, true},
		{storage.Complete{}, 400, `{"code":"invalid_request"}`, unknown, nil, true},
		{storage.Complete{}, 200, `<html>`, unknown, nil, true},
	} {
		fate, got, err := linearAnswer(test.call, test.status, []byte(test.body))
		if fate != test.fate || (err != nil) != test.fails || got.String() != test.want.String() {
			t.Errorf("%T %d %s: got %v, %v, %v; want %v, %v", test.call, test.status, test.body, fate, got, err, test.fate, test.want)
		}
	}
}

// Ensure that a settled record whose response is shown stands for what was sent, kept or dropped, and for nothing else.
func TestContentsComeBackAsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	contents := map[linear.Content]bool{}
	for i := range 50 {
		a := &asked{on: orderOn(false), dropped: i%3 == 0}
		a.call = storage.Complete{Result: a.settleWith(rng)}
		_, fields := a.request()
		sent := fields.(wire.CompleteRequest)
		r := &wire.Record{State: *sent.Result, ResourceID: sent.ResourceID, Response: sent.Response, ResponseDropped: sent.ResponseDropped != nil}
		seen, err := linearSeen(r, storage.OutcomeReplay)
		if err != nil || seen.Content != a.stands() {
			t.Errorf("%v: came back as another one (%v)", a.settlement(), err)
		}
		contents[a.stands()] = true
	}
	if len(contents) != 50 {
		t.Errorf("50 settlements stand for %d contents", len(contents))
	}
}

// Ensure that a batch has its calls as single calls have them, with what they are.
func TestBatchBody(t *testing.T) {
	c := orderOn(false)
	calls := []*asked{reserving(c), {on: c, call: storage.Release{Name: c.storageName(), Reason: "why"}}}
	var body struct{ Calls []map[string]any }
	if err := json.Unmarshal(batchBody(calls), &body); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"reserve", "release"} {
		var single map[string]any
		if err := json.Unmarshal(singleBody(calls[i]), &single); err != nil {
			t.Fatal(err)
		}
		if body.Calls[i]["call"] != want || len(body.Calls[i]) != len(single)+1 {
			t.Errorf("call %d: %v, want %s with %v", i, body.Calls[i], want, single)
		}
	}
}

// Ensure that a run fails for everything that it had too little of and for names without an order, and for nothing else.
func TestQuietRuns(t *testing.T) {
	e := &linearRun{flags: flags{kills: 8, operations: 1000}, store: storeSQLite}
	loud := e.count(nil)
	for what, n := range e.floors() {
		loud.Outcomes[what] = n
	}
	loud.Operations, loud.Kills, loud.Unfinished, loud.Batches, loud.Batched = 1000, 2, 4, 10, 50
	loud.Waits, loud.WaitsEnded, loud.Takeovers = 10, 1, 3
	if got := loud.failures(); len(got) > 0 {
		t.Errorf("a loud run failed: %v", got)
	}
	loud.Kills, loud.Outcomes["replay"] = 1, 0
	loud.Undecided, loud.Violations = 1, 2
	got := loud.failures()
	for _, want := range []string{"kills: 1, want 2", "replay: 0, want 30", "1 names for which an order was not found", "2 names whose answers"} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%q is missing in %v", want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("got %d failures, want 4: %v", len(got), got)
	}
}
