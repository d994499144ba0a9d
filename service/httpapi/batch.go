package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service"
)

// batchRequest is the envelope of a batch; each call is read by itself, so that a mistake in one is that call's alone.
type batchRequest struct {
	Calls []jsontext.Value `json:"calls"`
}

// strictBatch reads the envelope. Text that cannot be decoded, and a name that is given twice, are left to the reading of the
// call that they are in.
func strictBatch(body []byte, into *batchRequest) error {
	seen := false
	once := json.UnmarshalFromFunc(func(*jsontext.Decoder, *[]jsontext.Value) error {
		if seen {
			return jsontext.ErrDuplicateName
		}
		seen = true
		return errors.ErrUnsupported // read it as usual
	})
	return decode(body, into, json.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), json.WithUnmarshalers(once))
}

func (a *API) batch(ctx context.Context, by caller, r *batchRequest) (int, any, error) {
	if most := a.Service.Limits().BatchCalls; len(r.Calls) == 0 || len(r.Calls) > most {
		return 0, nil, service.Invalid("calls", "has %d calls; it must have 1 to %d", len(r.Calls), most)
	}
	b := batch{by: by, kinds: make([]string, len(r.Calls)), results: make([]wire.BatchResult, len(r.Calls))}
	var requests []service.Request
	var at []int
	for i, text := range r.Calls {
		kind, request, err := callOf(text)
		b.kinds[i] = kind
		if err != nil {
			b.refuse(i, err)
			continue
		}
		requests, at = append(requests, request), append(at, i)
	}
	for n, result := range a.Service.Batch(ctx, by.Principal, requests) {
		b.answer(at[n], result)
	}
	if b.fault != nil {
		a.logFault(ctx, by, b.fault)
	}
	for i, kind := range b.kinds {
		a.observer.Called(kind, outcomeOf(b.results[i].Body), 0)
	}
	return http.StatusOK, wire.BatchAnswer{Results: b.results}, nil
}

// callOf reads one call of a batch. Its kind is empty when it cannot be told.
func callOf(text jsontext.Value) (kind string, _ service.Request, _ error) {
	var envelope struct {
		Call *string `json:"call"`
	}
	if err := decode(text, &envelope, jsontext.AllowInvalidUTF8(true)); err != nil {
		return "", nil, err
	}
	read, ok := inBatch[valueOf(envelope.Call)]
	if !ok {
		return "", nil, service.Invalid("call", "must be reserve, complete, release, heartbeat or lookup")
	}
	request, err := read(text)
	return *envelope.Call, request, err
}

// inBatch reads the calls that a batch may have, each as the single call is read.
var inBatch = map[string]func(jsontext.Value) (service.Request, error){
	wire.CallReserve: reserveIn,
	wire.CallComplete: func(text jsontext.Value) (service.Request, error) {
		var r wire.CompleteRequest
		if err := tolerantComplete(text, &r); err != nil {
			return nil, err
		}
		return completeOf(&r)
	},
	wire.CallRelease: func(text jsontext.Value) (service.Request, error) {
		var r wire.ReleaseRequest
		err := tolerant(text, &r)
		return releaseOf(&r), err
	},
	wire.CallHeartbeat: func(text jsontext.Value) (service.Request, error) {
		var r wire.HeartbeatRequest
		if err := tolerant(text, &r); err != nil {
			return nil, err
		}
		return heartbeatOf(&r)
	},
	wire.CallLookup: func(text jsontext.Value) (service.Request, error) {
		var r struct {
			Call string `json:"call"`
			wire.LookupRequest
		}
		err := strict(text, &r)
		return lookupOf(&r.LookupRequest), err
	},
}

func reserveIn(text jsontext.Value) (service.Request, error) {
	var r struct {
		Call string `json:"call"`
		wire.ReserveRequest
	}
	if err := strict(text, &r); err != nil {
		return nil, err
	}
	if r.Wait != nil {
		return nil, service.Invalid("wait", "is not for a batch: its other calls would wait too")
	}
	return reserveOf(&r.ReserveRequest)
}

// batch is the results of a batch while they come together.
type batch struct {
	by      caller
	kinds   []string
	results []wire.BatchResult
	fault   error // the first, of those that an operator has to know of
}

// answer notes what the single call would have been answered.
func (b *batch) answer(n int, got service.Result) {
	var status int
	var body any
	err := got.Err
	switch {
	case err != nil:
	case got.Reservation != nil:
		status, body, err = reserveAnswer(*got.Reservation, nil)
	case got.Grant != nil:
		status, body, err = heartbeatAnswer(*got.Grant, nil)
	default:
		status, body, err = recordAnswer(*got.Record, nil, b.kinds[n] == wire.CallLookup)
	}
	if err != nil {
		b.refuse(n, err)
		return
	}
	b.results[n] = wire.BatchResult{Status: status, Body: body}
}

// refuse notes a problem. A mistake in a field is named by its place in the whole batch.
func (b *batch) refuse(n int, err error) {
	e := *asServiceError(err)
	if e.Code == service.CodeInvalidRequest {
		place := fmt.Sprintf("calls.%d", n)
		if whole, ok := strings.CutPrefix(e.Detail, "body: "); ok {
			e.Detail = place + ": " + whole
		} else {
			e.Detail = place + "." + e.Detail
		}
	}
	p := problemOf(&e, b.by.RequestID)
	if p.Status >= http.StatusInternalServerError && b.fault == nil {
		b.fault = err
	}
	b.results[n] = wire.BatchResult{Status: p.Status, Body: p}
}
