package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// batch sends calls as one batch.
func (c caller) batch(calls ...string) *answer {
	c.t.Helper()
	return c.send(http.MethodPost, "/v1/keys/batch", `{"calls":[`+strings.Join(calls, ",")+`]}`, nil)
}

// inBatch gives the body of a call as a batch has it, byte by byte but for the name of the call at its beginning.
func inBatch(call, body string) string {
	rest, ok := strings.CutPrefix(body, "{")
	if !ok {
		return body
	}
	if strings.TrimSpace(rest) != "}" {
		rest = "," + rest
	}
	return `{"call":"` + call + `"` + rest
}

// calling gives one call of a batch.
func calling(call string, f ...fields) string {
	return string(must(json.Marshal(merged(append(f, fields{"call": call})...))))
}

// result gives the answer to one call of a batch as if the call had been made by itself. An answer that is no batch is
// given as it is.
func (a *answer) result(n int) *answer {
	a.t.Helper()
	results, _ := at(a.json, "results")
	list, _ := results.([]any)
	if a.status != 200 || n >= len(list) {
		return a
	}
	status, _ := numberAt(list[n], "status")
	body, _ := at(list[n], "body")
	body = decoded(must(json.Marshal(body))) // a copy
	withoutPlace(body, n)
	r := &answer{t: a.t, status: int(status), raw: must(json.Marshal(body)), json: body}
	r.header = a.headersOf(r)
	if a.calls == nil {
		a.calls = sentInBatch(a.message.body)
	}
	call, sent := a.calls(n)
	r.message = message{method: http.MethodPost, path: "/v1/keys/" + call, sent: a.message.sent, body: sent, status: r.status, got: r.header, answer: r.raw}
	return r
}

// results gives the answers to all calls of a batch.
func (a *answer) results() (all []*answer) {
	results, _ := at(a.json, "results")
	list, _ := results.([]any)
	for n := range list {
		all = append(all, a.result(n))
	}
	return all
}

// withoutPlace takes away the place in the batch by which a detail names a field, as the single call would name it.
func withoutPlace(problem any, n int) {
	detail := textAt(problem, "detail")
	place := fmt.Sprint("calls.", n)
	if rest, ok := strings.CutPrefix(detail, place+": "); ok {
		problem.(map[string]any)["detail"] = "body: " + rest
	} else if rest, ok := strings.CutPrefix(detail, place+"."); ok {
		problem.(map[string]any)["detail"] = rest
	} else if textAt(problem, "code") == "invalid_request" {
		problem.(map[string]any)["detail"] = "without the place " + place + ": " + detail
	}
}

// headersOf are those that the single call would have.
func (a *answer) headersOf(result *answer) http.Header {
	h := a.header.Clone()
	if result.status >= 400 {
		h.Set("Content-Type", "application/problem+json")
	}
	if ms, ok := numberAt(result.json, "retry_after_ms"); ok {
		h.Set("Retry-After", fmt.Sprint((ms+999)/1000))
	}
	return h
}

// sentInBatch reads the body of a batch, and gives the name of each call in it and the rest of the call.
func sentInBatch(batch []byte) func(n int) (call string, body []byte) {
	calls, _ := at(decoded(batch), "calls")
	list, _ := calls.([]any)
	return func(n int) (call string, body []byte) {
		if n >= len(list) {
			return "", nil
		}
		object, _ := list[n].(map[string]any)
		call, _ = object["call"].(string)
		rest := maps.Clone(object)
		delete(rest, "call")
		return call, must(json.Marshal(rest))
	}
}

// checkResults holds each result of a batch to the description of its call.
func (a *answer) checkResults() error {
	if a.message.path != "/v1/keys/batch" || a.status != 200 {
		return nil
	}
	var errs []error
	for _, r := range a.results() {
		if slices.Contains(callNames, strings.TrimPrefix(r.message.path, "/v1/keys/")) {
			errs = append(errs, r.message.check(), r.checkRecord())
		}
	}
	return errors.Join(errs...)
}
