package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// The judge is judged by histories made by hand. Times are milliseconds; token 1 belongs to attempt 1 and so on.

const ms = time.Millisecond

var aName = wire.Name{Operation: "op", Key: "k"}

// made is a call that was sent and answered then; the changes make it what it is.
func made(k kind, sent, answered int, changes ...func(*call)) *call {
	c := &call{kind: k, name: aName, sent: time.Duration(sent) * ms, answered: time.Duration(answered) * ms}
	for _, change := range changes {
		change(c)
	}
	return c
}

// shows makes the answer one that shows the record in a state.
func shows(status int, state string, attempt int) func(*call) {
	return func(c *call) {
		c.fate, c.got.status = answered, status
		c.got.record = &seen{state: state, attempt: attempt, fence: int64(100 * attempt), fingerprint: "fp"}
	}
}

func refuses(code string, state string, attempt int) func(*call) {
	return func(c *call) { shows(409, state, attempt)(c); c.got.code = code }
}

func silent(code string) func(*call) {
	return func(c *call) { c.fate, c.got.status, c.got.code = answered, 404, code }
}

func as(f fate) func(*call) { return func(c *call) { c.fate = f } }

// attempt is the acquisition that a call asks for, or whose token it has.
func attempt(n int) func(*call) {
	return func(c *call) {
		if c.kind == reserve {
			c.ask.attemptID, c.ask.fingerprint, c.ask.lease = fmt.Sprint("attempt-", n), "fp", time.Second
		} else {
			c.ask.token = fmt.Sprint("token-", n)
		}
	}
}

// grants answers a reserve with the lease of an attempt, of one second.
func grants(n int) func(*call) {
	return func(c *call) {
		shows(201, "in_progress", n)(c)
		c.got.token, c.got.remaining = fmt.Sprint("token-", n), time.Second
	}
}

func with(id contentID) func(*call) {
	return func(c *call) { c.ask.content, c.ask.digest = id, contentOf(id).digest() }
}

// showing makes the record show a content.
func showing(c content) func(*call) {
	return func(to *call) { to.got.record.hasContent, to.got.record.digest = true, c.digest() }
}

func fence(f int64) func(*call) { return func(c *call) { c.got.record.fence = f } }

// oneByteOff is a content in which one byte differs.
func oneByteOff(id contentID) content {
	c := contentOf(id)
	for len(c.response.body) == 0 {
		panic("choose an id whose content has a body")
	}
	c.response.body = slices.Clone(c.response.body)
	c.response.body[0] ^= 1
	return c
}

const (
	aContent       = contentID(4)
	anotherContent = contentID(5)
)

