package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Ensure that a mistake in one call is that call's alone, is named by its place in the batch, and keeps no other call from
// being made, however many there are.
func TestMistakeInOneCallIsItsAlone(t *testing.T) {
	name := `"operation":"POST /v1/orders","key":"k"`
	mistakes := []struct{ id, call, detail string }{
		{"null", `null`, ": "},
		{"number", `1`, ": "},
		{"text", `"reserve"`, ": "},
		{"true", `true`, ": "},
		{"list", `[{"call":"lookup",` + name + `}]`, ": "},
		{"empty", `{}`, ".call: "},
		{"call missing", `{` + name + `}`, ".call: "},
		{"call null", `{"call":null,` + name + `}`, ".call: "},
		{"call empty", `{"call":"",` + name + `}`, ".call: "},
		{"call a number", `{"call":1,` + name + `}`, ".call: "},
		{"call a list", `{"call":["lookup"],` + name + `}`, ".call: "},
		{"call unknown", `{"call":"delete",` + name + `}`, ".call: "},
		{"call upper case", `{"call":"Lookup",` + name + `}`, ".call: "},
		{"call of an operator", `{"call":"resolve",` + name + `}`, ".call: "},
		{"call a batch", `{"call":"batch","calls":[]}`, ".call: "},
		{"call a path", `{"call":"/v1/keys/lookup",` + name + `}`, ".call: "},
		{"call spelt otherwise", `{"Call":"lookup",` + name + `}`, ".call: "},
		{"call twice", `{"call":"lookup","call":"reserve",` + name + `}`, ".call: "},
		{"wait", `{"call":"reserve",` + name + `,"fingerprint":"f","wait":"1s"}`, ".wait: "},
		{"wait of nothing", `{"call":"reserve",` + name + `,"fingerprint":"f","wait":"0s"}`, ".wait: "},
		{"wait unreadable", `{"call":"reserve",` + name + `,"fingerprint":"f","wait":1}`, ".wait: "},
		{"field unknown", `{"call":"reserve",` + name + `,"fingerprint":"f","on_laps":"hold"}`, ".on_laps: "},
		{"field unknown to lookup", `{"call":"lookup",` + name + `,"wait":"1s"}`, ".wait: "},
		{"field in a field", `{"call":"reserve",` + name + `,"request":{"mehtod":"GET"}}`, ".request.mehtod: "},
		{"field of a wrong type", `{"call":"complete",` + name + `,"lease_token":"t","response":{"status":"200"}}`, ".response.status: "},
		{"field missing", `{"call":"complete",` + name + `}`, ".lease_token: "},
		{"field over its limit", `{"call":"release",` + name + `,"lease_token":"t","reason":"` + x(1001) + `"}`, ".reason: "},
		{"field with a control character", `{"call":"lookup","operation":"o","key":"a\u0000"}`, ".key: "},
		{"field twice", `{"call":"lookup",` + name + `,"key":"k"}`, ".key: "},
		{"field twice in a field", `{"call":"complete",` + name + `,"lease_token":"t","response":{"body":"a","body":"b"}}`, ".response.body: "},
		{"name undecodable", `{"call":"lookup","operation":"o","key":"\ud800"}`, ".key: "},
		{"name no UTF-8", "{\"call\":\"lookup\",\"operation\":\"o\",\"key\":\"\xff\"}", ".key: "},
		{"unknown name no UTF-8", "{\"call\":\"lookup\"," + name + ",\"a\xff\":1}", ""},
		{"seq", `{"call":"heartbeat",` + name + `,"lease_token":"t","checkpoint":{"seq":0,"data":""}}`, ".checkpoint.seq: "},
		{"tenant", `{"call":"lookup",` + name + `,"tenant":"acme"}`, ".tenant: "},
	}
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		good := func(i int) string {
			return calling("reserve", c.key(fmt.Sprint("k-", i)).name, fields{"fingerprint": mine})
		}
		calls := []string{good(0)}
		for i, m := range mistakes {
			calls = append(calls, m.call, good(i+1))
		}
		a := c.batch(calls...)
		list, _ := at(a.json, "results")
		for i, r := range a.results() {
			if i%2 == 0 {
				r.want(201, "acquired").wantAt("record.key", fmt.Sprint("k-", i/2))
				continue
			}
			m := mistakes[i/2]
			r.want(400, "invalid_request").wantAt("status", "400").wantAt("request_id", a.header.Get("X-Request-Id"))
			if detail, want := textAt(list.([]any)[i], "body.detail"), fmt.Sprint("calls.", i, m.detail); !strings.HasPrefix(detail, want) {
				t.Errorf("%s: the detail is %q, want it to begin with %q", m.id, detail, want)
			}
		}
	})
}

