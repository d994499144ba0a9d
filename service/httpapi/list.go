package httpapi

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/storage"
)

func (a *API) list(ctx context.Context, by caller, q query) (any, error) {
	r := service.ListRequest{Tenant: q.text("tenant"), Operation: q.text("operation"), Subject: q.text("subject"), Key: q.text("key"),
		KeyPrefix: q.text("key_prefix"), State: q.text("state"), Cursor: q.text("cursor")}
	var err error
	if r.CreatedAfter, err = q.instant("created_after"); err != nil {
		return nil, err
	}
	if r.CreatedBefore, err = q.instant("created_before"); err != nil {
		return nil, err
	}
	if r.Limit, err = q.integer("limit"); err != nil {
		return nil, err
	}
	page, err := a.Service.List(ctx, by.Principal, r)
	if err != nil {
		return nil, err
	}
	answer := wire.ListAnswer{Keys: make([]wire.Record, len(page.Records)), NextCursor: orNil(page.Cursor)}
	for i, rec := range page.Records {
		answer.Keys[i] = record(rec, false)
	}
	return answer, nil
}

func (a *API) stats(ctx context.Context, by caller, q query) (any, error) {
	stats, err := a.Service.Stats(ctx, by.Principal, service.StatsRequest{Tenant: q.text("tenant"), Operation: q.text("operation")})
	if err != nil {
		return nil, err
	}
	answer := wire.StatsAnswer{AsOf: timeText(stats.Now), States: map[string]wire.Count{}}
	for state := storage.InProgress; state <= storage.Uncertain; state++ {
		c := stats.States[state]
		answer.States[state.String()] = wire.Count{Count: c.N, AtLeast: c.AtLeast, Oldest: oldest(c.Oldest)}
	}
	return answer, nil
}

func oldest(r *storage.Record) *wire.Oldest {
	if r == nil {
		return nil
	}
	return &wire.Oldest{Operation: r.Operation, Subject: r.Subject, Key: r.Key, CreatedAt: timeText(r.CreatedAt), LeaseExpiresAt: timeText(r.LeaseExpiresAt)}
}

// query is the parameters of a call that reads, each given once.
type query url.Values

// text gives a parameter; nil when it was not given.
func (q query) text(name string) *string {
	if values, ok := q[name]; ok {
		return &values[0]
	}
	return nil
}

func (q query) integer(name string) (*int, error) {
	s := q.text(name)
	if s == nil {
		return nil, nil
	}
	n, err := strconv.Atoi(*s)
	if err != nil || strconv.Itoa(n) != *s {
		return nil, service.Invalid(name, "must be a whole number")
	}
	return &n, nil
}

func (q query) instant(name string) (*time.Time, error) {
	s := q.text(name)
	if s == nil {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339Nano, *s)
	if err != nil || !instantForm.MatchString(*s) || t.Year() < 1970 || t.Year() > 9999 {
		return nil, service.Invalid(name, "must be a time such as 2026-01-31T12:00:00Z (RFC 3339), from 1970 to 9999")
	}
	return &t, nil
}