// Ensure that each broken promise is caught, in a history that shows little else.
func TestJudgeCatches(t *testing.T) {
	acquired := made(reserve, 0, 10, attempt(1), grants(1))
	completed := made(complete, 20, 30, attempt(1), with(aContent), shows(200, "completed", 1))
	for _, test := range []struct {
		name  string
		want  string
		calls []*call
	}{
		{"a completion that is not there any more", lost, []*call{acquired, completed,
			made(lookup, 40, 50, shows(200, "in_progress", 1))}},
		{"a record that is not there any more", lost, []*call{acquired, made(lookup, 40, 50, silent("not_found"))}},
		{"a token of a record that is not there any more", lost, []*call{acquired,
			made(heartbeat, 40, 50, attempt(1), func(c *call) { silent("lease_lost")(c); c.got.status = 409 })}},
		{"a release that is not there any more", lost, []*call{acquired,
			made(release, 20, 30, attempt(1), shows(200, "released", 1)),
			made(lookup, 40, 50, shows(200, "in_progress", 1))}},
		{"an acquisition that is not there any more", lost, []*call{acquired,
			made(reserve, 2000, 2010, attempt(2), grants(2)),
			made(lookup, 2020, 2030, shows(200, "abandoned", 1))}},
		{"acquired after it was settled", lost, []*call{acquired, completed, made(reserve, 2000, 2010, attempt(2), grants(2))}},
		{"a checkpoint that is not there any more", lost, []*call{acquired,
			made(heartbeat, 20, 30, attempt(1), shows(200, "in_progress", 1), func(c *call) { c.ask.seq, c.got.record.seq = 2, 2 }),
			made(lookup, 40, 50, shows(200, "in_progress", 1))}},
		{"a byte that changed", changed, []*call{acquired, completed,
			made(lookup, 40, 50, shows(200, "completed", 1), showing(oneByteOff(aContent)))}},
		{"a byte that changed after a completion without an answer", changed, []*call{acquired,
			made(complete, 20, 30, attempt(1), with(aContent), as(unknown)),
			made(lookup, 40, 50, shows(200, "completed", 1), showing(oneByteOff(aContent)))}},
		{"two contents, neither acknowledged", changed, []*call{acquired,
			made(complete, 20, 30, attempt(1), with(aContent), as(unknown)),
			made(complete, 20, 30, attempt(1), with(anotherContent), as(unknown)),
			made(lookup, 40, 50, shows(200, "completed", 1), showing(contentOf(aContent))),
			made(lookup, 60, 70, shows(200, "completed", 1), showing(contentOf(anotherContent)))}},
		{"a checkpoint that nobody wrote", changed, []*call{acquired,
			made(lookup, 40, 50, shows(200, "in_progress", 1), func(c *call) { c.got.record.seq = 7 })}},
		{"two winners with two tokens", secondWinner, []*call{acquired, completed,
			made(complete, 40, 50, attempt(2), with(anotherContent), shows(200, "completed", 1))}},
		{"two winners with one token", secondWinner, []*call{acquired, completed,
			made(complete, 22, 32, attempt(1), with(anotherContent), shows(200, "completed", 1))}},
		{"a winner that is not the one shown", secondWinner, []*call{acquired, completed,
			made(complete, 20, 30, attempt(1), with(anotherContent), as(unknown)),
			made(lookup, 40, 50, shows(200, "completed", 1), showing(contentOf(anotherContent)))}},
		{"both completed and released", secondWinner, []*call{acquired, completed,
			made(release, 20, 30, attempt(1), shows(200, "released", 1))}},
		{"a fence that falls", fallingFence, []*call{acquired,
			made(reserve, 2000, 2010, attempt(2), grants(2), fence(99))}},
		{"attempts in the wrong order", fallingFence, []*call{made(reserve, 0, 10, attempt(2), grants(2)),
			made(reserve, 2000, 2010, attempt(1), grants(1))}},
		{"two live leases", doubleLease, []*call{acquired, made(reserve, 500, 510, attempt(2), grants(2))}},
		{"two live leases by a heartbeat", doubleLease, []*call{acquired,
			made(heartbeat, 900, 910, attempt(1), shows(200, "in_progress", 1), func(c *call) { c.got.remaining = time.Second }),
			made(reserve, 1500, 1510, attempt(2), grants(2))}},
		{"acquired although it is held", holdBroken, []*call{acquired,
			made(heartbeat, 20, 30, attempt(1), shows(200, "in_progress", 1), func(c *call) { c.ask.hold, c.got.record.hold = true, true }),
			made(reserve, 9000, 9010, attempt(2), grants(2))}},
		{"one attempt id with two tokens", secondToken, []*call{acquired, made(reserve, 2000, 2010, attempt(1), grants(2))}},
		{"two tokens with one fence", secondToken, []*call{acquired, made(reserve, 2000, 2010, attempt(2), grants(2), fence(100))}},
		{"one token for two attempts", secondToken, []*call{acquired,
			made(reserve, 2000, 2010, attempt(2), grants(2), func(c *call) { c.got.token = "token-1" })}},
		{"a token that still works after a takeover", staleToken, []*call{acquired,
			made(reserve, 2000, 2010, attempt(2), grants(2)),
			made(heartbeat, 2020, 2030, attempt(1), shows(200, "in_progress", 2))}},
		{"a lease that ends earlier", weakened, []*call{
			made(reserve, 0, 10, attempt(1), grants(1), func(c *call) { c.got.record.leaseEnd = "2" }),
			made(lookup, 20, 30, shows(200, "in_progress", 1), func(c *call) { c.got.record.leaseEnd = "1" })}},
		{"hold that becomes retry", weakened, []*call{
			made(reserve, 0, 10, attempt(1), grants(1), func(c *call) { c.got.record.hold = true }),
			made(lookup, 20, 30, shows(200, "in_progress", 1))}},
		{"a refusal that does not last", refusalRevived, []*call{acquired,
			made(complete, 20, 30, attempt(1), with(aContent), refuses("lease_lost", "in_progress", 1)),
			made(complete, 40, 50, attempt(1), with(aContent), shows(200, "completed", 1))}},
		{"a stray duplicate that is granted after all", refusalRevived, []*call{
			made(reserve, 0, 10, attempt(1), refuses("lease_lost", "abandoned", 3)),
			made(reserve, 2000, 2010, attempt(1), grants(4))}},
		{"a repeated reserve that conflicts with itself", repeatRefused, []*call{acquired,
			made(reserve, 20, 30, attempt(1), refuses("in_progress", "in_progress", 1))}},
		{"a repeated completion that is refused", repeatRefused, []*call{acquired, completed,
			made(complete, 40, 50, attempt(1), with(aContent), refuses("already_completed", "completed", 1))}},
		{"a repeated release that is refused", repeatRefused, []*call{acquired,
			made(release, 20, 30, attempt(1), shows(200, "released", 1)),
			made(release, 40, 50, attempt(1), refuses("lease_lost", "released", 1))}},
		{"two requests taken for one", twoFingerprints, []*call{acquired,
			made(reserve, 20, 30, attempt(2), refuses("in_progress", "in_progress", 1), func(c *call) { c.ask.fingerprint = "other" })}},
		{"a completion that was denied and done", deniedButDone, []*call{acquired,
			made(complete, 20, 30, attempt(1), with(aContent), as(denied)),
			made(lookup, 40, 50, shows(200, "completed", 1), showing(contentOf(aContent)))}},
		{"a fault of the service", unexpectedAnswer, []*call{made(lookup, 0, 10, silent("internal"))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := judge(evidence{calls: test.calls, slack: ms})
			if !slices.ContainsFunc(found, func(v violation) bool { return v.kind == test.want }) {
				t.Errorf("got %v, want %s", found, test.want)
			}
		})
	}
}

