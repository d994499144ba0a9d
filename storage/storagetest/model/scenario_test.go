package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-idempotency/reprise/storage"
)

// row is one sentence of the contract: after what was given, the call at that time must come to what is wanted.
type row struct {
	ensures string
	given   []step
	at      time.Duration
	call    storage.Call
	want    string // in the words of tell
}

// step is a call at a time after the start.
type step struct {
	at   time.Duration
	call storage.Call
}

var (
	start = time.UnixMicro(1_700_000_000_000_000).UTC()
	name  = storage.Name{Tenant: "acme", Operation: "POST /v1/orders", Key: "k"}
)

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.ensures, func(t *testing.T) {
			var m Model
			play(&m, r.given)
			got := tell(m.Apply(r.call, at(r.at)))
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("- wanted, + got\n%s", diff)
			}
		})
	}
}

func play(m *Model, steps []step) {
	for _, s := range steps {
		m.Apply(s.call, at(s.at))
	}
}

func at(d time.Duration) Told { return Told{Now: start.Add(d)} }

// tell puts an expectation into words: what is always said, then what is not as usual.
func tell(e Expectation) string {
	words := []string{e.Outcome.String()}
	if e.NewVersion {
		words = append(words, "anew")
	}
	v := e.Record
	if v == nil {
		return strings.Join(append(words, "nothing"), " ")
	}
	words = append(words, fmt.Sprintf("%v %d%c", v.State, v.Attempt, v.Token[0]))
	say := func(is bool, format string, args ...any) {
		if is {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	say(!v.LeaseEnd.IsZero(), "until=%v", v.LeaseEnd.Sub(start))
	say(!v.Expires.IsZero(), "expires=%v", v.Expires.Sub(start))
	say(v.Expires.IsZero(), "stays")
	say(v.OnLapse == storage.Hold, "hold")
	say(v.Takeover, "takeover")
	say(v.Fingerprint != "f", "fingerprint=%q", v.Fingerprint)
	say(v.Checkpoint != nil, "checkpoint=%v", v.Checkpoint)
	say(v.LastError != "", "error=%q", v.LastError)
	say(v.ResourceID != "", "resource=%q", v.ResourceID)
	say(v.Response != nil, "response=%v", v.Response)
	return strings.Join(words, " ")
}

// token is the one that begins with this letter.
func token(letter byte) (t storage.Token) {
	t[0] = letter
	return t
}

// reserve acquires, if it does, with a lease of 10 s, a retention of 100 s and an attempt id like the token's letter.
func reserve(letter byte, change ...func(*storage.Reserve)) storage.Call {
	c := storage.Reserve{Name: name, Fingerprint: "f", AttemptID: string(letter), Token: token(letter),
		Lease: 10 * time.Second, Retention: 100 * time.Second, Holder: "holder " + string(letter)}
	for _, f := range change {
		f(&c)
	}
	return c
}

func attempt(id string) func(*storage.Reserve) { return func(c *storage.Reserve) { c.AttemptID = id } }
func fingerprint(f string) func(*storage.Reserve) {
	return func(c *storage.Reserve) { c.Fingerprint = f }
}
func lease(d time.Duration) func(*storage.Reserve) { return func(c *storage.Reserve) { c.Lease = d } }
func retention(d time.Duration) func(*storage.Reserve) {
	return func(c *storage.Reserve) { c.Retention = d }
}
func hold(c *storage.Reserve) { c.OnLapse = storage.Hold }

// complete settles with status 201; result is both its resource id and its hash.
func complete(letter byte, result string) storage.Complete {
	return storage.Complete{Name: name, Token: token(letter), Result: storage.Completed,
		Response: &storage.Response{Status: 201}, ResultHash: []byte(result), ResourceID: result}
}

func release(letter byte, reason string) storage.Release {
	return storage.Release{Name: name, Token: token(letter), Reason: reason}
}

func forget(letter byte) storage.Release {
	return storage.Release{Name: name, Token: token(letter), Forget: true}
}

func heartbeat(letter byte, change ...func(*storage.Heartbeat)) storage.Call {
	c := storage.Heartbeat{Name: name, Token: token(letter)}
	for _, f := range change {
		f(&c)
	}
	return c
}

func checkpoint(seq int64, data string) func(*storage.Heartbeat) {
	return func(c *storage.Heartbeat) { c.Checkpoint = &storage.Checkpoint{Seq: seq, Data: data} }
}
func of(d time.Duration) func(*storage.Heartbeat) { return func(c *storage.Heartbeat) { c.Lease = d } }
func turn(c *storage.Heartbeat)                   { c.Hold = true }

func lookup(fingerprint string) storage.Call {
	return storage.Lookup{Name: name, Fingerprint: fingerprint}
}

// What rows are given. A holds from 0 to 10 s in all of them.
var (
	never     []step
	held      = []step{{0, reserve('A')}}
	heldTight = []step{{0, reserve('A', hold)}}
	givenBack = []step{{0, reserve('A')}, {5 * time.Second, release('A', "busy")}}
	forgotten = []step{{0, reserve('A')}, {1 * time.Second, heartbeat('A', checkpoint(3, "three"))}, {5 * time.Second, forget('A')}}
	done      = []step{{0, reserve('A')}, {5 * time.Second, complete('A', "r")}}
	dropped   = []step{{0, reserve('A')}, {5 * time.Second, storage.Complete{Name: name, Token: token('A'), Result: storage.Failed,
		Response: &storage.Response{Status: 502, BodyDropped: true}, ResultHash: []byte("d")}}}
	plain     = []step{{0, reserve('A')}, {5 * time.Second, storage.Complete{Name: name, Token: token('A'), Result: storage.Completed}}}
	takenOver = []step{{0, reserve('A')}, {1 * time.Second, heartbeat('A', checkpoint(3, "three"))}, {11 * time.Second, reserve('B')}}
)
