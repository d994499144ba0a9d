package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/storage"
)

// tour makes calls, shows them, and notes the first that is not answered as it must be.
type tour struct {
	out        io.Writer
	url, token string
	http       *http.Client
	id         string // keeps the keys of one tour apart from those of another
	ctx        context.Context
	err        error
}

type object map[string]any

// tourTimeout is longer than any call of the tour waits.
const tourTimeout = 30 * time.Second

func newTour(out io.Writer, url, token string) *tour {
	return &tour{out: out, url: url, token: token, id: storage.NewToken().String()[:8], http: &http.Client{Timeout: tourTimeout}}
}

func (t *tour) run(ctx context.Context) error {
	t.ctx = ctx
	fmt.Fprintf(t.out, "A tour of %s\n", t.url)
	for i, s := range stops {
		fmt.Fprintf(t.out, "\n%d. %s\n\n", i+1, s.title)
		s.walk(t)
		if t.err != nil {
			return fmt.Errorf("try: %s: %w", strings.ToLower(s.title), t.err)
		}
	}
	fmt.Fprintln(t.out, "\nEvery call was answered as it must be.")
	return nil
}

func (t *tour) say(format string, args ...any) {
	if t.err == nil {
		fmt.Fprintf(t.out, format+"\n", args...)
	}
}

func (t *tour) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

func (t *tour) attemptID(n int) string { return fmt.Sprintf("attempt-%s-%d", t.id, n) }

// fields gives the body of a call on a key of the tour.
func (t *tour) fields(key string, more object) object {
	o := object{"operation": "tour", "key": key + "-" + t.id}
	maps.Copy(o, more)
	return o
}

func (t *tour) reserve(key string, attempt int, more object) *answer {
	o := t.fields(key, object{"fingerprint": "amount=100", "attempt_id": t.attemptID(attempt)})
	maps.Copy(o, more)
	return t.call("reserve", o)
}

func (t *tour) call(name string, body object) *answer {
	return t.post("/v1/keys/"+name, body)
}

func (t *tour) admin(name string, body object) *answer { return t.post("/v1/admin/keys/"+name, body) }

func (t *tour) post(path string, body object) *answer {
	if t.err != nil {
		return &answer{tour: t}
	}
	text, _ := json.Marshal(body) // of texts and objects
	t.say("  → POST %s %s", path, shown(body))
	a := t.send(http.MethodPost, path, text)
	a.show()
	return a
}

// shown is the text of a body without the token, which whoever reads along could use.
func shown(body object) string {
	o := maps.Clone(body)
	if token, ok := o["lease_token"].(string); ok {
		o["lease_token"] = short(token)
	}
	text, _ := json.Marshal(o) // of texts and objects
	return string(text)
}

// short is how a token is shown: enough to know it again.
func short(token string) string { return token[:min(8, len(token))] + "…" }

func (t *tour) get(path string) *answer {
	t.say("  → GET %s", path)
	a := t.send(http.MethodGet, path, nil)
	a.show()
	return a
}

// meanwhile sends a call that goes on while others are made; the function gives its answer.
func (t *tour) meanwhile(name string, body object) func() *answer {
	text, _ := json.Marshal(body)
	t.say("  → POST /v1/keys/%s %s … (it waits)", name, shown(body))
	got := make(chan *answer, 1)
	go func() { got <- t.send(http.MethodPost, "/v1/keys/"+name, text) }()
	return func() *answer {
		a := <-got
		t.say("  and the one that waited:")
		a.show()
		return a
	}
}

func (t *tour) send(method, path string, body []byte) *answer {
	a := &answer{tour: t}
	request, err := http.NewRequestWithContext(t.ctx, method, t.url+path, bytes.NewReader(body))
	if err != nil {
		a.err = err
		return a
	}
	request.Header.Set("Authorization", "Bearer "+t.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := t.http.Do(request)
	if err != nil {
		a.err = fmt.Errorf("%w; is the service running? start it with: reprise serve", err)
		return a
	}
	defer response.Body.Close()
	a.status = response.StatusCode
	a.text, a.err = io.ReadAll(response.Body)
	return a
}

// answer is what came back.
type answer struct {
	tour   *tour
	status int
	text   []byte
	err    error
}

// parsed is all that the tour looks at in an answer.
type parsed struct {
	Outcome string       `json:"outcome"`
	Code    string       `json:"code"`
	Detail  string       `json:"detail"`
	Record  *wire.Record `json:"record"`
	Lease   *wire.Lease  `json:"lease"`
}

func (a *answer) parse() (p parsed) {
	if err := json.Unmarshal(a.text, &p); err != nil {
		a.tour.fail("the answer is not JSON: %q", a.text)
	}
	return p
}

// show prints the answer without what would hide the rest.
func (a *answer) show() {
	if a.err != nil {
		a.tour.fail("%w", a.err)
	}
	if a.tour.err != nil {
		return
	}
	p := a.parse()
	if p.Record == nil && p.Code == "" {
		a.tour.say("  ← %d %s", a.status, a.text)
		return
	}
	words := []string{}
	add := func(name string, value any) { words = append(words, fmt.Sprintf("%s=%v", name, value)) }
	if p.Outcome != "" {
		add("outcome", p.Outcome)
	}
	if p.Code != "" {
		add("code", p.Code)
	}
	if r := p.Record; r != nil {
		add("state", r.State)
		add("attempt", r.Attempt)
		add("fence", r.Fence)
		if r.Response != nil && r.Response.Body != nil {
			add("response.body", *r.Response.Body)
		}
	}
	if p.Lease != nil {
		add("lease.token", short(p.Lease.Token))
		add("lease.takeover", p.Lease.Takeover)
	}
	a.tour.say("  ← %d %s", a.status, strings.Join(words, " "))
}

// wants notes an answer that is not the one that it must be.
func (a *answer) wants(status int, code string) *answer {
	if a.tour.err == nil {
		if p := a.parse(); a.status != status || p.Code != code {
			a.tour.fail("got %d %s: %s; want %d %s%s", a.status, p.Code, p.Detail, status, code, hint(a.status))
		}
	}
	return a
}

// hint says what a person does about an answer that is their own doing.
func hint(status int) string {
	if status == http.StatusUnauthorized {
		return "; run it in the folder of the service, or say --data-dir, or give a --token"
	}
	return ""
}

func (a *answer) acquired() wire.Lease {
	a.wants(http.StatusCreated, "")
	if a.tour.err == nil {
		if p := a.parse(); p.Lease != nil {
			return *p.Lease
		}
		a.tour.fail("no lease in %s", a.text)
	}
	return wire.Lease{}
}

func (a *answer) replays(body string) {
	a.wants(http.StatusOK, "")
	if a.tour.err != nil {
		return
	}
	p := a.parse()
	if p.Outcome != wire.OutcomeReplay || p.Record == nil || p.Record.Response == nil || p.Record.Response.Body == nil || *p.Record.Response.Body != body {
		a.tour.fail("got %s, want a replay of %q", a.text, body)
	}
}

func (a *answer) version() string {
	if a.tour.err == nil {
		if p := a.parse(); p.Record != nil {
			return p.Record.Version
		}
		a.tour.fail("no record in %s", a.text)
	}
	return ""
}

// done tells whether an operator's call was done; it is no fault of the service when the token may not.
func (a *answer) done() bool {
	if a.tour.err == nil && a.status == http.StatusForbidden {
		a.tour.say("403: the token lacks the scope keys:admin: no operator can be shown.")
		return false
	}
	a.wants(http.StatusOK, "")
	return a.tour.err == nil
}
