package linear

import (
	"cmp"
	"slices"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// foresight is what the answers of a whole history say about acquisitions. It keeps the search from trying that a
// reserve without an answer acquired the name where somebody would have had to see something else later: each of them
// could otherwise have taken over from each other, in every order.
type foresight struct {
	seen []sighting // by their fences, which is the order in which they happened
	told int        // answers that tell of the record, or that there is none
	// shortest is the shortest lease of a reserve without an answer.
	shortest time.Duration
}

// sighting is an acquisition that an answer showed.
type sighting struct {
	fence     int64
	attempt   int
	claimed   bool // a reserve was answered with it
	attemptID string
}

// foresee gathers what answers showed.
func foresee(ops []*Op) *foresight {
	f := &foresight{}
	at := map[int64]int{}
	for _, o := range ops {
		if o.Answer == nil {
			f.noteLease(o.Call)
			continue
		}
		if o.Answer.tells() {
			f.told++
		}
		seen := o.Answer.Seen
		if seen == nil {
			continue
		}
		i, ok := at[seen.Fence]
		if !ok {
			i = len(f.seen)
			at[seen.Fence] = i
			f.seen = append(f.seen, sighting{fence: seen.Fence, attempt: seen.Attempt})
		}
		if c, ok := o.Call.(storage.Reserve); ok && o.Answer.Outcome == storage.OutcomeAcquired {
			f.seen[i].claimed, f.seen[i].attemptID = true, c.AttemptID
		}
	}
	slices.SortFunc(f.seen, func(a, b sighting) int { return cmp.Compare(a.fence, b.fence) })
	return f
}

// allows tells whether a reserve without an answer may have made n's latest acquisition. Until somebody sees the record
// nobody can end it, because nobody knows its version. So the next acquisition that was seen and has no lower attempt is
// this very one, or a later one of the same record; if none was seen, then nobody is told of the record any more.
func (f *foresight) allows(n state) bool {
	from, _ := slices.BinarySearchFunc(f.seen, n.floor, func(s sighting, floor int64) int { return cmp.Compare(s.fence, floor) })
	before := 0
	for _, s := range f.seen[from:] {
		switch {
		case s.attempt < before: // of the next record
			return false
		case s.attempt > n.attempt:
			return f.mayLapse(n, s)
		case s.attempt == n.attempt:
			return !s.claimed || s.attemptID != "" && s.attemptID == n.attemptID
		}
		before = s.attempt
	}
	return n.told == f.told
}

// mayLapse tells whether n's latest acquisition, which nobody saw, and all between it and one that was seen, may have
// lapsed before that: who does not know their tokens cannot end them otherwise. No instant is after its fence.
func (f *foresight) mayLapse(n state, s sighting) bool {
	if n.token != (storage.Token{}) {
		return true // its caller chose it, and can use it without an answer
	}
	between := time.Duration(s.attempt - n.attempt - 1)
	return !n.end.from.Add(between * f.shortest).After(time.UnixMicro(s.fence))
}

func (f *foresight) noteLease(c storage.Call) {
	if r, ok := c.(storage.Reserve); ok && (f.shortest == 0 || r.Lease < f.shortest) {
		f.shortest = r.Lease
	}
}

// tells tells whether an answer says where the name stands. A mismatch without a record does not.
func (a *Answer) tells() bool {
	return a.Seen != nil || a.Outcome != storage.OutcomeFingerprintMismatch
}
