package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// answerTimeout is longer than the service takes for anything, so that it only ends what hangs.
const answerTimeout = 15 * time.Second

// api sends calls to wherever the service is.
type api struct {
	where  *address
	token  string
	client *http.Client
}

func newAPI(where *address, token string) *api {
	return &api{where: where, token: token, client: &http.Client{
		Timeout:   answerTimeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, Proxy: nil},
	}}
}

// put sends a call once and notes what came of it. It waits for the service to be up, and gives false when ctx ends
// before that: then nothing was sent.
func (a *api) put(ctx context.Context, c *call, clock *clock) bool {
	base := a.where.get(ctx)
	if base == "" {
		return false
	}
	body, err := json.Marshal(c.request())
	if err != nil {
		panic(err) // plain values
	}
	// A call that was sent is waited for, also when ctx ends: the end of the run is not to look like a crash.
	request, err := http.NewRequest(http.MethodPost, base+"/v1/keys/"+string(c.kind), bytes.NewReader(body))
	if err != nil {
		panic(err) // an address of ours
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Content-Type", "application/json")
	c.sent = clock.now()
	status, text, err := a.send(request)
	c.answered = clock.now()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		c.fate = unsent
	case err != nil:
		c.fate = unknown
	default:
		c.take(status, text)
	}
	return true
}

func (a *api) send(request *http.Request) (status int, body []byte, err error) {
	response, err := a.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// request writes what the call asks for.
func (c *call) request() any {
	var lease, lapse *string
	if c.ask.lease > 0 {
		text := fmt.Sprintf("%dms", c.ask.lease.Milliseconds())
		lease = &text
	}
	if c.ask.hold {
		text := "hold"
		lapse = &text
	}
	switch c.kind {
	case reserve:
		return wire.ReserveRequest{Name: c.name, Fingerprint: &c.ask.fingerprint, AttemptID: &c.ask.attemptID, Lease: lease, OnLapse: lapse}
	case complete:
		r := wire.CompleteRequest{Name: c.name, LeaseToken: c.ask.token}
		contentOf(c.ask.content).wire(&r)
		return r
	case release:
		return wire.ReleaseRequest{Name: c.name, LeaseToken: c.ask.token, Forget: &c.ask.forget}
	case heartbeat:
		r := wire.HeartbeatRequest{Name: c.name, LeaseToken: c.ask.token, Lease: lease, OnLapse: lapse}
		if c.ask.seq > 0 {
			r.Checkpoint = &wire.Checkpoint{Seq: c.ask.seq, Data: &c.ask.data}
		}
		return r
	}
	return wire.LookupRequest{Name: c.name}
}

// take reads an answer.
func (c *call) take(status int, body []byte) {
	var a struct {
		Outcome string
		Code    string
		Record  *wire.Record
		Lease   *wire.Lease
	}
	c.fate, c.got.status = answered, status
	if err := json.Unmarshal(body, &a); err != nil {
		c.got.code = "no JSON: " + err.Error()
		return
	}
	c.got.code = a.Code
	switch a.Code {
	case "outcome_unknown":
		c.fate = unknown
	case "store_unavailable":
		c.fate = denied
	}
	if a.Lease != nil {
		c.got.token, c.got.takeover = a.Lease.Token, a.Lease.Takeover
		c.got.remaining = time.Duration(a.Lease.RemainingMS) * time.Millisecond
	}
	if a.Record != nil {
		// Only these two show the response of a settled record.
		shows := c.kind == lookup || a.Outcome == wire.OutcomeReplay || a.Code == "response_unavailable"
		seen, err := seenIn(a.Record, shows)
		if err != nil {
			c.got.code = "a record that cannot be read: " + err.Error()
			return
		}
		c.got.record = seen
	}
}

func seenIn(r *wire.Record, shows bool) (*seen, error) {
	s := &seen{state: r.State, fence: r.Fence, attempt: r.Attempt, hold: r.OnLapse == "hold", fingerprint: r.Fingerprint}
	if r.LeaseExpiresAt != nil {
		s.leaseEnd = *r.LeaseExpiresAt
	}
	if r.Checkpoint != nil && r.Checkpoint.Data != nil {
		s.seq, s.data = r.Checkpoint.Seq, strings.Clone(*r.Checkpoint.Data)
	}
	if !shows || (r.State != "completed" && r.State != "failed") {
		return s, nil
	}
	content, err := contentIn(r)
	s.hasContent, s.digest, s.summary = true, content.digest(), content.String()
	return s, err
}
