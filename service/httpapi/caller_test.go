package httpapi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// tokens is whose tokens a server accepts, if a test does not say otherwise.
var tokens = auth.Config{HS256Secret: []byte("a secret that is only good for tests")}

// everyScope is what one tenant may have; ops is for all tenants.
var everyScope = []auth.Scope{auth.KeysWrite, auth.KeysRead, auth.KeysBody, auth.KeysAdmin}

// bearer makes a token.
func bearer(t *testing.T, tenant string, scopes ...auth.Scope) string {
	t.Helper()
	signer, err := auth.NewSigner(tokens)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signer.Sign(tenant, scopes, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// caller is somebody who calls a server with a token.
type caller struct {
	t         *testing.T
	url       string
	token     string       // none is sent when empty
	inBatches bool         // each call on keys is sent as a batch of one
	client    *http.Client // nil: that of all tests
	unchecked bool         // answers are not held to the description, to save time
}

// as gives a caller of a tenant; without scopes, one with every scope.
func (s *server) as(t *testing.T, tenant string, scopes ...auth.Scope) caller {
	t.Helper()
	if len(scopes) == 0 {
		scopes = everyScope
	}
	return caller{t: t, url: s.url, token: bearer(t, tenant, scopes...)}
}

// fields are those of a request; the last of several values counts.
type fields map[string]any

// omitted takes a field away.
const omitted = "\x00omitted"

func merged(all ...fields) fields {
	f := fields{}
	for _, more := range all {
		for name, value := range more {
			if f[name] = value; value == omitted {
				delete(f, name)
			}
		}
	}
	return f
}

// call sends one of the calls on keys.
func (c caller) call(name string, f ...fields) *answer {
	c.t.Helper()
	body, err := json.Marshal(merged(f...))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.post(name, string(body))
}

// post sends a body as it is.
func (c caller) post(name, body string) *answer {
	c.t.Helper()
	if c.inBatches {
		return c.batch(inBatch(name, body)).result(0)
	}
	return c.send(http.MethodPost, "/v1/keys/"+name, body, nil)
}

// send sends a request, with headers that replace the usual ones, and holds request and answer to the description.
func (c caller) send(method, path, body string, headers http.Header) *answer {
	c.t.Helper()
	a, err := c.exchange(method, path, body, headers)
	if err != nil {
		c.t.Fatal(err)
	}
	if !c.unchecked {
		a.check()
	}
	return a
}

// exchange is send without a look at the answer.
func (c caller) exchange(method, path, body string, headers http.Header) (*answer, error) {
	return c.exchangeIn(noContext, method, path, strings.NewReader(body), body, headers)
}

// exchangeIn is exchange for a caller who may hang up, and sends the body from a reader: chunked, where that has no length.
func (c caller) exchangeIn(ctx context.Context, method, path string, from io.Reader, body string, headers http.Header) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, from)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, lines := range headers {
		r.Header[name] = lines
	}
	response, err := cmp.Or(c.client, client).Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	m := message{method: method, path: path, sent: r.Header, body: []byte(body), status: response.StatusCode, got: response.Header, answer: raw}
	return &answer{t: c.t, message: m, proto: response.Proto, status: m.status, header: m.got, raw: raw, json: decoded(raw)}, err
}

// answer is what came back.
type answer struct {
	t       *testing.T
	message message
	proto   string // such as HTTP/1.1
	status  int
	header  http.Header
	raw     []byte
	json    any                                    // nil when it is none
	calls   func(n int) (call string, body []byte) // of a batch, as they were sent; see sentInBatch
}

// check holds the answer, and the request, to the description.
func (a *answer) check() {
	a.t.Helper()
	if err := errors.Join(a.message.check(), a.checkHeaders(), a.checkRecord(), a.checkResults()); err != nil {
		a.t.Errorf("%s %s: %v\nrequest: %.2000s\nanswer: %d %.2000s", a.message.method, a.message.path, err, a.message.body, a.status, a.raw)
	}
}

// checkHeaders wants the headers that every answer has, whatever it answers.
func (a *answer) checkHeaders() error {
	for _, name := range []string{"Reprise-Version", "X-Request-Id"} {
		if len(a.header.Values(name)) != 1 || a.header.Get(name) == "" {
			return fmt.Errorf("%s is %q", name, a.header.Values(name))
		}
	}
	return nil
}

// what gives the answer in one word: the code of a problem, the outcome of a reserve, else the state of the record.
func (a *answer) what() string {
	for _, path := range []string{"code", "outcome", "record.state"} {
		if s := textAt(a.json, path); s != "" {
			return s
		}
	}
	return ""
}

// want stops the test if it is another answer.
func (a *answer) want(status int, what string) *answer {
	a.t.Helper()
	if a.status != status || a.what() != what {
		a.t.Fatalf("got %d %s, want %d %s\n%.2000s", a.status, a.what(), status, what, a.raw)
	}
	return a
}

// wantAt compares one value; a number is compared as its text.
func (a *answer) wantAt(path, want string) *answer {
	a.t.Helper()
	if got := textAt(a.json, path); got != want {
		a.t.Errorf("%s is %.200q, want %.200q\n%.2000s", path, got, want, a.raw)
	}
	return a
}

// wantNone wants a value to be absent.
func (a *answer) wantNone(path string) *answer {
	a.t.Helper()
	if v, ok := at(a.json, path); ok {
		a.t.Errorf("%s is there: %v\n%.2000s", path, v, a.raw)
	}
	return a
}

func (a *answer) text(path string) string { return textAt(a.json, path) }

func (a *answer) number(path string) int64 {
	a.t.Helper()
	n, ok := numberAt(a.json, path)
	if !ok {
		a.t.Fatalf("%s is not a number\n%.2000s", path, a.raw)
	}
	return n
}

func (a *answer) time(path string) time.Time {
	a.t.Helper()
	at, err := time.Parse(time.RFC3339Nano, a.text(path))
	if err != nil {
		a.t.Fatalf("%s: %v\n%.2000s", path, err, a.raw)
	}
	return at
}

// decoded reads JSON with its numbers as text; nil when it is none.
func decoded(raw []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// at finds a value by the names on the way to it.
func at(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		next, ok := object[name]
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}

func textAt(v any, path string) string {
	switch v, _ := at(v, path); v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return ""
}

func numberAt(v any, path string) (int64, bool) {
	v, _ = at(v, path)
	n, _ := v.(json.Number)
	i, err := n.Int64()
	return i, err == nil
}
