package storagetest

import (
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that a heartbeat makes the holder's position stronger and never weaker.

var heartbeatPromises = []promise{
	aHeartbeatExtendsTheLease,
	aHeartbeatNeverShortensTheLease,
	aHeartbeatWithoutLeaseTakesThatOfTheAcquisition,
	theOwnersHeartbeatRevivesALapsedLease,
	aHeartbeatAfterATakeoverIsRefused,
	aHeartbeatTurnsRetryIntoHold,
	noHeartbeatTurnsHoldIntoRetry,
	onlyARecordInProgressCanBeRenewed,
}

func aHeartbeatExtendsTheLease(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.live(n)
	before := f.record(n)
	a := f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Lease: 3 * long})

	want := *before
	want.UpdatedAt, want.LeaseExpiresAt = a.Now, a.Now.Add(3*long)
	want.ExpiresAt = want.LeaseExpiresAt.Add(holder.Retention)
	want.SweepHour = storage.SweepHourOf(want.ExpiresAt)
	want.Revision = a.Record.Revision
	f.same("the answer's record", a.Record, &want)
	f.same("the stored record", f.record(n), &want)
}

func aHeartbeatNeverShortensTheLease(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.live(n)
	end := f.record(n).LeaseExpiresAt
	for _, lease := range []time.Duration{brief, time.Minute, long / 2} {
		r := f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Lease: lease}).Record
		f.same("the end in the answer", r.LeaseExpiresAt, end)
		f.same("the stored end", f.record(n).LeaseExpiresAt, end)
	}
}

// Not that of an earlier heartbeat.
func aHeartbeatWithoutLeaseTakesThatOfTheAcquisition(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.lapsed(n, storage.Retry)
	f.passes(f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Lease: 20 * brief}).Record.LeaseExpiresAt)
	a := f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token})
	f.same("the end of the lease", a.Record.LeaseExpiresAt, a.Now.Add(holder.Lease))
}

func theOwnersHeartbeatRevivesALapsedLease(_ *testing.T, f *fixture) {
	f.inEach(whenLapsed, func(f *fixture, n storage.Name, holder storage.Reserve) {
		before := f.record(n)
		a := f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Lease: long})
		f.same("the state", a.Record.StateAt(a.Now), storage.InProgress)
		f.same("the end of the lease", a.Record.LeaseExpiresAt, a.Now.Add(long))
		f.same("the fence", a.Record.Fence, before.Fence)
		f.same("the attempt", a.Record.Attempt, 1)
		f.want(storage.OutcomeInProgress, reserve(n))
		f.want(storage.OutcomeSettled, complete(n, holder.Token))
	})
}

func aHeartbeatAfterATakeoverIsRefused(_ *testing.T, f *fixture) {
	n := f.name()
	old := f.lapsed(n, storage.Retry)
	successor := f.live(n)
	f.changesNothing(n, func() {
		f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: n, Token: old.Token, Lease: 9 * long, Hold: true,
			Checkpoint: progress(99, "stale")})
	})
	f.want(storage.OutcomeSettled, complete(n, successor.Token))
}

// The point of no return: from then on nobody takes over.
func aHeartbeatTurnsRetryIntoHold(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.lapsed(n, storage.Retry)
	a := f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Hold: true, Lease: brief})
	f.same("the policy", a.Record.OnLapse, storage.Hold)
	f.passes(a.Record.LeaseExpiresAt)
	f.want(storage.OutcomeUncertain, reserve(n))
	f.want(storage.OutcomeSettled, complete(n, holder.Token))
}

func noHeartbeatTurnsHoldIntoRetry(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.lapsed(n, storage.Hold)
	a := f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Lease: brief, Checkpoint: progress(1, "x")})
	f.same("the policy", a.Record.OnLapse, storage.Hold)
	f.passes(a.Record.LeaseExpiresAt)
	f.want(storage.OutcomeUncertain, reserve(n))
}

func onlyARecordInProgressCanBeRenewed(_ *testing.T, f *fixture) {
	f.inEach(append([]condition{whenReleased}, whenSettled...), func(f *fixture, n storage.Name, holder storage.Reserve) {
		f.changesNothing(n, func() {
			f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: n, Token: holder.Token, Checkpoint: progress(1, "x")})
		})
	})
	n := f.name()
	f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: n, Token: storage.NewToken()})
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
}