// Ensure that what is no batch is refused as a whole, with nothing done of it.
func TestWhatIsNoBatchIsRefusedAsAWhole(t *testing.T) {
	beforeAnyStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		good := calling("reserve", c.key("k").name, fields{"fingerprint": mine})
		many := strings.Repeat(good+",", 256) + good
		for _, b := range []struct{ id, body, detail string }{
			{"no calls", `{}`, "calls: "},
			{"calls null", `{"calls":null}`, "calls: "},
			{"no call", `{"calls":[]}`, "calls: "},
			{"one call too many", `{"calls":[` + many + `]}`, "calls: has more than 256 calls"},
			{"many nulls", `{"calls":[` + strings.Repeat("null,", 5000) + `null]}`, "calls: has more than 256 calls"},
			{"calls an object", `{"calls":` + good + `}`, "calls: "},
			{"calls a text", `{"calls":"reserve"}`, "calls: "},
			{"calls a number", `{"calls":1}`, "calls: "},
			{"calls twice", `{"calls":[` + good + `],"calls":[` + good + `]}`, "calls: "},
			{"calls spelt otherwise", `{"Calls":[` + good + `]}`, "Calls: "},
			{"field unknown", `{"calls":[` + good + `],"atomic":true}`, "atomic: "},
			{"field unknown, undecodable", `{"calls":[` + good + "],\"a\xff\":true}", ""},
			{"a list", `[` + good + `]`, "body: "},
			{"the call alone", good, "call: "},
			{"something after it", `{"calls":[` + good + `]}{}`, "body: "},
			{"cut", `{"calls":[` + good, "calls"},
			{"cut within a call", `{"calls":[` + good[:len(good)-2], "calls"},
			{"no JSON in a call", `{"calls":[` + good + `,{"call":lookup}]}`, "calls.1"},
			{"comma at the end", `{"calls":[` + good + `,]}`, "calls"},
			{"nothing", ``, "body: "},
		} {
			a := c.send(http.MethodPost, "/v1/keys/batch", b.body, nil)
			if a.status != 400 || a.what() != "invalid_request" || !strings.HasPrefix(a.text("detail"), b.detail) {
				t.Errorf("%s: got %d %s %q, want a detail with %q", b.id, a.status, a.what(), a.text("detail"), b.detail)
			}
			if n := s.db.rows(t); n != 0 {
				t.Fatalf("%s: %d rows were stored", b.id, n)
			}
		}
	})
}

// Ensure that there is one limit on the whole body of a batch, that it counts every byte, and that it holds for a body whose
// length is not told before.
func TestLimitOfABatchsBody(t *testing.T) {
	const most = 8 << 20
	beforeAnyStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		sized := func(key string, n int, reader func(string) io.Reader) *answer {
			body := `{"calls":[` + calling("reserve", c.key(key).name, fields{"fingerprint": mine}) + `]}`
			body += strings.Repeat(" ", n-len(body))
			return must(c.exchangeIn(noContext, http.MethodPost, "/v1/keys/batch", reader(body), body, nil))
		}
		whole := func(s string) io.Reader { return strings.NewReader(s) }
		chunked := func(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }
		for id, reader := range map[string]func(string) io.Reader{"whole": whole, "chunked": chunked} {
			sized(id, most, reader).result(0).want(201, "acquired")
			a := sized(id+" too large", most+1, reader).want(413, "payload_too_large")
			if !strings.Contains(a.text("detail"), "8388608 bytes") {
				t.Errorf("the detail is %q", a.text("detail"))
			}
		}
		if n := s.db.rows(t); n != 2 {
			t.Errorf("%d rows, want 2", n)
		}
	})
}

// Ensure that a complete in a batch is never refused for the content of its response, not even for text that cannot be
// decoded: it is dropped and marked as by the single call, and costs the other calls nothing.
func TestBatchTakesUndecodableResponses(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		for i, half := range []string{`\ud83d`, "\xff", "\xed\xa0\x80"} {
			single, batched, neighbour := c.key(fmt.Sprint("single-", i)), c.key(fmt.Sprint("batched-", i)), c.key(fmt.Sprint("neighbour-", i))
			live(single)
			live(batched)
			body := func(k *key) string {
				whole := string(must(json.Marshal(merged(k.name, fields{"lease_token": k.lease}))))
				return whole[:len(whole)-1] + `,"response":{"status":200,"headers":[["X-Bad","` + half + `"],["X-Ok","1"]],"body":"cut ` + half + `"}}`
			}
			want := single.post("complete", body(single)).want(200, "completed")
			undecodable := inBatch("complete", body(batched))
			b := c.batch(calling("reserve", neighbour.name, fields{"fingerprint": mine}), undecodable, undecodable, calling("lookup", batched.name)).results()
			b[0].want(201, "acquired")
			for _, r := range b[1:3] {
				if got, want := bodyOfMasked(masked(r)), bodyOfMasked(maskedAs(want, single, batched)); got != want {
					t.Errorf("in a batch\n%s\nby itself\n%s", got, want)
				}
			}
			b[3].want(200, "completed").wantAt("record.response_dropped", "true").wantAt("record.response.status", "200")
			if got := headerLines(b[3]); !equalLines(got, [][2]string{{"X-Ok", "1"}}) {
				t.Errorf("kept %q", got)
			}
		}
	})
}

// maskedAs masks an answer about one key as if it were about another.
func maskedAs(a *answer, about, as *key) string {
	return strings.ReplaceAll(masked(a), fmt.Sprint(about.name["key"]), fmt.Sprint(as.name["key"]))
}
