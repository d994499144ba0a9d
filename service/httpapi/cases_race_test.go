package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// concurrently makes calls at once, and counts their answers by status and what they say.
func concurrently(n int, call func(i int) *answer) map[string]int {
	var (
		mu      sync.Mutex
		answers = map[string]int{}
		calls   sync.WaitGroup
		start   = make(chan struct{})
	)
	for i := range n {
		calls.Go(func() {
			<-start
			a := call(i)
			mu.Lock()
			defer mu.Unlock()
			answers[fmt.Sprint(a.status, " ", a.what())]++
		})
	}
	close(start)
	calls.Wait()
	return answers
}

// Ensure that of 1,000 callers who reserve one key at once exactly one gets it, and that each of the others is told
// that it is held: losing is no outage. (A machine that is too slow for a thousand at once has some repeat their call, once.)
func TestThousandReservesOneWins(t *testing.T) {
	const callers = 1000
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		all := make([]*answer, callers)
		answers := concurrently(callers, func(i int) *answer {
			body := must(json.Marshal(merged(k.name, fields{"fingerprint": mine, "lease": "1h"}, attempt(i+1))))
			reserve := func() *answer { return must(k.exchange(http.MethodPost, "/v1/keys/reserve", string(body), nil)) }
			if all[i] = reserve(); all[i].status == http.StatusServiceUnavailable {
				all[i] = reserve()
			}
			return all[i]
		})
		if answers["201 acquired"] != 1 || answers["409 in_progress"] != callers-1 {
			t.Errorf("answers: %v", answers)
		}
		checkDistinct(all) // only now: it would take the time that the callers have
	})
}

// checkDistinct holds answers to the description, one of each kind.
func checkDistinct(all []*answer) {
	seen := map[string]bool{}
	for _, a := range all {
		if kind := masked(a); !seen[kind] {
			seen[kind] = true
			a.check()
		}
	}
}

// Ensure that whoever loses a key to a holder that gives it back at once still gets an answer: it acquires, or is told
// that the key is held. Each acquisition is one of its own.
func TestReservesAgainstReleases(t *testing.T) {
	const callers, rounds = 8, 10
	eachStore(t, func(t *testing.T, s *server) {
		var mu sync.Mutex
		fences := map[string]bool{}
		concurrently(callers, func(i int) *answer {
			k := s.as(t, "acme").key("k")
			var a *answer
			for range rounds {
				if a = k.reserve(); a.status == 409 && a.what() == "in_progress" {
					continue
				}
				mu.Lock()
				if a.status != 201 || fences[a.text("lease.fence")] {
					t.Errorf("reserve: %d %s", a.status, a.raw)
				}
				fences[a.text("lease.fence")] = true
				mu.Unlock()
				if r := k.release(); r.status != 200 {
					t.Errorf("release: %d %s", r.status, r.raw)
				}
			}
			return a
		})
		if len(fences) == 0 {
			t.Error("nobody acquired")
		}
	})
}

// Ensure that a mismatch is told as such, before and whatever else: also to those who lose the race for a fresh key.
func TestMismatchIsToldBeforeInProgress(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		answers := concurrently(20, func(i int) *answer {
			return k.call("reserve", k.name, attempt(i), fields{"fingerprint": []string{mine, other}[i%2]})
		})
		if answers["201 acquired"] != 1 || answers["409 in_progress"] != 9 || answers["422 fingerprint_mismatch"] != 10 {
			t.Errorf("answers: %v", answers)
		}
		settled := s.as(t, "acme").key("settled")
		live(settled)
		settled.reserve(fields{"fingerprint": other}).want(422, "fingerprint_mismatch")
		settled.reserve().want(409, "in_progress").wantAt("retry_after_ms", "2000")
		settled.complete().want(200, "completed")
		settled.reserve(fields{"fingerprint": other}).want(422, "fingerprint_mismatch")
		settled.reserve().want(200, "replay")
	})
}

// Ensure that clients who work through the same keys in opposite orders do not stop each other.
func TestOppositeOrdersDoNotDeadlock(t *testing.T) {
	const keys, clients = 10, 4
	eachStore(t, func(t *testing.T, s *server) {
		held := make([]*key, keys)
		for i := range held {
			held[i] = s.as(t, "acme").key(fmt.Sprint("k-", i))
			live(held[i])
		}
		answers := concurrently(clients, func(client int) (a *answer) {
			for round := range keys {
				i := round
				if client%2 == 1 {
					i = keys - 1 - round
				}
				if a = held[i].heartbeat(); a.status != 200 {
					return a
				}
				if a = held[i].complete(); a.status != 200 && a.what() != "lease_lost" {
					return a
				}
				a = held[i].complete()
			}
			return a
		})
		for what := range answers {
			if what != "200 completed" && what != "409 lease_lost" { // a heartbeat may come after the settlement
				t.Errorf("answers: %v", answers)
			}
		}
		for _, k := range held {
			k.complete().want(200, "completed")
		}
	})
}

// Ensure that a repeat at the same time, as of a caller that was impatient, is one acquisition and one settlement.
func TestRepeatsAtOnceAreOneAcquisition(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		var mu sync.Mutex
		tokens := map[string]bool{}
		answers := concurrently(20, func(int) *answer {
			a := k.call("reserve", k.name, fields{"fingerprint": mine}, attempt(1))
			mu.Lock()
			defer mu.Unlock()
			tokens[a.text("lease.token")] = true
			return a
		})
		if answers["201 acquired"] != 20 || len(tokens) != 1 {
			t.Errorf("answers: %v, with %d tokens", answers, len(tokens))
		}
		k.reserve(attempt(1))
		answers = concurrently(20, func(int) *answer { return k.complete(fields{"response": response()}) })
		if answers["200 completed"] != 20 {
			t.Errorf("answers: %v", answers)
		}
	})
}
