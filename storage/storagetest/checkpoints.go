package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that a checkpoint only ever moves forward, and is there for whoever does the work next.

var checkpointPromises = []promise{
	onlyAHigherCheckpointReplacesOne,
	aHeartbeatWithoutCheckpointKeepsIt,
	aCheckpointSurvivesATakeover,
	aCheckpointSurvivesARelease,
	aSuccessorCountsOn,
	aLowCheckpointStillRenews,
}

func onlyAHigherCheckpointReplacesOne(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.live(n)
	note := func(seq int64, data string, want *storage.Checkpoint) {
		f.t.Helper()
		r := f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Checkpoint: progress(seq, data)}).Record
		f.same("the answer's checkpoint", r.Checkpoint, want)
		f.same("the stored checkpoint", f.record(n).Checkpoint, want)
	}
	note(-3, "the first may be anything", progress(-3, "the first may be anything"))
	note(-3, "equal", progress(-3, "the first may be anything"))
	note(5, "higher", progress(5, "higher"))
	note(4, "lower", progress(5, "higher"))
	note(maxInt, "", progress(maxInt, ""))
}

func aHeartbeatWithoutCheckpointKeepsIt(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.live(n)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Checkpoint: progress(2, "two")})
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Lease: 2 * long})
	f.same("the checkpoint", f.record(n).Checkpoint, progress(2, "two"))
}

func aCheckpointSurvivesATakeover(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.lapsed(n, storage.Retry)
	r := f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Lease: brief, Checkpoint: progress(2, "two")}).Record
	f.passes(r.LeaseExpiresAt)
	f.same("what the successor is given", f.want(storage.OutcomeAcquired, reserve(n)).Record.Checkpoint, progress(2, "two"))
	f.same("what is stored", f.record(n).Checkpoint, progress(2, "two"))
}

func aCheckpointSurvivesARelease(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.live(n)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Checkpoint: progress(2, "two")})
	f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: holder.Token})
	f.same("what the successor is given", f.want(storage.OutcomeAcquired, reserve(n)).Record.Checkpoint, progress(2, "two"))
}

// From the number that it was given, not from one.
func aSuccessorCountsOn(_ *testing.T, f *fixture) {
	n := f.name()
	first := f.live(n)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: first.Token, Checkpoint: progress(5, "five")})
	f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: first.Token})
	second := f.live(n)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: second.Token, Checkpoint: progress(1, "one")})
	f.same("after a lower one", f.record(n).Checkpoint, progress(5, "five"))
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: second.Token, Checkpoint: progress(6, "six")})
	f.same("after a higher one", f.record(n).Checkpoint, progress(6, "six"))
}

func aLowCheckpointStillRenews(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.live(n)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Checkpoint: progress(5, "five")})
	a := f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: holder.Token, Lease: 4 * long, Checkpoint: progress(5, "again")})
	f.same("the end of the lease", f.record(n).LeaseExpiresAt, a.Now.Add(4*long))
}
