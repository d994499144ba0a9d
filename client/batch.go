package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// Call is one call of a batch: a [ReserveRequest], [CompleteRequest], [ReleaseRequest], [HeartbeatRequest] or
// [LookupRequest].
type Call interface {
	batched(*Client) (name string, request any, err error)
	name() Name
}

// BatchResult is what the single call would have got. A call that was told to be repeated is not repeated by [Client.Batch]:
// those behind it may rest on it.
type BatchResult struct {
	Record Record // of every success
	Grant  *Grant // of an acquired reserve, and of a heartbeat
	Err    error
}

// Batch sends up to 256 calls at once. They are answered as if sent one by one in that order; not all or none, and a
// reserve must not wait. The error is that of the batch as a whole; each result has its own.
func (c *Client) Batch(ctx context.Context, calls ...Call) ([]BatchResult, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	body, names, err := c.batchBody(calls)
	if err != nil {
		return nil, err
	}
	var answer batchAnswer
	sent, err := c.do(ctx, call{name: "batch", tries: c.tries()}, map[string]any{"calls": body}, into(&answer, func(a batchAnswer) error { return nil }))
	if err != nil {
		return nil, err
	}
	if len(answer.Results) != len(calls) {
		return nil, &Error{Call: "batch", Status: http.StatusOK, kind: ErrUnexpectedAnswer,
			Detail: fmt.Sprintf("%d results for %d calls", len(answer.Results), len(calls))}
	}
	results := make([]BatchResult, len(calls))
	for i, r := range answer.Results {
		results[i] = c.batchResult(names[i], calls[i].name(), r.Status, r.Body, sent)
	}
	return results, nil
}

// batchAnswer is a wire.BatchAnswer of which the results are not read yet.
type batchAnswer struct {
	Results []struct {
		Status int             `json:"status"`
		Body   json.RawMessage `json:"body"`
	} `json:"results"`
}

// batchBody writes the calls: the fields of each, and which it is.
func (c *Client) batchBody(calls []Call) (body []json.RawMessage, names []string, err error) {
	for i, one := range calls {
		name, request, err := one.batched(c)
		if err != nil {
			return nil, nil, invalid("batch", fmt.Sprintf("calls[%d]: %v", i, err))
		}
		fields, err := json.Marshal(request)
		if err != nil {
			return nil, nil, invalid("batch", fmt.Sprintf("calls[%d]: %v", i, err))
		}
		names = append(names, name)
		body = append(body, fmt.Appendf(nil, `{"call":%q,%s`, name, fields[1:]))
	}
	return body, names, nil
}

func (c *Client) batchResult(name string, key Name, status int, body []byte, sent time.Time) BatchResult {
	if status != http.StatusOK && status != http.StatusCreated {
		var p wire.Problem
		if err := json.Unmarshal(body, &p); err != nil || p.Code == "" {
			return BatchResult{Err: &Error{Call: name, Status: status, kind: byStatus(status)}}
		}
		p.Status = status
		return BatchResult{Err: problemError(name, p)}
	}
	var answer struct { // of any of the calls
		Outcome string      `json:"outcome"`
		Record  wire.Record `json:"record"`
		Lease   *wire.Lease `json:"lease"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return BatchResult{Err: &Error{Call: name, Status: status, kind: ErrOutcomeUnknown, cause: err}}
	}
	if name == wire.CallReserve {
		got, err := c.reservation(key, wire.ReserveAnswer{Outcome: answer.Outcome, Record: answer.Record, Lease: answer.Lease}, sent)
		if err != nil {
			return BatchResult{Err: err}
		}
		return BatchResult{Record: got.Record, Grant: got.Grant}
	}
	if err := isOf(answer.Record, key); err != nil {
		return BatchResult{Err: &Error{Call: name, Status: status, Advice: AdviceRepeatCall, kind: ErrOutcomeUnknown, cause: err}}
	}
	result := BatchResult{Record: recordOf(answer.Record)}
	if answer.Lease != nil {
		result.Grant = grantOf(*answer.Lease, sent)
	}
	return result
}

func (n Name) name() Name { return n }

func (r ReserveRequest) batched(c *Client) (string, any, error) {
	request, err := r.wire(c)
	return wire.CallReserve, request, err
}

func (r CompleteRequest) batched(*Client) (string, any, error) {
	request, err := r.wire()
	return wire.CallComplete, request, err
}

func (r ReleaseRequest) batched(*Client) (string, any, error) {
	request, err := r.wire()
	return wire.CallRelease, request, err
}

func (r HeartbeatRequest) batched(*Client) (string, any, error) {
	request, err := r.wire()
	return wire.CallHeartbeat, request, err
}

func (r LookupRequest) batched(*Client) (string, any, error) {
	request, err := r.wire()
	return wire.CallLookup, request, err
}
