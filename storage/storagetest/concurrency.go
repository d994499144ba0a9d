package storagetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that, whoever meets whom on one name, at most one lease is live and at most one settlement accepted.

var concurrencyPromises = []promise{
	concurrentRepeatsGetOneLease,
	theLoserOfARaceStillSeesAMismatch,
	completeAndTakeoverNeverBothSucceed,
	oneOfTwoSettlementsIsAccepted,
	completeAndReleaseNeverBothSucceed,
	concurrentHeartbeatsNeverShortenALease,
	concurrentCheckpointsOnlyRise,
	aHeartbeatNeverUndoesASettlement,
	aLeaseIsNeverGrantedTwice,
}

const races = 15 // how often two calls are sent against each other

// A client that repeats before the first answer came has one lease all the same.
func concurrentRepeatsGetOneLease(_ *testing.T, f *fixture) {
	for range races {
		n := f.name()
		c := reserve(n)
		calls := make([]storage.Call, 8)
		for i := range calls {
			c.Token = storage.NewToken()
			calls[i] = c
		}
		answers := f.atOnce(calls...)
		f.same("acquired", count(answers, storage.OutcomeAcquired), len(calls))
		for _, a := range answers {
			f.same("the lease", [2]any{a.Record.Token, a.Record.Fence}, [2]any{answers[0].Record.Token, answers[0].Record.Fence})
		}
	}
}

func theLoserOfARaceStillSeesAMismatch(_ *testing.T, f *fixture) {
	for range races {
		n := f.name()
		calls := make([]storage.Call, 8)
		for i := range calls {
			c := reserve(n)
			c.Fingerprint = fmt.Sprint("fp-", i)
			calls[i] = c
		}
		answers := f.atOnce(calls...)
		if a, b := count(answers, storage.OutcomeAcquired), count(answers, storage.OutcomeFingerprintMismatch); a != 1 || b != len(calls)-1 {
			f.t.Fatalf("%d acquired and %d were refused for their fingerprint", a, b)
		}
	}
}

func completeAndTakeoverNeverBothSucceed(_ *testing.T, f *fixture) {
	for range races {
		n := f.name()
		old := f.lapsed(n, storage.Retry)
		successor := reserve(n)
		answers := f.atOnce(complete(n, old.Token), successor)
		done, taken := answers[0].Outcome, answers[1].Outcome
		switch {
		case done == storage.OutcomeSettled && taken == storage.OutcomeReplay:
			f.want(storage.OutcomeReplay, reserve(n))
		case done == storage.OutcomeLeaseLost && taken == storage.OutcomeAcquired:
			f.want(storage.OutcomeSettled, complete(n, successor.Token))
		default:
			f.t.Fatalf("complete: %v; takeover: %v", done, taken)
		}
	}
}

func oneOfTwoSettlementsIsAccepted(_ *testing.T, f *fixture) {
	for range races {
		n := f.name()
		c := f.live(n)
		one, two := complete(n, c.Token), complete(n, c.Token)
		two.ResultHash, two.ResourceID, two.Result = []byte("hash-2"), "order-2", storage.Failed
		answers := f.atOnce(one, two, one, two)
		if a, b := count(answers, storage.OutcomeSettled), count(answers, storage.OutcomeAlreadyCompleted); a != 2 || b != 2 {
			f.t.Fatalf("settled %d times, refused %d times", a, b)
		}
		if answers[0].Outcome != answers[2].Outcome || answers[1].Outcome != answers[3].Outcome {
			f.t.Fatalf("one settlement was answered in two ways: %v", answers)
		}
		r := f.record(n)
		for _, a := range answers {
			f.same("the record that everybody saw", a.Record, r)
		}
	}
}

func completeAndReleaseNeverBothSucceed(_ *testing.T, f *fixture) {
	for range races {
		n := f.name()
		c := f.live(n)
		answers := f.atOnce(complete(n, c.Token), storage.Release{Name: n, Token: c.Token})
		done, back := answers[0].Outcome, answers[1].Outcome
		settled := done == storage.OutcomeSettled && back == storage.OutcomeAlreadyCompleted
		released := done == storage.OutcomeLeaseLost && back == storage.OutcomeReleased
		if !settled && !released {
			f.t.Fatalf("complete: %v; release: %v", done, back)
		}
		f.same("settled", f.record(n).State.Settled(), settled)
	}
}

