package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// api is one caller of a service.
type api struct {
	client     *http.Client
	url, token string
}

// repeated counts the answers after which a call was sent once more.
var repeated atomic.Int64

// mostRepeats ends a call that never gets another answer.
const mostRepeats = 10

// post sends a call and wants a status. It does what a 503 advises: a service with more to do than it can says so.
func (a api) post(ctx context.Context, call, body string, want int) (text []byte, err error) {
	for range mostRepeats {
		var status int
		if text, status, err = a.send(ctx, call, body); err != nil || status == want {
			return text, err
		}
		err = fmt.Errorf("%s: %d %s", call, status, text)
		if status != http.StatusServiceUnavailable {
			break
		}
		repeated.Add(1)
	}
	return text, err
}

func (a api) send(ctx context.Context, call, body string) (text []byte, status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+"/v1/keys/"+call, strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := a.client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	return text, answer.StatusCode, err
}

func (a api) reserve(ctx context.Context, key string) (leaseToken string, err error) {
	text, err := a.post(ctx, "reserve", `{"operation":"POST /v1/orders","key":"`+key+`","fingerprint":"amount=100","lease":"5m"}`, http.StatusCreated)
	if err != nil {
		return "", err
	}
	var got struct{ Lease struct{ Token string } }
	err = json.Unmarshal(text, &got)
	return got.Lease.Token, err
}

// response is what is completed with: some 200 bytes.
const response = `{\"id\":\"order-1234567890\",\"status\":\"accepted\",\"amount\":12345,\"currency\":\"EUR\",\"lines\":[{\"sku\":\"A-100\",\"quantity\":1},{\"sku\":\"B-200\",\"quantity\":2}],\"customer\":\"c-42\",\"note\":\"none\"}`

func (a api) complete(ctx context.Context, key, leaseToken string) error {
	_, err := a.post(ctx, "complete", `{"operation":"POST /v1/orders","key":"`+key+`","lease_token":"`+leaseToken+
		`","response":{"status":201,"headers":[["Content-Type","application/json"]],"body":"`+response+`"}}`, http.StatusOK)
	return err
}

func (a api) pair(ctx context.Context, key string) error {
	token, err := a.reserve(ctx, key)
	if err != nil {
		return err
	}
	return a.complete(ctx, key, token)
}
