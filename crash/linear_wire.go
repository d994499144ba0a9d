package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

// settleWith draws what a call settles, and gives the result that belongs to it.
func (a *asked) settleWith(rng *rand.Rand) storage.State {
	a.content = contentID(1 + rng.Uint64()>>1)
	if contentOf(a.content).result == "failed" {
		return storage.Failed
	}
	return storage.Completed
}

// settlement is the content as it is to be stored.
func (a *asked) settlement() content {
	c := contentOf(a.content)
	if a.dropped {
		kept := response{dropped: true}
		if c.response != nil {
			kept.status, kept.headers = c.response.status, c.response.headers
		}
		c.response = &kept
	}
	return c
}

// stands is what package linear knows of the content.
func (a *asked) stands() linear.Content {
	if a.content == 0 {
		return ""
	}
	d := a.settlement().digest()
	return linear.Content(d[:])
}

// request gives what is sent: the name of the call, and its fields.
func (a *asked) request() (call string, fields any) {
	name := a.on.Name
	switch c := a.call.(type) {
	case storage.Reserve:
		return wire.CallReserve, wire.ReserveRequest{Name: name, Fingerprint: &c.Fingerprint, AttemptID: &c.AttemptID, Lease: durationText(c.Lease),
			OnLapse: lapseText(c.OnLapse == storage.Hold), Wait: durationText(a.wait)}
	case storage.Complete:
		r := wire.CompleteRequest{Name: name, LeaseToken: c.Token.String()}
		a.settlement().wire(&r)
		if a.dropped {
			r.ResponseDropped = &a.dropped
		}
		return wire.CallComplete, r
	case storage.Release:
		return wire.CallRelease, wire.ReleaseRequest{Name: name, LeaseToken: c.Token.String(), Reason: &c.Reason, Forget: &c.Forget}
	case storage.Heartbeat:
		r := wire.HeartbeatRequest{Name: name, LeaseToken: c.Token.String(), Lease: durationText(c.Lease), OnLapse: lapseText(c.Hold)}
		if c.Checkpoint != nil {
			r.Checkpoint = &wire.Checkpoint{Seq: c.Checkpoint.Seq, Data: &c.Checkpoint.Data}
		}
		return wire.CallHeartbeat, r
	case storage.Resolve:
		return "resolve", a.resolution(c)
	case storage.Expire:
		return "expire", wire.ExpireRequest{Name: name, Version: versionText(c.Version), Reason: "tidying"}
	}
	r := wire.LookupRequest{Name: name}
	if f := a.call.(storage.Lookup).Fingerprint; f != "" {
		r.Fingerprint = &f
	}
	return wire.CallLookup, r
}

func (a *asked) resolution(c storage.Resolve) wire.ResolveRequest {
	r := wire.ResolveRequest{Name: a.on.Name, To: c.To.String(), Version: versionText(c.Version), Reason: c.By.Reason, Force: &c.Force}
	if a.content != 0 {
		var settled wire.CompleteRequest
		a.settlement().wire(&settled)
		r.Response, r.ResourceID = settled.Response, settled.ResourceID
	}
	return r
}

// isAct tells whether the call is an operator's: it has another path, and no place in a batch.
func (a *asked) isAct() bool {
	switch a.call.(type) {
	case storage.Resolve, storage.Expire:
		return true
	}
	return false
}

func (a *asked) path() string {
	call, _ := a.request()
	if a.isAct() {
		return "/v1/admin/keys/" + call
	}
	return "/v1/keys/" + call
}

func durationText(d time.Duration) *string {
	if d == 0 {
		return nil
	}
	text := fmt.Sprintf("%dms", d.Milliseconds())
	return &text
}

func lapseText(hold bool) *string {
	if !hold {
		return nil
	}
	text := "hold"
	return &text
}

// versionText gives a version that no record has to who knows none.
func versionText(version string) string {
	if version == "" {
		return "none"
	}
	return version
}