func concurrentHeartbeatsNeverShortenALease(_ *testing.T, f *fixture) {
	for range races {
		n := f.name()
		c := f.live(n)
		calls := make([]storage.Call, 8)
		for i := range calls {
			calls[i] = storage.Heartbeat{Name: n, Token: c.Token, Lease: long + time.Duration((i*5)%8)*time.Minute}
		}
		end := f.record(n).LeaseExpiresAt
		for i, a := range f.atOnce(calls...) {
			if a.Outcome != storage.OutcomeRenewed {
				f.t.Fatalf("heartbeat: %v", a.Outcome)
			}
			if own := a.Now.Add(calls[i].(storage.Heartbeat).Lease); a.Record.LeaseExpiresAt.Before(own) {
				f.t.Errorf("a heartbeat was promised %v and got %v", own, a.Record.LeaseExpiresAt)
			}
			if a.Record.LeaseExpiresAt.After(end) {
				end = a.Record.LeaseExpiresAt
			}
		}
		f.same("the end of the lease, after the longest promise", f.record(n).LeaseExpiresAt, end)
	}
}

func concurrentCheckpointsOnlyRise(_ *testing.T, f *fixture) {
	for range races {
		n := f.name()
		c := f.live(n)
		calls := make([]storage.Call, 8)
		for i := range calls {
			seq := int64((i*5)%8 + 1)
			calls[i] = storage.Heartbeat{Name: n, Token: c.Token, Checkpoint: progress(seq, fmt.Sprint("data ", seq))}
		}
		for i, a := range f.atOnce(calls...) {
			if own := calls[i].(storage.Heartbeat).Checkpoint.Seq; a.Outcome != storage.OutcomeRenewed || a.Record.Checkpoint.Seq < own {
				f.t.Fatalf("%v with checkpoint %+v after %d was sent", a.Outcome, a.Record.Checkpoint, own)
			}
		}
		f.same("the checkpoint", f.record(n).Checkpoint, progress(8, "data 8"))
	}
}

func aHeartbeatNeverUndoesASettlement(_ *testing.T, f *fixture) {
	for range races {
		n := f.name()
		c := f.live(n)
		beat := storage.Heartbeat{Name: n, Token: c.Token, Lease: 2 * long, Checkpoint: progress(1, "x")}
		answers := f.atOnce(beat, complete(n, c.Token), beat)
		if answers[1].Outcome != storage.OutcomeSettled {
			f.t.Fatalf("complete: %v", answers[1].Outcome)
		}
		for _, i := range []int{0, 2} {
			if o := answers[i].Outcome; o != storage.OutcomeRenewed && o != storage.OutcomeLeaseLost {
				f.t.Fatalf("heartbeat: %v", o)
			}
		}
		f.same("the record", f.record(n), answers[1].Record)
	}
}

// Workers compete for one name for a while: each that is let in looks whether another is inside.
func aLeaseIsNeverGrantedTwice(_ *testing.T, f *fixture) {
	n := f.name()
	var mu sync.Mutex
	var inside, granted int
	var failure error
	step := func(change int) {
		mu.Lock()
		defer mu.Unlock()
		if inside += change; inside > 1 {
			failure = fmt.Errorf("%d holders of one name", inside)
		}
		granted += max(change, 0)
	}
	fail := func(call string, a storage.Answer) {
		mu.Lock()
		defer mu.Unlock()
		failure = fmt.Errorf("%s: %v, %v", call, a.Outcome, a.Err)
	}
	ctx := f.ctx()
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for range 60 {
				c := reserve(n)
				a := f.store.Apply(ctx, []storage.Call{c})[0]
				if a.Outcome == storage.OutcomeInProgress {
					continue
				}
				if a.Outcome != storage.OutcomeAcquired {
					fail("reserve", a)
					return
				}
				step(1)
				step(-1)
				if a := f.store.Apply(ctx, []storage.Call{storage.Release{Name: n, Token: c.Token}})[0]; a.Outcome != storage.OutcomeReleased {
					fail("release", a)
				}
			}
		})
	}
	all.Wait()
	if failure != nil {
		f.t.Fatal(failure)
	}
	f.same("the attempts", f.record(n).Attempt, granted)
}
