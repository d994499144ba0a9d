package httpapi

import (
	"context"
	"net/http"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service"
)

func (a *API) reserve(ctx context.Context, by caller, r *wire.ReserveRequest) (int, any, error) {
	request, err := reserveOf(r)
	if err != nil {
		return 0, nil, err
	}
	got, waiting, err := a.Service.ReserveOrWait(ctx, by.Principal, request)
	if waiting != nil {
		return 0, nil, &waits{waiting}
	}
	return reserveAnswer(got, err)
}

func (a *API) complete(ctx context.Context, by caller, r *wire.CompleteRequest) (int, any, error) {
	request, err := completeOf(r)
	if err != nil {
		return 0, nil, err
	}
	rec, err := a.Service.Complete(ctx, by.Principal, request)
	return recordAnswer(rec, err, false)
}

func (a *API) release(ctx context.Context, by caller, r *wire.ReleaseRequest) (int, any, error) {
	rec, err := a.Service.Release(ctx, by.Principal, releaseOf(r))
	return recordAnswer(rec, err, false)
}

func (a *API) heartbeat(ctx context.Context, by caller, r *wire.HeartbeatRequest) (int, any, error) {
	request, err := heartbeatOf(r)
	if err != nil {
		return 0, nil, err
	}
	got, err := a.Service.Heartbeat(ctx, by.Principal, request)
	return heartbeatAnswer(got, err)
}

func (a *API) lookup(ctx context.Context, by caller, r *wire.LookupRequest) (int, any, error) {
	rec, err := a.Service.Lookup(ctx, by.Principal, lookupOf(r))
	return recordAnswer(rec, err, true)
}

func reserveAnswer(got service.Reservation, err error) (int, any, error) {
	if err != nil {
		return 0, nil, err
	}
	if !got.Acquired {
		return http.StatusOK, wire.ReserveAnswer{Outcome: wire.OutcomeReplay, Record: record(got.Record, true)}, nil
	}
	l := leaseOf(got.Grant)
	return http.StatusCreated, wire.ReserveAnswer{Outcome: wire.OutcomeAcquired, Record: record(got.Record, false), Lease: &l}, nil
}

func heartbeatAnswer(got service.Grant, err error) (int, any, error) {
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, wire.HeartbeatAnswer{Record: record(got.Record, false), Lease: leaseOf(got)}, nil
}

// recordAnswer answers with a record alone, with its response where the call is for that.
func recordAnswer(r service.Record, err error, withResponse bool) (int, any, error) {
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, wire.RecordAnswer{Record: record(r, withResponse)}, nil
}
