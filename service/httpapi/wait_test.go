package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/httpapi"
)

// patient is a reserve that waits as long as it may: longer than any test needs.
var patient = fields{"wait": "20s"}

// waiting is a reserve that waits, and its answer once it comes.
type waiting struct {
	t      *testing.T
	answer chan *answer // nil: the caller hung up
	hangUp context.CancelFunc
}

// waits reserves a key as its caller would, and comes back when the call is waiting.
func (s *server) waits(k *key, f ...fields) *waiting {
	k.t.Helper()
	before := s.api.Service.Waiters()
	w := k.startsWaiting(f...)
	s.until(k.t, "one more waits", func() bool { return s.api.Service.Waiters() > before })
	return w
}

func (k *key) startsWaiting(f ...fields) *waiting {
	ctx, cancel := context.WithCancel(noContext)
	w := &waiting{t: k.t, answer: make(chan *answer, 1), hangUp: cancel}
	body := string(must(json.Marshal(merged(append([]fields{k.name, {"fingerprint": mine}, patient}, f...)...))))
	go func() {
		a, err := k.exchangeIn(ctx, http.MethodPost, "/v1/keys/reserve", strings.NewReader(body), body, nil)
		if err != nil {
			a = nil
		}
		w.answer <- a
	}()
	return w
}

// crowd is n callers who wait for one key.
func (s *server) crowd(k *key, n int) []*waiting {
	k.t.Helper()
	before := s.api.Service.Waiters()
	all := make([]*waiting, n)
	for i := range all {
		all[i] = k.startsWaiting(attempt(100 + i))
	}
	s.until(k.t, "all of them wait", func() bool { return s.api.Service.Waiters() == before+n })
	return all
}

// want waits for the answer.
func (w *waiting) want(status int, what string) *answer {
	w.t.Helper()
	select {
	case a := <-w.answer:
		if a == nil {
			w.t.Fatal("the caller has no answer")
		}
		a.check()
		return a.want(status, what)
	case <-time.After(hang):
		w.t.Fatal("the call hangs")
	}
	return nil
}

// hang is longer than anything takes, a wait of the longest included.
const hang = 40 * time.Second

// until waits for something that comes true by itself.
func (s *server) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(hang); !is(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// Ensure that a caller who waits for another attempt is answered when that one ends, however it ends, as if the call had
// just come.
func TestWaitEndsWithTheHolder(t *testing.T) {
	endings := map[string]struct {
		end    func(k *key)
		status int
		what   string
		then   func(a *answer)
	}{
		"completes": {func(k *key) { k.complete(fields{"response": response()}).want(200, "completed") }, 200, "replay",
			func(a *answer) { a.wantAt("record.response.body", `{"id": 1.0}`) }},
		"fails":              {func(k *key) { k.complete(fields{"result": "failed"}).want(200, "failed") }, 200, "replay", nil},
		"drops its response": {func(k *key) { k.complete(saidDropped).want(200, "completed") }, 409, "response_unavailable", nil},
		"releases": {func(k *key) { giveBack(k) }, 201, "acquired",
			func(a *answer) { a.wantAt("lease.attempt", "2").wantAt("lease.takeover", "false") }},
		"forgets": {func(k *key) { k.release(fields{"forget": true}).want(200, "released") }, 201, "acquired", nil},
		"is resolved to completed": {func(k *key) { k.resolve(force, respond(response())).want(200, "completed") }, 200, "replay",
			func(a *answer) { a.wantAt("record.response.body", `{"id": 1.0}`) }},
		"is resolved to released": {func(k *key) { k.resolve(force, to("released")).want(200, "released") }, 201, "acquired", nil},
		"completes in a batch": {func(k *key) {
			k.batch(calling("complete", k.name, fields{"lease_token": k.lease})).result(0).want(200, "completed")
		}, 200, "replay", nil},
	}
	eachStore(t, func(t *testing.T, s *server) {
		for id, e := range endings {
			k := s.as(t, "acme").key(id)
			live(k)
			w := s.waits(k, attempt(2))
			e.end(k)
			a := w.want(e.status, e.what)
			if e.then != nil {
				e.then(a)
			}
		}
	})
}

// Ensure that a wait ends when the holder's attempt is ended through another replica, which knows nothing of the wait.
func TestWaitEndsThroughAnotherReplica(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		there := serve(t, s.db.again(t), tokens)
		k := there.as(t, "acme").key("k")
		live(k)
		w := s.waits(k.by(s.as(t, "acme")), attempt(2))
		k.complete(fields{"response": response()}).want(200, "completed")
		w.want(200, "replay").wantAt("record.response.body", `{"id": 1.0}`)
	})
}

// Ensure that of twenty who wait for one key exactly one acquires when it is released, and all others replay what that one
// does.
func TestTwentyWaitOneAcquires(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		all := s.crowd(k, 20)
		giveBack(k)
		winner, rest := s.oneAcquires(t, all)
		k.lease = winner.wantAt("lease.takeover", "false").text("lease.token")
		if n := s.api.Service.Waiters(); n != 19 {
			t.Fatalf("%d wait on, want 19", n)
		}
		k.complete(fields{"response": response()}).want(200, "completed")
		for _, w := range rest {
			w.want(200, "replay").wantAt("record.response.body", `{"id": 1.0}`).wantAt("record.attempt", "2")
		}
	})
}

// Ensure that all twenty who wait for one key replay what its holder completes.
func TestTwentyWaitAllReplay(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		all := s.crowd(k, 20)
		k.complete(fields{"response": response()}).want(200, "completed")
		for _, w := range all {
			w.want(200, "replay").wantAt("record.response.body", `{"id": 1.0}`).wantAt("record.attempt", "1")
		}
	})
}

