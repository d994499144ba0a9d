package httpapi_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/reprise-idempotency/reprise"
)

// described is openapi.yaml, loaded and validated once.
var described = sync.OnceValues(func() (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(reprise.OpenAPI)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(loader.Context, openapi3.EnableExamplesValidation())
})

// contract is the same description for the checking of messages. For a document of version 3.1 the library compiles
// every schema anew for every message, some 30 ms, only to ask its own validator in the end, because the schemas have
// references and none of the keywords that are new in 3.1. Under another version number it asks it at once.
var contract = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := described()
	if err != nil {
		return nil, err
	}
	quick := *doc
	quick.OpenAPI = "3.0.3"
	return &quick, nil
})

// Ensure that the description of the API is valid OpenAPI 3.1, with examples that fit their schemas.
func TestDescriptionIsValid(t *testing.T) {
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("openapi: %s, want 3.1.0", doc.OpenAPI)
	}
}

// message is one request with its answer.
type message struct {
	method, path string
	sent         http.Header
	body         []byte // of the request
	status       int
	got          http.Header
	answer       []byte
}

// refusedForTheRequest are the statuses that a request which does not fit the description may get.
var refusedForTheRequest = []int{400, 401, 404, 405, 413, 415}

// check holds a message to the description: the answer always, the request unless it was refused for what it is.
func (m message) check() error {
	doc, err := contract()
	if err != nil {
		return err
	}
	in := m.input(doc)
	if in == nil {
		return m.checkUnrouted(doc)
	}
	if !slices.Contains(refusedForTheRequest, m.status) {
		if err := openapi3filter.ValidateRequest(noContext, in); err != nil {
			return fmt.Errorf("the request was taken, but does not fit openapi.yaml: %w", err)
		}
	}
	return m.checkAnswer(in)
}

// input finds the operation; nil when it is not described.
func (m message) input(doc *openapi3.T) *openapi3filter.RequestValidationInput {
	path, _, _ := strings.Cut(m.path, "?")
	item := doc.Paths.Find(path)
	if item == nil || item.GetOperation(m.method) == nil {
		return nil
	}
	r, err := http.NewRequest(m.method, m.path, bytes.NewReader(m.body))
	if err != nil {
		return nil
	}
	if r.Header = m.sent; m.method == http.MethodGet {
		r.Body = nil
	}
	return &openapi3filter.RequestValidationInput{Request: r, Options: checking,
		Route: &routers.Route{Spec: doc, Path: path, PathItem: item, Method: m.method, Operation: item.GetOperation(m.method)}}
}

var checking = &openapi3filter.Options{
	IncludeResponseStatus: true,
	SkipSettingDefaults:   true,
	MultiError:            true,
	AuthenticationFunc:    openapi3filter.NoopAuthenticationFunc, // what tokens are worth is tested on its own
}

func (m message) checkAnswer(in *openapi3filter.RequestValidationInput) error {
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: m.status, Header: m.got, Options: checking,
		Body: io.NopCloser(bytes.NewReader(m.answer))}
	response := in.Route.Operation.Responses.Status(m.status)
	if response == nil {
		return fmt.Errorf("status %d of %s %s is not described", m.status, m.method, m.path)
	}
	return errors.Join(openapi3filter.ValidateResponse(noContext, out), m.checkHeaderNames(response.Value), m.checkProblem())
}

// checkUnrouted holds the answer to a call that there is not to the two responses that are described for that.
func (m message) checkUnrouted(doc *openapi3.T) error {
	name := map[int]string{404: "NoSuchCall", 405: "MethodNotAllowed"}[m.status]
	if name == "" || m.method == http.MethodHead {
		return nil
	}
	responses := openapi3.NewResponses(openapi3.WithStatus(m.status, doc.Components.Responses[name]))
	in := &openapi3filter.RequestValidationInput{Request: &http.Request{Method: m.method}, Options: checking,
		Route: &routers.Route{Spec: doc, Operation: &openapi3.Operation{Responses: responses}}}
	return m.checkAnswer(in)
}

// everywhere are the headers that HTTP itself adds.
var everywhere = []string{"Content-Type", "Content-Length", "Date", "Connection"}

// checkHeaderNames finds headers that are not described.
func (m message) checkHeaderNames(r *openapi3.Response) error {
	for name := range m.got {
		isIt := func(described string) bool { return strings.EqualFold(name, described) }
		if !slices.ContainsFunc(everywhere, isIt) && !containsKey(r.Headers, isIt) {
			return fmt.Errorf("header %s is not described", name)
		}
	}
	return nil
}

func containsKey(headers openapi3.Headers, isIt func(string) bool) bool {
	for name := range headers {
		if isIt(name) {
			return true
		}
	}
	return false
}

// checkProblem compares what a problem says twice.
func (m message) checkProblem() error {
	if !strings.HasPrefix(m.got.Get("Content-Type"), "application/problem+json") {
		return nil
	}
	p := decoded(m.answer)
	doc, err := described()
	if err != nil {
		return err
	}
	explained, _ := at(doc.Extensions["x-problems"], textAt(p, "code"))
	if got, want := textAt(p, "title"), textAt(explained, "title"); got != want {
		return fmt.Errorf("title is %q, and in x-problems %q", got, want)
	}
	if got, want := textAt(p, "request_id"), m.got.Get("X-Request-Id"); got != want {
		return fmt.Errorf("request_id is %q, and X-Request-Id %q", got, want)
	}
	ms, hasWait := numberAt(p, "retry_after_ms")
	if got, want := m.got.Get("Retry-After"), fmt.Sprint((ms+999)/1000); hasWait && got != want || !hasWait && got != "" {
		return fmt.Errorf("Retry-After is %q with retry_after_ms %d", got, ms)
	}
	return nil
}
