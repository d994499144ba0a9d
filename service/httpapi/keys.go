package httpapi

import (
	"context"
	"net/http"

	"github.com/reprise-idempotency/reprise/client/fingerprint"
	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
)

func (a *API) reserve(ctx context.Context, p auth.Principal, r *wire.ReserveRequest) (int, any, error) {
	lease, err := duration("lease", r.Lease)
	if err != nil {
		return 0, nil, err
	}
	retention, err := duration("retention", r.Retention)
	if err != nil {
		return 0, nil, err
	}
	request, err := fingerprintRequest(r.Request)
	if err != nil {
		return 0, nil, err
	}
	got, err := a.Service.Reserve(ctx, p, service.ReserveRequest{Name: name(r.Name), Fingerprint: r.Fingerprint, Request: request,
		AttemptID: r.AttemptID, Lease: lease, Retention: retention, OnLapse: r.OnLapse, Holder: r.Holder})
	if err != nil {
		return 0, nil, err
	}
	if !got.Acquired {
		return http.StatusOK, wire.ReserveAnswer{Outcome: wire.OutcomeReplay, Record: record(got.Record, true)}, nil
	}
	l := leaseOf(got.Grant)
	return http.StatusCreated, wire.ReserveAnswer{Outcome: wire.OutcomeAcquired, Record: record(got.Record, false), Lease: &l}, nil
}

func (a *API) complete(ctx context.Context, p auth.Principal, r *wire.CompleteRequest) (int, any, error) {
	retention, err := duration("retention", r.Retention)
	if err != nil {
		return 0, nil, err
	}
	response, err := responseOf(r)
	if err != nil {
		return 0, nil, err
	}
	rec, err := a.Service.Complete(ctx, p, service.CompleteRequest{Name: name(r.Name), LeaseToken: r.LeaseToken, Result: r.Result,
		Response: response, ResourceID: r.ResourceID, Retention: retention})
	return recordAnswer(rec, err, false)
}

func (a *API) release(ctx context.Context, p auth.Principal, r *wire.ReleaseRequest) (int, any, error) {
	rec, err := a.Service.Release(ctx, p, service.ReleaseRequest{Name: name(r.Name), LeaseToken: r.LeaseToken, Reason: r.Reason,
		Forget: r.Forget != nil && *r.Forget})
	return recordAnswer(rec, err, false)
}

func (a *API) heartbeat(ctx context.Context, p auth.Principal, r *wire.HeartbeatRequest) (int, any, error) {
	lease, err := duration("lease", r.Lease)
	if err != nil {
		return 0, nil, err
	}
	checkpoint, err := checkpointOf(r.Checkpoint)
	if err != nil {
		return 0, nil, err
	}
	got, err := a.Service.Heartbeat(ctx, p, service.HeartbeatRequest{Name: name(r.Name), LeaseToken: r.LeaseToken, Lease: lease,
		Checkpoint: checkpoint, OnLapse: r.OnLapse})
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, wire.HeartbeatAnswer{Record: record(got.Record, false), Lease: leaseOf(got)}, nil
}

func (a *API) lookup(ctx context.Context, p auth.Principal, r *wire.LookupRequest) (int, any, error) {
	rec, err := a.Service.Lookup(ctx, p, service.LookupRequest{Name: name(r.Name), Fingerprint: r.Fingerprint})
	return recordAnswer(rec, err, true)
}

// recordAnswer answers with a record alone, with its response where the call is for that.
func recordAnswer(r service.Record, err error, withResponse bool) (int, any, error) {
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, wire.RecordAnswer{Record: record(r, withResponse)}, nil
}

func name(n wire.Name) service.Name {
	return service.Name{Operation: n.Operation, Subject: n.Subject, Key: n.Key}
}

func fingerprintRequest(r *wire.Request) (*fingerprint.Request, error) {
	if r == nil {
		return nil, nil
	}
	body, err := bytesOf("request", r.Body, r.BodyEncoding)
	return &fingerprint.Request{Method: valueOf(r.Method), Target: valueOf(r.Target), Headers: r.Headers,
		ContentType: valueOf(r.ContentType), Body: body}, err
}

func responseOf(r *wire.CompleteRequest) (*service.Response, error) {
	dropped := r.ResponseDropped != nil && *r.ResponseDropped
	if r.Response == nil && !dropped {
		return nil, nil
	}
	given := r.Response
	if given == nil {
		given = &wire.Response{}
	}
	body, err := bytesOf("response", given.Body, given.BodyEncoding)
	return &service.Response{Status: given.Status, Headers: given.Headers, Body: body, BodyDropped: dropped}, err
}

func checkpointOf(c *wire.Checkpoint) (*storage.Checkpoint, error) {
	switch {
	case c == nil:
		return nil, nil
	case c.Data == nil:
		return nil, service.Invalid("checkpoint.data", "is required")
	}
	return &storage.Checkpoint{Seq: c.Seq, Data: *c.Data}, nil
}

func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
