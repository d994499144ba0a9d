package linear_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/life"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

// hang ends only a search that does not end.
const hang = time.Minute

var name = storage.Name{Tenant: "t", Operation: "o", Key: "k"}

// script writes a history of one name. What is answered is right: package life decides it.
type script struct {
	ops    []linear.Op
	row    *storage.Record
	now    time.Time // of the store's clock
	tokens int
}

func newScript() *script { return &script{now: time.UnixMicro(1_800_000_000_000_000).UTC()} }

// call makes a call and gives its place in the history. It takes a second, and the next one comes after it.
func (s *script) call(c storage.Call) int {
	s.now = s.now.Add(time.Second)
	sent := time.Duration(len(s.ops)) * 10
	op := linear.Op{Call: c, Sent: sent, Returned: sent + 5, Earliest: s.now, Latest: s.now}
	switch c := c.(type) {
	case storage.Complete:
		op.Content = linear.Content(c.ResultHash)
	case storage.Resolve:
		op.Content = linear.ContentOf(c.To, c.ResourceID, c.Response)
	}
	answer, next := life.Decide(s.row, c, s.now)
	if next != nil {
		s.row = next
	}
	op.Answer = linear.AnswerOf(answer)
	s.ops = append(s.ops, op)
	return len(s.ops) - 1
}

// seen is what the answer of a call shows.
func (s *script) seen(i int) *linear.Seen { return s.ops[i].Answer.Seen }

// token is what a reserve was granted.
func (s *script) token(i int) storage.Token { return s.ops[i].Answer.Token }

// lost makes a call unfinished: its caller never learned what came of it.
func (s *script) lost(i int) { s.ops[i].Answer = nil }

// together makes calls overlap: each is sent before any of them is answered.
func (s *script) together(calls ...int) {
	sent, returned := s.ops[slices.Min(calls)].Sent, s.ops[slices.Max(calls)].Returned
	for _, i := range calls {
		s.ops[i].Sent, s.ops[i].Returned = sent, returned
	}
}

// group makes calls those of one group.
func (s *script) group(calls ...int) {
	s.together(calls...)
	for order, i := range calls {
		s.ops[i].Group, s.ops[i].Order = calls[0]+1, order
	}
}

func (s *script) fresh() (t storage.Token) {
	s.tokens++
	t[0], t[1] = byte(s.tokens), 1
	return t
}

// reserve asks for a lease of a minute with an attempt id.
func (s *script) reserve(attempt string) int { return s.call(s.reserving(attempt)) }

func (s *script) reserving(attempt string) storage.Reserve {
	return storage.Reserve{Name: name, Fingerprint: "f", AttemptID: attempt, Token: s.fresh(), Lease: time.Minute, Retention: 24 * time.Hour}
}

// complete settles with a body.
func (s *script) complete(t storage.Token, body string) int { return s.call(completing(t, body)) }

func completing(t storage.Token, body string) storage.Complete {
	c := storage.Complete{Name: name, Token: t, Result: storage.Completed, ResourceID: "r", Response: &storage.Response{Body: []byte(body)}}
	c.ResultHash = []byte(linear.ContentOf(c.Result, c.ResourceID, c.Response))
	return c
}

func (s *script) release(t storage.Token) int {
	return s.call(storage.Release{Name: name, Token: t, Reason: "busy"})
}

func (s *script) beat(t storage.Token) int { return s.call(storage.Heartbeat{Name: name, Token: t}) }

func (s *script) lookup() int { return s.call(storage.Lookup{Name: name}) }

// lapse lets the lease run out.
func (s *script) lapse() { s.now = s.now.Add(2 * time.Minute) }

// abandoned makes an attempt that has lapsed.
func (s *script) abandoned() int {
	first := s.reserve("attempt-1")
	s.lapse()
	return first
}

// accepted judges the history.
func (s *script) accepted(t *testing.T) bool {
	t.Helper()
	found := linear.Check(s.ops, hang)
	for _, f := range found {
		if f.Undecided {
			t.Fatalf("undecided after %v:\n%v", hang, f)
		}
	}
	return len(found) == 0
}

func (s *script) String() (text string) {
	for _, o := range s.ops {
		text += fmt.Sprintf("%v-%v %v → %v\n", o.Sent, o.Returned, &o, o.Answer)
	}
	return text
}