// Ensure that what the database holds at the end is held against what was acknowledged.
func TestJudgeCatchesRows(t *testing.T) {
	acquired := made(reserve, 0, 10, attempt(1), grants(1))
	right := row{name: aName, token: "token-1", attemptID: "attempt-1", seen: seen{state: "in_progress", attempt: 1, fence: 100, fingerprint: "fp"}}
	for _, test := range []struct {
		name   string
		want   string // empty: nothing
		change func(*row)
	}{
		{"the right row", "", func(*row) {}},
		{"another token", changed, func(r *row) { r.token = "token-9" }},
		{"another attempt id", changed, func(r *row) { r.attemptID = "attempt-9" }},
		{"another attempt", lost, func(r *row) { r.seen.attempt = 0 }},
		{"a content that nobody sent", changed, func(r *row) {
			r.seen.state, r.seen.hasContent = "completed", true
			r.seen.digest = contentOf(aContent).digest()
		}},
		{"another name", lost, func(r *row) { r.name.Key = "other" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := right
			test.change(&r)
			found := judge(evidence{calls: []*call{acquired}, rows: []row{r}, haveRows: true, slack: ms})
			caught := slices.ContainsFunc(found, func(v violation) bool { return v.kind == test.want })
			if (test.want == "") != (len(found) == 0) || test.want != "" && !caught {
				t.Errorf("got %v, want %q", found, test.want)
			}
		})
	}
	t.Run("an attempt that was always denied", func(t *testing.T) {
		found := judge(evidence{calls: []*call{made(reserve, 0, 10, attempt(1), as(denied))}, rows: []row{right}, haveRows: true})
		if !slices.ContainsFunc(found, func(v violation) bool { return v.kind == deniedButDone }) {
			t.Errorf("got %v, want %s", found, deniedButDone)
		}
	})
}

