package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// hostile is a request that must be refused.
type hostile struct {
	id      string
	method  string // POST when empty
	path    string
	body    string
	headers http.Header
	token   string // that of the key's owner when empty
	status  int
	what    string
	detail  string // what the detail must hold: the name of the field, mostly
}

// hostileRequests are all of them, for a key that is held with a lease token.
func hostileRequests(t *testing.T, lease string) []hostile {
	return slices.Concat(badJSON(lease), badTypes(lease), badValues(lease), unknownFields(), badEnvelopes(lease), badRoutes(), badTokens(t, lease),
		badQueries(), badBatches())
}

// Ensure that no hostile request is taken, stored, or answered by a fault of the service: each is a problem that names
// what is wrong, and the key that is held is as it was.
func TestHostileRequestsAreRefused(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		k := s.as(t, "acme").key("held")
		live(k)
		version, rows := k.lookup().text("record.version"), s.db.rows(t)
		requests := hostileRequests(t, k.lease)
		if len(requests) < 1000 {
			t.Fatalf("only %d requests", len(requests))
		}
		for _, h := range requests {
			h.refused(t, s, k)
			if n := s.db.rows(t); n != rows {
				t.Fatalf("%s: stored something: %d rows", h.id, n)
			}
		}
		k.lookup().want(200, "in_progress").wantAt("record.version", version)
	})
}