// refusalOutcomes are the problems that answer a call.
var refusalOutcomes = map[string]storage.Outcome{
	"in_progress": storage.OutcomeInProgress, "uncertain": storage.OutcomeUncertain, "lease_lost": storage.OutcomeLeaseLost,
	"already_completed": storage.OutcomeAlreadyCompleted, "response_unavailable": storage.OutcomeResponseUnavailable,
	"fingerprint_mismatch": storage.OutcomeFingerprintMismatch, "not_found": storage.OutcomeNotFound,
	"version_conflict": storage.OutcomeVersionConflict,
}

// succeeds is what a call came to that was answered with success; a reserve tells by its status.
func succeeds(c storage.Call, status int) storage.Outcome {
	switch c.(type) {
	case storage.Reserve:
		if status == http.StatusCreated {
			return storage.OutcomeAcquired
		}
		return storage.OutcomeReplay
	case storage.Complete:
		return storage.OutcomeSettled
	case storage.Release:
		return storage.OutcomeReleased
	case storage.Heartbeat:
		return storage.OutcomeRenewed
	case storage.Resolve:
		return storage.OutcomeResolved
	case storage.Expire:
		return storage.OutcomeExpired
	}
	return storage.OutcomeFound
}

// linearAnswer reads an answer. The error is one that no caller should ever see.
func linearAnswer(c storage.Call, status int, body []byte) (fate, *linear.Answer, error) {
	var told struct {
		Outcome, Code string
		Record        *wire.Record
		Lease         *wire.Lease
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return unknown, nil, fmt.Errorf("%d with no JSON: %w", status, err)
	}
	a := &linear.Answer{Outcome: refusalOutcomes[told.Code]}
	switch {
	case told.Code == "outcome_unknown":
		return unknown, nil, nil
	case told.Code == "store_unavailable":
		return denied, nil, nil
	case told.Code == "" && status/100 == 2:
		a.Outcome = succeeds(c, status)
	case a.Outcome == 0:
		return unknown, nil, fmt.Errorf("%T was answered %d %s", c, status, body)
	}
	if told.Lease != nil && a.Outcome == storage.OutcomeAcquired {
		a.Token, _ = storage.ParseToken(told.Lease.Token)
		a.Takeover = told.Lease.Takeover
	}
	if told.Record == nil {
		return answered, a, nil
	}
	var err error
	a.Seen, err = linearSeen(told.Record, a.Outcome)
	return answered, a, err
}

var statesByName = map[string]storage.State{
	"in_progress": storage.InProgress, "completed": storage.Completed, "failed": storage.Failed,
	"released": storage.Released, "abandoned": storage.Abandoned, "uncertain": storage.Uncertain,
}

func linearSeen(r *wire.Record, o storage.Outcome) (s *linear.Seen, err error) {
	s = &linear.Seen{State: statesByName[r.State], Hold: r.OnLapse == "hold", Attempt: r.Attempt, Fence: r.Fence, Version: r.Version,
		Fingerprint: r.Fingerprint}
	if r.LastError != nil {
		s.Reason = *r.LastError
	}
	if r.Checkpoint != nil && r.Checkpoint.Data != nil {
		s.Checkpoint = storage.Checkpoint{Seq: r.Checkpoint.Seq, Data: *r.Checkpoint.Data}
	}
	if r.LeaseExpiresAt != nil {
		if s.LeaseEnd, err = time.Parse(time.RFC3339Nano, *r.LeaseExpiresAt); err != nil {
			return s, err
		}
	}
	shows := o == storage.OutcomeFound || o == storage.OutcomeReplay || o == storage.OutcomeResponseUnavailable
	if shows && s.State.Settled() {
		c, err := contentIn(r)
		if err != nil {
			return s, errors.Join(errors.New("a body that cannot be read"), err)
		}
		d := c.digest()
		s.Content = linear.Content(d[:])
	}
	return s, nil
}
