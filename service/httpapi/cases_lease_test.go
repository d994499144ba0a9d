package httpapi_test

import (
	"fmt"
	"testing"
	"time"
)

// Ensure that a caller whose answer was lost gets its own lease by asking again, and nobody else does.
func TestLostAnswerToReserveDoesNotLockTheCallerOut(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		lost := k.reserve(attempt(1)).want(201, "acquired")
		again := k.reserve(attempt(1)).want(201, "acquired")
		for _, same := range []string{"lease.token", "lease.fence", "lease.attempt"} {
			again.wantAt(same, lost.text(same))
		}
		k.reserve(attempt(2)).want(409, "in_progress")
		k.reserve().want(409, "in_progress")
		k.complete().want(200, "completed")
	})
}

// Ensure that a lease which the store took long to write is not given out with less than half of it left.
func TestLeaseIsNotBornShort(t *testing.T) {
	const lease = 400 * time.Millisecond
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		abandoned(k)
		k.await("abandoned")
		answers := make(chan *answer)
		unlock := s.db.lock(t, "k")
		go func() { answers <- k.reserve(attempt(2), fields{"lease": lease.String()}) }()
		<-time.After(lease * 3 / 2) // the wait that is the case: longer than the lease
		unlock()
		a := (<-answers).want(201, "acquired").wantAt("lease.takeover", "true")
		if left := a.number("lease.remaining_ms"); left < lease.Milliseconds()/2 {
			t.Errorf("acquired with %d ms left of %s", left, lease)
		}
	})
}

// Ensure that a late heartbeat revives a lease only as long as nobody took over, and that complete agrees.
func TestLateHeartbeatAfterATakeoverIsLost(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		abandoned(k)
		k.await("abandoned")
		k.heartbeat(fields{"lease": brief}).want(200, "in_progress")
		k.await("abandoned")
		withEarlierToken(k, func() { k.reserve(attempt(2)).want(201, "acquired") })
		for range 2 {
			unchanged(k, func() *answer { return k.heartbeat() }).want(409, "lease_lost")
			unchanged(k, func() *answer { return k.complete() }).want(409, "lease_lost")
		}
	})
}

// Ensure that a stale worker gets through no gap: not while another holds the key, not after that one gave it back, not
// after the record expired. Its own new acquisition gets another token and a higher fence.
func TestStaleWorkerIsFencedOff(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		lapsing(k, 1)
		first := k.await("abandoned")
		stale := func(when string) {
			t.Helper()
			for _, call := range []func(...fields) *answer{k.complete, k.release, k.heartbeat} {
				unchanged(k, func() *answer { return call() }).want(409, "lease_lost")
			}
		}
		var second *answer
		withEarlierToken(k, func() { second = k.reserve(attempt(2), fields{"retention": "1s"}).want(201, "acquired") })
		stale("held by another")
		withEarlierToken(k, func() {
			k.call("release", k.name, fields{"lease_token": second.text("lease.token")}).want(200, "released")
		})
		stale("given back")
		k.await("not_found")
		stale("expired")
		third := k.reserve(attempt(3)).want(201, "acquired").wantAt("record.attempt", "1")
		if a, b, c := first.number("record.fence"), second.number("lease.fence"), third.number("lease.fence"); a >= b || b >= c {
			t.Errorf("fences do not rise: %d, %d, %d", a, b, c)
		}
	})
}

// Ensure that an expired record is absent although it is not swept: another request may use the key, and one of two
// gets it.
func TestExpiredRecordDoesNotBlockTheKey(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		soonGone(k)
		k.await("not_found")
		if n := s.db.rows(t); n != 1 {
			t.Fatalf("%d rows, want the expired one", n)
		}
		codes := concurrently(2, func(i int) *answer {
			return s.as(t, "acme").key("k").reserve(attempt(i+1), fields{"fingerprint": other})
		})
		if codes["201 acquired"] != 1 || codes["409 in_progress"] != 1 {
			t.Errorf("two reserves of the expired key: %v", codes)
		}
	})
}

// Ensure that zero is not taken for nothing: omitted and null are the default, zero is refused.
func TestZeroIsNotTheDefault(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		for _, value := range []any{omitted, nil} {
			k := s.as(t, "acme").key("k-default")
			k.name["subject"] = map[bool]string{true: "null", false: "omitted"}[value == nil]
			a := k.reserve(fields{"lease": value, "retention": value}).want(201, "acquired")
			if left := a.time("lease.expires_at").Sub(a.time("record.created_at")); left != 30*time.Second {
				t.Errorf("lease %v is %s, want 30s", value, left)
			}
			done := k.complete(fields{"retention": value}).want(200, "completed")
			if kept := done.time("record.expires_at").Sub(done.time("record.settled_at")); kept != 24*time.Hour {
				t.Errorf("retention %v is %s, want 24h", value, kept)
			}
		}
		for _, field := range []string{"lease", "retention"} {
			for _, zero := range []any{"0s", "0ms", "0h", "00m", 0, ""} {
				k := s.as(t, "acme").key("k-zero")
				names(field)(k, k.reserve(fields{field: zero}).want(400, "invalid_request"))
			}
		}
	})
}

// Ensure that what the API tells of a record is what is stored, to the microsecond, and that no holder is refused for a
// rounded value.
func TestTimesAreToldAsTheyAreStored(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		for i := range 25 {
			k := s.as(t, "acme").key(fmt.Sprint("k-", i))
			a := k.reserve(attempt(1)).want(201, "acquired")
			k.lookup().wantAt("record.lease_expires_at", a.text("lease.expires_at")).wantAt("record.fence", a.text("lease.fence"))
			k.heartbeat().want(200, "in_progress").wantAt("lease.fence", a.text("lease.fence"))
			done := k.complete().want(200, "completed")
			k.lookup().wantAt("record.settled_at", done.text("record.settled_at")).wantAt("record.version", done.text("record.version"))
		}
	})
}

// Ensure that lease and retention are two things: after a crash the key is free when the lease ends, and the retention
// counts from the settlement, also when it is shorter than the lease.
func TestLeaseAndRetentionAreTwoThings(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		first := k.reserve(attempt(1), fields{"lease": brief, "retention": "24h"}).want(201, "acquired")
		k.await("abandoned")
		second := k.reserve(attempt(2), fields{"lease": "1h", "retention": "1s"}).want(201, "acquired").wantAt("lease.takeover", "true")
		if first.number("lease.fence") >= second.number("lease.fence") {
			t.Errorf("fences do not rise")
		}
		done := k.complete().want(200, "completed")
		if kept := done.time("record.expires_at").Sub(done.time("record.settled_at")); kept != time.Second {
			t.Errorf("kept for %s, want 1s", kept)
		}
	})
}

// Ensure that a release after the lease ended is a release like any other: kept for its retention from now, and the key
// is free. A takeover does not depend on the lease that the new caller asks for.
func TestLateReleaseIsNotBornExpired(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("k")
		abandoned(k)
		k.await("abandoned")
		a := k.release(fields{"reason": "late"}).want(200, "released")
		if kept := a.time("record.expires_at").Sub(a.time("record.updated_at")); kept != 24*time.Hour {
			t.Errorf("kept for %s, want 24h", kept)
		}
		k.lookup().want(200, "released").wantAt("record.last_error", "late")
		lapsing(k, 2)
		k.await("abandoned")
		k.reserve(attempt(3), fields{"lease": "1h"}).want(201, "acquired").wantAt("lease.attempt", "3")
	})
}
