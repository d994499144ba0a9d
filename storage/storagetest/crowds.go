package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that of any number of callers who want a name at the same time, one gets it, and all are answered.

var crowdPromises = []promise{
	oneOfAThousandAcquiresAFreshName,
	oneOfAThousandAcquiresAnExpiredRow,
	oneOfAThousandTakesOver,
	oneOfAThousandAcquiresAReleasedRecord,
}

const crowd = 1000

// crowdReserves lets a crowd reserve a name that is free to be acquired.
func (f *fixture) crowdReserves(n storage.Name) []storage.Answer {
	f.t.Helper()
	calls := make([]storage.Call, crowd)
	for i := range calls {
		calls[i] = reserve(n)
	}
	answers := f.atOnce(calls...)
	if a, b := count(answers, storage.OutcomeAcquired), count(answers, storage.OutcomeInProgress); a != 1 || b != crowd-1 {
		f.t.Errorf("%d acquired and %d were told that it is busy", a, b)
	}
	r := f.record(n)
	for _, a := range answers {
		f.same("the record that everybody saw", a.Record, r)
	}
	return answers
}

func oneOfAThousandAcquiresAFreshName(_ *testing.T, f *fixture) {
	n := f.name()
	f.crowdReserves(n)
	f.same("the attempt", f.record(n).Attempt, 1)
}

func oneOfAThousandAcquiresAnExpiredRow(_ *testing.T, f *fixture) {
	n := f.name()
	_, old := f.expired(n)
	f.crowdReserves(n)
	r := f.record(n)
	f.same("the attempt", r.Attempt, 1)
	if r.Fence <= old.Fence {
		f.t.Errorf("the fence went from %d to %d", old.Fence, r.Fence)
	}
}

func oneOfAThousandTakesOver(_ *testing.T, f *fixture) {
	n := f.name()
	f.lapsed(n, storage.Retry)
	f.crowdReserves(n)
	r := f.record(n)
	if r.Attempt != 2 || !r.Takeover {
		f.t.Errorf("taken over as attempt %d, takeover %v", r.Attempt, r.Takeover)
	}
}

func oneOfAThousandAcquiresAReleasedRecord(_ *testing.T, f *fixture) {
	n := f.name()
	f.released(n)
	f.crowdReserves(n)
	f.same("the attempt", f.record(n).Attempt, 2)
}