// Ensure that nobody is accused wrongly: whatever the service may do without breaking a promise passes, with lost
// answers, calls that overlap, and leases that end close to each other.
func TestJudgeLetsPass(t *testing.T) {
	for _, test := range []struct {
		name  string
		calls []*call
	}{
		{"a life with lost answers", []*call{
			made(reserve, 0, 5, attempt(1), as(unknown)),
			made(reserve, 10, 20, attempt(1), grants(1)),
			made(reserve, 12, 25, attempt(2), refuses("in_progress", "in_progress", 1)),
			made(heartbeat, 30, 35, attempt(1), as(unknown), func(c *call) { c.ask.seq, c.ask.data = 1, "a" }),
			made(heartbeat, 40, 45, attempt(1), shows(200, "in_progress", 1), func(c *call) {
				c.ask.seq, c.ask.data, c.got.record.seq, c.got.record.data = 1, "a", 1, "a"
			}),
			made(complete, 50, 55, attempt(1), with(aContent), as(unknown)),
			made(complete, 60, 65, attempt(1), with(aContent), as(unsent)),
			made(complete, 70, 80, attempt(1), with(aContent), shows(200, "completed", 1), func(c *call) {
				c.got.record.seq, c.got.record.data = 1, "a"
			}),
			made(lookup, 90, 95, shows(200, "completed", 1), showing(contentOf(aContent)), func(c *call) {
				c.got.record.seq, c.got.record.data = 1, "a"
			}),
		}},
		{"a release without an answer, and at once the next", []*call{
			made(reserve, 0, 10, attempt(1), grants(1)),
			made(release, 20, 30, attempt(1), as(unknown)),
			made(reserve, 40, 50, attempt(2), grants(2)),
			made(release, 60, 70, attempt(1), refuses("lease_lost", "in_progress", 2)),
		}},
		{"a takeover that was answered after the lease had ended", []*call{
			made(reserve, 0, 10, attempt(1), grants(1)),
			made(reserve, 900, 1000, attempt(2), grants(2)),
		}},
		{"a completion that overlaps with the look at it", []*call{
			made(reserve, 0, 10, attempt(1), grants(1)),
			made(lookup, 15, 35, shows(200, "in_progress", 1)),
			made(complete, 20, 30, attempt(1), with(aContent), shows(200, "completed", 1)),
			made(lookup, 25, 28, shows(200, "in_progress", 1)),
		}},
		{"two unanswered completions, one of which was done", []*call{
			made(reserve, 0, 10, attempt(1), grants(1)),
			made(complete, 20, 30, attempt(1), with(aContent), as(unknown)),
			made(complete, 40, 50, attempt(1), with(anotherContent), as(unknown)),
			made(lookup, 60, 70, shows(200, "completed", 1), showing(contentOf(anotherContent))),
		}},
		{"an attempt id from longer ago than is kept", []*call{
			made(reserve, 0, 10, attempt(1), grants(1)),
			made(reserve, 9000, 9010, attempt(1), grants(7)),
		}},
		{"another request after it was forgotten", []*call{
			made(reserve, 0, 10, attempt(1), grants(1)),
			made(release, 20, 30, attempt(1), as(unknown), func(c *call) { c.ask.forget = true }),
			made(reserve, 40, 50, attempt(2), grants(2), func(c *call) { c.ask.fingerprint, c.got.record.fingerprint = "other", "other" }),
		}},
		{"a heartbeat refused after its completion, which is repeated", []*call{
			made(reserve, 0, 10, attempt(1), grants(1)),
			made(complete, 20, 30, attempt(1), with(aContent), as(unknown)),
			made(heartbeat, 40, 50, attempt(1), refuses("lease_lost", "completed", 1)),
			made(complete, 60, 70, attempt(1), with(aContent), shows(200, "completed", 1)),
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if found := judge(evidence{calls: test.calls, slack: ms}); len(found) > 0 {
				t.Errorf("got %v, want nothing", found)
			}
		})
	}
}

// Ensure that every content differs from every other, survives the way through the API's JSON, and that no byte of it
// is without effect on its digest.
func TestContents(t *testing.T) {
	known := map[digest]contentID{}
	for id := range contentID(2000) {
		c := contentOf(id)
		if other, twice := known[c.digest()]; twice {
			t.Fatalf("contents %d and %d are equal", id, other)
		}
		known[c.digest()] = id
		var sent wire.CompleteRequest
		c.wire(&sent)
		back, err := contentIn(&wire.Record{State: *sent.Result, ResourceID: sent.ResourceID, Response: sent.Response})
		if err != nil || back.digest() != c.digest() {
			t.Fatalf("content %d came back as %v (%v), want %v", id, back, err, c)
		}
	}
	if oneByteOff(aContent).digest() == contentOf(aContent).digest() {
		t.Error("a changed byte does not show in the digest")
	}
}
