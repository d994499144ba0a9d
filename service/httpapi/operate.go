package httpapi

import (
	"context"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/storage"
)

func (a *API) resolve(ctx context.Context, by caller, r *wire.ResolveRequest) (int, any, error) {
	response, err := responseOf(r.Response, false)
	if err != nil {
		return 0, nil, err
	}
	rec, err := a.Service.Resolve(ctx, by.Principal, service.ResolveRequest{Name: name(r.Name), Tenant: r.Tenant, To: r.To, Version: r.Version,
		Reason: r.Reason, Response: response, ResourceID: r.ResourceID, Force: isTrue(r.Force), Origin: by.Origin})
	return recordAnswer(rec, err, true)
}

func (a *API) expire(ctx context.Context, by caller, r *wire.ExpireRequest) (int, any, error) {
	rec, err := a.Service.Expire(ctx, by.Principal, service.ExpireRequest{Name: name(r.Name), Tenant: r.Tenant, Version: r.Version,
		Reason: r.Reason, Origin: by.Origin})
	return recordAnswer(rec, err, true)
}

func (a *API) audit(ctx context.Context, by caller, q query) (any, error) {
	limit, err := q.integer("limit")
	if err != nil {
		return nil, err
	}
	page, err := a.Service.Audit(ctx, by.Principal, service.AuditRequest{Tenant: q.text("tenant"), Operation: q.text("operation"), Subject: q.text("subject"),
		Key: q.text("key"), Limit: limit, Cursor: q.text("cursor")})
	if err != nil {
		return nil, err
	}
	answer := wire.AuditAnswer{Acts: make([]wire.Act, len(page.Acts)), NextCursor: orNil(page.Cursor)}
	for i, act := range page.Acts {
		answer.Acts[i] = actOf(act)
	}
	return answer, nil
}

func actOf(a storage.Act) wire.Act {
	return wire.Act{ID: a.ActID, At: timeText(a.At), Action: a.Action.String(), Actor: a.Actor, Address: a.Address, RequestID: a.RequestID,
		Tenant: a.Tenant, Operation: a.Operation, Subject: a.Subject, Key: a.Key, Reason: a.Reason,
		Before: standing(a.Before), After: standing(a.After)}
}

func standing(s storage.Standing) wire.Standing {
	return wire.Standing{State: s.State.String(), Version: s.Version, Attempt: s.Attempt, Fence: s.Fence}
}
