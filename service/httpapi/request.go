package httpapi

import (
	"github.com/reprise-idempotency/reprise/client/fingerprint"
	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/storage"
)

// What a call says in JSON becomes what the service is asked, the same way for a single call and for one of a batch.

func reserveOf(r *wire.ReserveRequest) (q service.ReserveRequest, err error) {
	q = service.ReserveRequest{Name: name(r.Name), Fingerprint: r.Fingerprint, AttemptID: r.AttemptID, OnLapse: r.OnLapse, Holder: r.Holder}
	if q.Lease, err = duration("lease", r.Lease); err != nil {
		return q, err
	}
	if q.Retention, err = duration("retention", r.Retention); err != nil {
		return q, err
	}
	if q.Wait, err = duration("wait", r.Wait); err != nil {
		return q, err
	}
	q.Request, err = fingerprintRequest(r.Request)
	return q, err
}

func completeOf(r *wire.CompleteRequest) (q service.CompleteRequest, err error) {
	q = service.CompleteRequest{Name: name(r.Name), LeaseToken: r.LeaseToken, Result: r.Result, ResourceID: r.ResourceID}
	if q.Retention, err = duration("retention", r.Retention); err != nil {
		return q, err
	}
	q.Response, err = responseOf(r.Response, isTrue(r.ResponseDropped))
	return q, err
}

func releaseOf(r *wire.ReleaseRequest) service.ReleaseRequest {
	return service.ReleaseRequest{Name: name(r.Name), LeaseToken: r.LeaseToken, Reason: r.Reason, Forget: isTrue(r.Forget)}
}

func heartbeatOf(r *wire.HeartbeatRequest) (q service.HeartbeatRequest, err error) {
	q = service.HeartbeatRequest{Name: name(r.Name), LeaseToken: r.LeaseToken, OnLapse: r.OnLapse}
	if q.Lease, err = duration("lease", r.Lease); err != nil {
		return q, err
	}
	q.Checkpoint, err = checkpointOf(r.Checkpoint)
	return q, err
}

func lookupOf(r *wire.LookupRequest) service.LookupRequest {
	return service.LookupRequest{Name: name(r.Name), Fingerprint: r.Fingerprint}
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

// responseOf reads a response; dropped says that it had a body which was not sent.
func responseOf(given *wire.Response, dropped bool) (*service.Response, error) {
	if given == nil && !dropped {
		return nil, nil
	}
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

func isTrue(b *bool) bool { return b != nil && *b }