func (h hostile) refused(t *testing.T, s *server, k *key) {
	t.Helper()
	c := k.caller
	if c.t = t; h.token != "" {
		c.token = h.token
	}
	if h.method == "" {
		h.method = http.MethodPost
	}
	a := c.send(h.method, h.path, h.body, h.headers)
	if a.status != h.status || a.what() != h.what || !strings.Contains(a.text("detail"), h.detail) {
		t.Errorf("%s: got %d %s %q, want %d %s %q\n%.300q", h.id, a.status, a.what(), a.text("detail"), h.status, h.what, h.detail, h.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" && h.method != http.MethodHead {
		t.Errorf("%s: the answer is %s", h.id, got)
	}
}

// invalid is a request that is refused for one of its fields.
func invalid(id, call, body, field string) hostile {
	return hostile{id: call + "/" + id, path: pathOf(call), body: body, status: 400, what: "invalid_request", detail: field + ": "}
}

// pathOf gives the path of a call that has a body.
func pathOf(call string) string {
	if slices.Contains(operatorCalls, call) {
		return "/v1/admin/keys/" + call
	}
	return "/v1/keys/" + call
}

// bodyCalls are the calls whose body is one request.
var bodyCalls = slices.Concat(callNames, operatorCalls)

// whole gives a body that a call takes, but for what is replaced.
func whole(call, lease string, f ...fields) string {
	all := append([]fields{{"operation": "POST /v1/orders", "subject": "customer-42", "key": "held"}}, extra(call, lease))
	return string(must(json.Marshal(merged(append(all, f...)...))))
}

func extra(call, lease string) fields {
	switch call {
	case "reserve":
		return fields{"key": "new", "fingerprint": mine}
	case "lookup":
		return nil
	case "resolve":
		return fields{"version": "1.1", "reason": why, "to": "completed", "force": true}
	case "expire":
		return fields{"version": "1.1", "reason": why}
	}
	return fields{"lease_token": lease}
}

// badJSON is sent to every call: what is no JSON, more than one value, or can be read in two ways.
func badJSON(lease string) (all []hostile) {
	for _, call := range bodyCalls {
		good := whole(call, lease)
		inside := good[1 : len(good)-1]
		for _, c := range []struct{ id, body, detail string }{
			{"nothing", ``, "body: "},
			{"space", ` `, "body: "},
			{"null", `null`, "body: "},
			{"array", `[` + good + `]`, "body: "},
			{"text", `"x"`, "body: "},
			{"number", `1`, "body: "},
			{"true", `true`, "body: "},
			{"word", `{x}`, ""},
			{"cut", good[:len(good)-1], ""},
			{"single quotes", `{'key':'x'}`, ""},
			{"comma at the end", `{` + inside + `,}`, ""},
			{"comment", `{` + inside + `/**/}`, ""},
			{"BOM", "\ufeff" + good, "body: "},
			{"NUL at the end", good + "\x00", ""},
			{"another value", good + good, "body: "},
			{"rest", good + `]`, "body: "},
			{"name twice", `{` + inside + `,"key":"y"}`, "key: "},
			{"name twice, escaped", `{` + inside + `,"\u006bey":"y"}`, "key: "},
			{"name twice, unknown", `{` + inside + `,"zz":1,"zz":2}`, "zz: "},
			{"bad UTF-8 in a name", `{` + inside + ",\"a\xff\":1}", ""},
			{"surrogate in a name", `{` + inside + `,"\ud800":1}`, ""},
			{"control in a text", `{` + inside + ",\"zz\":\"a\nb\"}", "zz: "},
			{"number with a leading zero", `{` + inside + `,"zz":01}`, ""},
			{"NaN", `{` + inside + `,"zz":NaN}`, "zz: "},
			{"deep", `{` + inside + `,"zz":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "zz"},
		} {
			h := invalid("json/"+c.id, call, c.body, "")
			h.detail = c.detail
			all = append(all, h)
		}
	}
	return all
}

// typed are the fields of each call, with values of all the types that they are not.
var typed = map[string]map[string][]any{
	"reserve": {"operation": notText, "subject": notText, "key": notText, "fingerprint": notText, "attempt_id": notText,
		"lease": notText, "retention": notText, "on_lapse": notText, "holder": notText, "wait": notText},
	"complete": {"operation": notText, "key": notText, "lease_token": notText, "result": notText, "resource_id": notText,
		"retention": notText, "response": notObject, "response_dropped": notBool},
	"release":   {"operation": notText, "subject": notText, "key": notText, "lease_token": notText, "reason": notText, "forget": notBool},
	"heartbeat": {"operation": notText, "key": notText, "lease_token": notText, "lease": notText, "checkpoint": notObject, "on_lapse": notText},
	"lookup":    {"operation": notText, "subject": notText, "key": notText, "fingerprint": notText},
	"resolve": {"operation": notText, "subject": notText, "key": notText, "tenant": notText, "to": notText, "version": notText, "reason": notText,
		"response": notObject, "resource_id": notText, "force": notBool},
	"expire": {"operation": notText, "subject": notText, "key": notText, "tenant": notText, "version": notText, "reason": notText},
}

// required are the fields without which a call is refused, beside the name.
var required = map[string][]string{"complete": {"lease_token"}, "release": {"lease_token"}, "heartbeat": {"lease_token"},
	"resolve": {"to", "version", "reason"}, "expire": {"version", "reason"}}

var (
	notText   = []any{1, true, []string{"x"}, fields{"x": "y"}}
	notObject = []any{1, "x", []string{"x"}}
	notBool   = []any{1, 0, "true", []bool{true}}
)

// badTypes gives every field a value of every type that it is not, and leaves out, or makes null, what is required.
func badTypes(lease string) (all []hostile) {
	for _, call := range bodyCalls {
		for field, values := range typed[call] {
			for i, value := range values {
				all = append(all, invalid(fmt.Sprint("type/", field, "/", i), call, whole(call, lease, fields{field: value}), field))
			}
		}
		for _, field := range append([]string{"operation", "key"}, required[call]...) {
			for id, value := range map[string]any{"omitted": omitted, "null": nil, "empty": ""} {
				all = append(all, invalid(field+"/"+id, call, whole(call, lease, fields{field: value}), field))
			}
		}
	}
	return all
}

// badValues are values of the right type that mean nothing.
func badValues(lease string) (all []hostile) {
	request := func(f fields) fields { return fields{"fingerprint": omitted, "request": f} }
	for _, c := range []struct {
		call, id string
		f        fields
		field    string
	}{
		{"reserve", "neither", fields{"fingerprint": omitted}, "fingerprint"},
		{"reserve", "neither, null", fields{"fingerprint": nil, "request": nil}, "fingerprint"},
		{"reserve", "both", fields{"request": jsonBody("{}")}, "fingerprint"},
		{"reserve", "nothing in request", request(fields{}), "request"},
		{"reserve", "only null in request", request(fields{"method": nil, "body": nil, "headers": nil}), "request"},
		{"reserve", "request is text", fields{"fingerprint": omitted, "request": "GET /"}, "request"},
		{"reserve", "method is a number", request(fields{"method": 1}), "request.method"},
		{"reserve", "body is an object", request(fields{"body": fields{"a": 1}}), "request.body"},
		{"reserve", "headers is an object", request(fields{"headers": fields{"A": "b"}}), "request.headers"},
		{"reserve", "header line of one", request(fields{"headers": [][]string{{"A"}}}), "request.headers.0"},
		{"reserve", "header line of three", request(fields{"headers": [][]string{{"A", "b", "c"}}}), "request.headers.0"},
		{"reserve", "header value is a number", request(fields{"headers": [][]any{{"A", 1}}}), "request.headers.0.1"},
		{"reserve", "header value is null", request(fields{"headers": [][]any{{"A", nil}}}), "request.headers.0.1"},
		{"reserve", "header line is null", request(fields{"headers": []any{nil}}), "request.headers.0"},
		{"reserve", "unknown encoding", request(fields{"body": "x", "body_encoding": "hex"}), "request.body_encoding"},
		{"reserve", "not base64", request(fields{"body": "*", "body_encoding": "base64"}), "request.body"},
		{"reserve", "base64 without padding", request(fields{"body": "YQ", "body_encoding": "base64"}), "request.body"},
		{"reserve", "base64 with loose bits", request(fields{"body": "YR==", "body_encoding": "base64"}), "request.body"},
		{"reserve", "unknown policy", fields{"on_lapse": "Hold"}, "on_lapse"},
		{"reserve", "empty policy", fields{"on_lapse": ""}, "on_lapse"},
		{"heartbeat", "unknown policy", fields{"on_lapse": "release"}, "on_lapse"},
		{"heartbeat", "seq is text", fields{"checkpoint": fields{"seq": "1", "data": ""}}, "checkpoint.seq"},
		{"heartbeat", "seq is a fraction", fields{"checkpoint": fields{"seq": 1.5, "data": ""}}, "checkpoint.seq"},
		{"heartbeat", "seq is huge", fields{"checkpoint": fields{"seq": json.Number("1e400"), "data": ""}}, "checkpoint.seq"},
		{"heartbeat", "seq is missing", fields{"checkpoint": fields{"data": "x"}}, "checkpoint.seq"},
		{"heartbeat", "data is missing", fields{"checkpoint": fields{"seq": 1, "daat": "x"}}, "checkpoint.data"},
		{"heartbeat", "data is a number", fields{"checkpoint": fields{"seq": 1, "data": 1}}, "checkpoint.data"},
		{"complete", "unknown result", fields{"result": "released"}, "result"},
		{"complete", "empty result", fields{"result": ""}, "result"},
		{"complete", "status is text", respond(fields{"status": "200"}), "response.status"},
		{"complete", "status is a fraction", respond(fields{"status": 200.5}), "response.status"},
		{"complete", "status is huge", respond(fields{"status": json.Number("18446744073709551816")}), "response.status"},
		{"complete", "unknown encoding", respond(fields{"body": "x", "body_encoding": "UTF-8"}), "response.body_encoding"},
		{"complete", "not base64", respond(fields{"body": "a b=", "body_encoding": "base64"}), "response.body"},
		{"complete", "base64 for URLs", respond(fields{"body": "-_-_", "body_encoding": "base64"}), "response.body"},
		{"complete", "base64 with a space", respond(fields{"body": "YWJj YWJj", "body_encoding": "base64"}), "response.body"},
		{"complete", "headers is an object", respond(fields{"headers": fields{"A": "b"}}), "response.headers"},
		{"resolve", "unknown encoding", respond(fields{"body": "x", "body_encoding": "hex"}), "response.body_encoding"},
		{"resolve", "not base64", respond(fields{"body": "*", "body_encoding": "base64"}), "response.body"},
		{"resolve", "status is text", respond(fields{"status": "200"}), "response.status"},
		{"resolve", "header line of one", respond(fields{"headers": [][]string{{"A"}}}), "response.headers.0"},
		{"resolve", "header value is null", respond(fields{"headers": [][]any{{"A", nil}}}), "response.headers.0.1"},
		{"resolve", "control in resource_id", fields{"resource_id": "a\nb"}, "resource_id"},
		{"resolve", "control in tenant", fields{"tenant": "a\nb"}, "tenant"},
		{"resolve", "empty tenant", fields{"tenant": ""}, "tenant"},
		{"expire", "long tenant", fields{"tenant": x(201)}, "tenant"},
		{"release", "NUL in reason", fields{"reason": "a\x00b"}, "reason"},
		{"complete", "control in resource_id", fields{"resource_id": "a\nb"}, "resource_id"},
	} {
		all = append(all, invalid("value/"+c.id, c.call, whole(c.call, lease, c.f), c.field))
	}
	return all
}

// unknownFields are refused by the strict calls, however close they come to a known one.
func unknownFields() (all []hostile) {
	for _, name := range []string{"on-lapse", "onLapse", "On_Lapse", "KEY", "key ", "tenant_id", "lease_token", "attempt", "", "__proto__", "ключ"} {
		for _, call := range []string{"reserve", "lookup", "resolve", "expire"} {
			all = append(all, invalid("unknown/"+name, call, whole(call, "", fields{name: "x"}), name))
		}
	}
	for call, names := range map[string][]string{"reserve": {"tenant", "to", "version"}, "lookup": {"tenant", "wait"}, "resolve": {"wait", "lease", "fingerprint", "retention"},
		"expire": {"to", "force", "response", "resource_id"}} {
		for _, name := range names {
			all = append(all, invalid("unknown/"+name, call, whole(call, "", fields{name: "x"}), name))
		}
	}
	inRequest := fields{"fingerprint": omitted, "request": merged(jsonBody("{}"), fields{"query": "x"})}
	long := strings.Repeat("long", 1000)
	return append(all,
		invalid("unknown/in request", "reserve", whole("reserve", "", inRequest), "request.query"),
		invalid("unknown/long", "reserve", whole("reserve", "", fields{long: 1}), long[:100]+"…"),
		invalid("unknown/control", "lookup", whole("lookup", "", fields{"a\u009bb": 1}), "a?b"))
}
