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
	"github.com/reprise-idempotency/reprise/storage"
)

// batchRequest is the envelope of a batch; each call is read by itself, so that a mistake in one is that call's alone.
type batchRequest struct {
	Calls []jsontext.Value `json:"calls"`
}

// readBatch reads the envelope. Text that cannot be decoded, and a name that is given twice, are left to the reading of the
// call that they are in. Calls over the limit are not read: millions fit into a body, and would cost far more memory.
func (a *API) readBatch(body []byte, into *batchRequest) error {
	most, seen := a.Service.Limits().BatchCalls, false
	atMost := json.UnmarshalFromFunc(func(d *jsontext.Decoder, calls *[]jsontext.Value) error {
		if seen {
			return jsontext.ErrDuplicateName
		}
		seen = true
		return readCalls(d, calls, most)
	})
	return decode(body, into, json.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), json.WithUnmarshalers(atMost))
}

func readCalls(d *jsontext.Decoder, calls *[]jsontext.Value, most int) error {
	if d.PeekKind() != jsontext.KindBeginArray {
		return errors.ErrUnsupported // null, or a mistake: read it as usual
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != jsontext.KindEndArray {
		call, err := d.ReadValue()
		switch {
		case err != nil:
			return err
		case len(*calls) == most:
			return service.Invalid("calls", "has more than %d calls; it must have 1 to %d", most, most)
		}
		*calls = append(*calls, call.Clone())
	}
	_, err := d.ReadToken()
	return err
}

func (a *API) batch(ctx context.Context, by caller, r *batchRequest) (int, any, error) {
	if len(r.Calls) == 0 {
		return 0, nil, service.Invalid("calls", "has 0 calls; it must have 1 to %d", a.Service.Limits().BatchCalls)
	}
	n := len(r.Calls)
	b := batch{by: by, most: int(a.MaxBatch), kinds: make([]string, n), outcomes: make([]string, n), results: make([]wire.BatchResult, n)}
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
	if b.fault != nil && !isCanceled(ctx, b.fault) {
		a.logFault(ctx, by, b.fault)
	}
	for i, kind := range b.kinds {
		a.observer.Called(kind, b.outcomes[i], 0)
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
	by       caller
	kinds    []string
	outcomes []string
	results  []wire.BatchResult
	shown    int   // bytes of the results that show a stored body
	most     int   // of them
	full     bool  // one was over it
	fault    error // the first, of those that an operator has to know of
}

// answer notes what the single call would have been answered.
func (b *batch) answer(n int, got service.Result) {
	var status int
	var body any
	var stored *storage.Response
	err := got.Err
	switch {
	case err != nil:
	case got.Reservation != nil:
		stored = got.Reservation.Response
		status, body, err = reserveAnswer(*got.Reservation, nil)
	case got.Grant != nil:
		status, body, err = heartbeatAnswer(*got.Grant, nil)
	case b.kinds[n] == wire.CallLookup:
		stored = got.Record.Response
		status, body, err = recordAnswer(*got.Record, nil, true)
	default:
		status, body, err = recordAnswer(*got.Record, nil, false)
	}
	b.outcomes[n] = outcomeOf(body)
	if err == nil && stored != nil && stored.Body != nil {
		body, err = b.show(body)
	}
	if err != nil {
		b.refuse(n, err)
		return
	}
	b.results[n] = wire.BatchResult{Status: status, Body: body}
}

// show gives a result that shows a stored body, as text, while there is room for it. Calls of a few bytes can ask for many
// large bodies, and for the same one many times; one is always shown. What is refused changed nothing, and can be asked for
// by itself.
func (b *batch) show(result any) (any, error) {
	tooLarge := &service.Error{Code: service.CodePayloadTooLarge,
		Detail: fmt.Sprintf("the stored bodies of this batch are over %d bytes; send this call by itself", b.most)}
	if b.full {
		return nil, tooLarge
	}
	text, err := json.Marshal(result, json.Deterministic(true))
	if b.full = b.shown > 0 && b.shown+len(text) > b.most; b.full {
		return nil, tooLarge
	}
	b.shown += len(text)
	return jsontext.Value(text), err
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
	b.outcomes[n], b.results[n] = p.Code, wire.BatchResult{Status: p.Status, Body: p}
}
