package service

import (
	"context"

	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

// Result is what one request of a batch came to: the field of its kind is set, or Err.
type Result struct {
	Reservation *Reservation // reserve
	Grant       *Grant       // heartbeat
	Record      *Record      // complete, release, lookup
	Err         error
}

// Batch answers requests as if they had come one by one in their order, without waiting: a name may occur several times.
// Each needs its own scope, and one that is refused says nothing about another. They go to the store as one group.
func (s *Service) Batch(ctx context.Context, p auth.Principal, requests []Request) []Result {
	results := make([]Result, len(requests))
	var calls []storage.Call
	var at []int
	for i, r := range requests {
		call, err := r.call(s, p)
		if err != nil {
			results[i].Err = err
			continue
		}
		calls, at = append(calls, call), append(at, i)
		switch call.(type) {
		case storage.Complete, storage.Release:
			ctx = context.WithoutCancel(ctx) // a caller who hangs up now still means it
		}
	}
	if len(calls) == 0 {
		return results
	}
	answers := s.store.Apply(ctx, calls)
	s.confirmAll(ctx, answers)
	for n, i := range at {
		results[i] = result(p, calls[n], answers[n])
	}
	return results
}

// confirmAll extends the leases that came back with less than half of them left, as confirm does for one. A lease that was
// given up by a later request of the same batch cannot be, and is not taken again.
func (s *Service) confirmAll(ctx context.Context, answers []storage.Answer) {
	for range leaseTries {
		var calls []storage.Call
		var at []int
		for i, a := range answers {
			if isShort(a) {
				calls, at = append(calls, extension(a)), append(at, i)
			}
		}
		if len(calls) == 0 {
			return
		}
		for n, a := range s.store.Apply(ctx, calls) {
			if a.Outcome == storage.OutcomeRenewed {
				answers[at[n]] = acquiredAs(a)
			} else {
				answers[at[n]] = storage.Answer{Err: tooLate(a.Err)}
			}
		}
	}
	for i, a := range answers {
		if isShort(a) {
			answers[i] = storage.Answer{Err: tooLate(nil)}
		}
	}
}

// result turns an answer into what the request asked for.
func result(p auth.Principal, call storage.Call, a storage.Answer) (r Result) {
	if r.Err = answered(a); r.Err != nil {
		return r
	}
	switch call.(type) {
	case storage.Reserve:
		got, err := reservation(a)
		r.Reservation, r.Err = &got, err
	case storage.Heartbeat:
		got, err := renewed(a)
		r.Grant, r.Err = &got, err
	case storage.Complete:
		r.Record, r.Err = refOf(recordOf(a, storage.OutcomeSettled))
	case storage.Release:
		r.Record, r.Err = refOf(recordOf(a, storage.OutcomeReleased))
	case storage.Lookup:
		r.Record, r.Err = refOf(found(p, a))
	}
	return r
}

func refOf(r Record, err error) (*Record, error) { return &r, err }
