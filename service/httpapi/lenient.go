package httpapi

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// A complete is never refused for the content of its response, and a response can hold text that is no UTF-8: bytes of
// another encoding, or half of a surrogate pair, as JavaScript's JSON.stringify writes it for a string that was cut.
// Such a body is dropped and marked, such a header line too, and the key is settled.

const replacement = "\uFFFD" // what stands for undecodable text after lenient decoding

// undecodable is a header value that the service cannot keep.
const undecodable = "\xff"

// tolerantComplete reads a complete, and reads it again when nothing but text of its response is at fault.
func tolerantComplete(body []byte, into *wire.CompleteRequest) error {
	refusal := tolerant(body, into)
	if refusal == nil || !blamesResponse(json.Unmarshal(body, new(wire.CompleteRequest))) {
		return refusal
	}
	*into = wire.CompleteRequest{}
	if json.Unmarshal(body, into, jsontext.AllowInvalidUTF8(true)) != nil || into.Response == nil || damaged(into) {
		return refusal
	}
	dropUndecodable(into)
	return nil
}

func blamesResponse(err error) bool {
	var syntactic *jsontext.SyntacticError
	return errors.As(err, &syntactic) && strings.HasPrefix(string(syntactic.JSONPointer), "/response/")
}

// damaged tells that text outside of the response's content is at fault.
func damaged(r *wire.CompleteRequest) bool {
	for _, s := range []string{r.Operation, r.Subject, r.Key, r.LeaseToken, valueOf(r.Result), valueOf(r.ResourceID),
		valueOf(r.Retention), valueOf(r.Response.BodyEncoding)} {
		if strings.Contains(s, replacement) {
			return true
		}
	}
	return false
}

func dropUndecodable(r *wire.CompleteRequest) {
	if strings.Contains(valueOf(r.Response.Body), replacement) {
		dropped := true
		r.Response.Body, r.ResponseDropped = nil, &dropped
	}
	for i, line := range r.Response.Headers {
		if strings.Contains(line[0]+line[1], replacement) {
			r.Response.Headers[i][1] = undecodable
		}
	}
}
