package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that Lookup tells what is there, and does nothing else.

var lookupPromises = []promise{
	lookupFindsEveryState,
	lookupComparesTheFingerprint,
	lookupChangesNothing,
	lookupOfANameNeverMadeIsAbsent,
	eachAnswerShowsWhatIsStored,
}

var stateOf = map[string]storage.State{"live": storage.InProgress, "abandoned": storage.Abandoned,
	"uncertain": storage.Uncertain, "released": storage.Released, "completed": storage.Completed,
	"failed": storage.Failed, "response dropped": storage.Completed}

func lookupFindsEveryState(_ *testing.T, f *fixture) {
	for _, c := range whenever {
		n := f.name()
		holder := c.make(f, n)
		a := f.want(storage.OutcomeFound, storage.Lookup{Name: n})
		f.same("the state of a record that is "+c.name, a.Record.StateAt(a.Now), stateOf[c.name])
		f.same("its name", a.Record.Name, n)
		f.same("its token", a.Record.Token, holder.Token)
	}
}

// Nothing beside the outcome tells a stranger what the record holds; an empty fingerprint compares nothing.
func lookupComparesTheFingerprint(_ *testing.T, f *fixture) {
	f.inEach(whenever, func(f *fixture, n storage.Name, holder storage.Reserve) {
		f.want(storage.OutcomeFound, storage.Lookup{Name: n, Fingerprint: holder.Fingerprint})
		f.want(storage.OutcomeFound, storage.Lookup{Name: n})
		f.want(storage.OutcomeFingerprintMismatch, storage.Lookup{Name: n, Fingerprint: "fp-2"})
		f.want(storage.OutcomeFingerprintMismatch, storage.Lookup{Name: n, Fingerprint: holder.Fingerprint + " "})
	})
}

func lookupChangesNothing(_ *testing.T, f *fixture) {
	f.inEach(whenever, func(f *fixture, n storage.Name, _ storage.Reserve) {
		f.changesNothing(n, func() {
			for range 5 {
				f.want(storage.OutcomeFound, storage.Lookup{Name: n})
			}
		})
	})
}

func lookupOfANameNeverMadeIsAbsent(_ *testing.T, f *fixture) {
	n := f.name()
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n, Fingerprint: "fp-1"})
}

// An answer is not what was sent to the database but what it holds: to the microsecond, to the last byte.
func eachAnswerShowsWhatIsStored(_ *testing.T, f *fixture) {
	n := f.name()
	stored := func(a storage.Answer) {
		f.t.Helper()
		f.same("what is stored", f.record(n), a.Record)
	}
	first := reserve(n)
	stored(f.want(storage.OutcomeAcquired, first))
	stored(f.want(storage.OutcomeAcquired, first))
	stored(f.want(storage.OutcomeInProgress, reserve(n)))
	stored(f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: first.Token, Lease: 2 * long, Checkpoint: progress(1, "é")}))
	stored(f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: first.Token, Hold: true}))
	stored(f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: first.Token, Reason: "no"}))
	stored(f.want(storage.OutcomeLeaseLost, first))
	second := reserve(n)
	stored(f.want(storage.OutcomeAcquired, second))
	stored(f.want(storage.OutcomeSettled, complete(n, second.Token)))
	stored(f.want(storage.OutcomeSettled, complete(n, second.Token)))
	stored(f.want(storage.OutcomeReplay, reserve(n)))
	stored(f.want(storage.OutcomeAlreadyCompleted, storage.Release{Name: n, Token: second.Token}))
}
