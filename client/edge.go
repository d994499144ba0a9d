package client

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

const (
	statusHeader   = "Idempotency-Status"  // stored, replayed or conflict
	replayedHeader = "Idempotent-Replayed" // "true" on a replay
)

// replay sends a stored answer.
func replay(w http.ResponseWriter, o *Outcome) {
	if o.Response == nil || o.Response.Status == 0 {
		edgeProblem{status: http.StatusConflict, code: "response_unavailable", conflict: true,
			detail: "the request was done, and its answer is not stored"}.write(w)
		return
	}
	h := w.Header()
	for _, line := range o.Response.Headers {
		h.Del(line[0])
	}
	for _, line := range o.Response.Headers {
		h.Add(line[0], line[1])
	}
	h.Set(statusHeader, "replayed")
	h.Set(replayedHeader, "true")
	if _, typed := h["Content-Type"]; !typed {
		h["Content-Type"] = nil // as it was: nothing is guessed
	}
	w.WriteHeader(o.Response.Status)
	if bodyAllowed(o.Response.Status) {
		_, _ = w.Write(o.Response.Body)
	}
}

// edgeProblem is how a client of the protected API is refused (RFC 9457).
type edgeProblem struct {
	status     int
	code       string
	detail     string
	retryAfter time.Duration
	conflict   bool
}

// refusal is what a client is told when its request did not run.
func refusal(err error, mismatch int) edgeProblem {
	var e *Error
	var after time.Duration
	if errors.As(err, &e) {
		after = e.RetryAfter
	}
	switch {
	case errors.Is(err, ErrInProgress):
		return edgeProblem{http.StatusConflict, "in_progress", "a request with this Idempotency-Key is in progress", max(after, time.Second), true}
	case errors.Is(err, ErrFingerprintMismatch):
		return edgeProblem{mismatch, "fingerprint_mismatch", "this Idempotency-Key was used for another request", 0, true}
	case errors.Is(err, ErrUncertain):
		return edgeProblem{http.StatusConflict, "uncertain", "nobody knows whether the request was done; it is being looked at", 0, true}
	case errors.Is(err, ErrResponseUnavailable):
		return edgeProblem{http.StatusConflict, "response_unavailable", "the request was done, and its answer is not stored", 0, true}
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrRateLimited), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return edgeProblem{http.StatusServiceUnavailable, "unavailable", "the request was not begun; it can be sent again", max(after, time.Second), false}
	}
	return edgeProblem{http.StatusInternalServerError, "internal", "the request was not begun", 0, false}
}

func (p edgeProblem) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	if p.conflict {
		h.Set(statusHeader, "conflict")
	}
	body, _ := json.Marshal(struct { // of texts and a number
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		Code   string `json:"code"`
	}{http.StatusText(p.status), p.status, p.detail, p.code})
	w.WriteHeader(p.status)
	_, _ = w.Write(body)
}
