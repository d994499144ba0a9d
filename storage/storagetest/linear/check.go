package linear

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/reprise-idempotency/reprise/storage"
)

// Finding is a name whose history was not found to be linearizable.
type Finding struct {
	Name storage.Name
	// Undecided tells that the search did not come to its end in time: the history may be right.
	Undecided bool
	Ops       []*Op // as they were sent

	history []porcupine.Operation
}

// Check judges every name of a history, each within a limit of time that is for the search alone, and gives those that
// are not linearizable or undecided, in the order of their names.
func Check(ops []Op, limit time.Duration) (found []Finding) {
	names := byName(ops)
	var mu sync.Mutex
	var judges sync.WaitGroup
	queue := make(chan []*Op)
	for range runtime.GOMAXPROCS(0) {
		judges.Go(func() {
			for ops := range queue {
				if f, wrong := checkName(ops, limit); wrong {
					mu.Lock()
					found = append(found, f)
					mu.Unlock()
				}
			}
		})
	}
	for _, ops := range names {
		queue <- ops
	}
	close(queue)
	judges.Wait()
	slices.SortFunc(found, func(a, b Finding) int { return a.Name.Compare(b.Name) })
	return found
}

// byName gathers the calls on each name, as they were sent.
func byName(ops []Op) map[storage.Name][]*Op {
	names := map[storage.Name][]*Op{}
	for i := range ops {
		name := ops[i].Call.On()
		names[name] = append(names[name], &ops[i])
	}
	for _, ops := range names {
		slices.SortStableFunc(ops, func(a, b *Op) int { return cmp.Compare(a.Sent, b.Sent) })
	}
	return names
}

func checkName(ops []*Op, limit time.Duration) (f Finding, wrong bool) {
	f = Finding{Name: ops[0].Call.On(), Ops: ops, history: operations(ops)}
	result := porcupine.CheckOperationsTimeout(model, f.history, limit)
	f.Undecided = result == porcupine.Unknown
	return f, result != porcupine.Ok
}

// operations puts the calls on one name as porcupine wants them. A call without an answer returns after the end; it was
// decided before the last answer, or nobody saw what it did.
func operations(ops []*Op) []porcupine.Operation {
	var last int64
	var latest time.Time
	for _, o := range ops {
		if o.Answer != nil {
			last, latest = max(last, int64(o.Returned)), later(latest, o.Latest)
		}
	}
	var history []porcupine.Operation
	for _, in := range inputs(ops, latest) {
		returned := int64(in.Returned)
		if in.Answer == nil {
			returned = math.MaxInt64
		}
		history = append(history, porcupine.Operation{ClientId: in.Client, Input: *in, Call: int64(in.Sent), Output: in.Answer, Return: returned})
	}
	return append(history, porcupine.Operation{Input: theEnd{}, Call: last + 1, Output: (*Answer)(nil), Return: last + 2})
}

func inputs(ops []*Op, latest time.Time) []*input {
	seen := foresee(ops)
	calls := make([]*input, len(ops))
	for i, o := range ops {
		calls[i] = &input{Op: o, now: span{o.Earliest, o.Latest}, later: seen}
		if o.Answer == nil && !o.Bounded {
			calls[i].now.to = later(o.Earliest, latest)
		}
	}
	inOrder(calls)
	return calls
}