// Ensure that of twenty who wait for a holder that is killed, and never comes back, exactly one takes over when the lease
// is over, not before; and that the others wait on for that one.
func TestTwentyWaitForTheDead(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		dead := k.reserve(attempt(1), fields{"lease": "2s"}).want(201, "acquired")
		winner, rest := s.oneAcquires(t, s.crowd(k, 20))
		winner.wantAt("lease.takeover", "true").wantAt("lease.attempt", "2")
		if end, over := dead.time("lease.expires_at"), winner.time("record.updated_at"); over.Before(end) {
			t.Errorf("taken over at %s, and the lease ended at %s", over, end)
		}
		k.complete(fields{"lease_token": dead.text("lease.token")}).want(409, "lease_lost")
		k.lease = winner.text("lease.token")
		k.complete().want(200, "completed")
		for _, w := range rest {
			w.want(200, "replay")
		}
	})
}

// oneAcquires waits until one of all is answered, which has to be by a grant, and gives the others.
func (s *server) oneAcquires(t *testing.T, all []*waiting) (winner *answer, rest []*waiting) {
	t.Helper()
	answered := func(w *waiting) bool { return len(w.answer) > 0 }
	s.until(t, "one is answered", func() bool { return slices.ContainsFunc(all, answered) })
	i := slices.IndexFunc(all, answered)
	return all[i].want(201, "acquired"), slices.Concat(all[:i], all[i+1:])
}

// Ensure that whoever hangs up while they wait gives up their place at once, is granted nothing afterwards, and is no
// failure of the service.
func TestHangingUpEndsTheWait(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		log := &logged{}
		s = serveAs(t, s.store, service.DefaultLimits(), httpapi.Config{Log: log.at(levelDebug)})
		k := s.as(t, "acme").key("k")
		live(k)
		w := s.waits(k, attempt(2))
		w.hangUp()
		s.until(t, "the place is free", func() bool { return s.api.Service.Waiters() == 0 })
		if a := <-w.answer; a != nil {
			t.Fatalf("the caller who hung up was answered: %d %s", a.status, a.raw)
		}
		giveBack(k)
		k.lookup().want(200, "released")
		s.until(t, "the call is logged", func() bool { return len(log.lines("/v1/keys/reserve")) == 2 })
		for _, line := range log.all() {
			if line.text("level") != "DEBUG" {
				t.Errorf("a caller who hung up is told to the operator: %s", line.raw)
			}
		}
		k.reserve(attempt(3), patient).want(201, "acquired")
	})
}

// Ensure that a service which goes down sends everybody away who waits, with the ordinary answer, and lets nobody wait any
// more; all else is answered.
func TestDrainingSendsWaitersAway(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		all := s.crowd(k, 5)
		k.send("GET", "/readyz", "", nil).wantAt("status", "ready")
		s.api.Drain()
		for _, w := range all {
			if got := w.want(409, "in_progress").wantAt("retry_after_ms", "2000").header.Get("Retry-After"); got != "2" {
				t.Errorf("Retry-After is %q", got)
			}
		}
		k.send("GET", "/readyz", "", nil).want(503, "store_unavailable")
		k.reserve(attempt(3), patient).want(409, "in_progress").wantAt("retry_after_ms", "2000")
		k.heartbeat().want(200, "in_progress")
		k.complete().want(200, "completed")
	})
}

// Ensure that beyond the number of callers who may wait, of a tenant or of all, the answer is the ordinary one and comes at
// once; a place is free again when its caller has been answered.
func TestCapOfWaiters(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		few := service.DefaultLimits()
		few.WaitersPerTenant, few.Waiters = 2, 3
		s = serveAs(t, s.store, few, httpapi.Config{})
		ours, theirs := s.as(t, "acme").key("k"), s.as(t, "globex").key("k")
		live(ours)
		live(theirs)
		first := []*waiting{s.waits(ours, attempt(2)), s.waits(ours, attempt(3))}
		ours.reserve(attempt(4), patient).want(409, "in_progress").wantAt("retry_after_ms", "2000")
		other := s.waits(theirs, attempt(2))
		theirs.reserve(attempt(3), patient).want(409, "in_progress")
		if n := s.api.Service.Waiters(); n != 3 {
			t.Fatalf("%d wait, want 3", n)
		}
		theirs.complete().want(200, "completed")
		other.want(200, "replay")
		s.until(t, "the place is free", func() bool { return s.api.Service.Waiters() == 2 })
		ours.complete().want(200, "completed")
		for _, w := range first {
			w.want(200, "replay")
		}
	})
}

// Ensure that those who wait take nothing from those who work: with more callers waiting than any store has connections,
// the service is ready and all other calls are answered.
func TestWaitersHoldNoConnection(t *testing.T) {
	const callers = 200
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		all := s.crowd(k, callers)
		k.send("GET", "/readyz", "", nil).wantAt("status", "ready")
		for i := range 20 {
			other := s.as(t, "acme").key(fmt.Sprint("other-", i))
			live(other)
			other.complete().want(200, "completed")
		}
		k.complete().want(200, "completed")
		for _, w := range all {
			w.want(200, "replay")
		}
	})
}

// Ensure that a store which fails while callers wait leaves them waiting: it may be back before their time is over. When
// it is not, they are told of the outage.
func TestOutageDuringAWait(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		live(k)
		w := s.waits(k, attempt(2), fields{"wait": "1s"})
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		w.want(503, "store_unavailable").wantAt("retry_after_ms", "1000").wantNone("lease")
	})
}
