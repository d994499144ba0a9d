package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reprise-idempotency/reprise/client/fingerprint"
)

// Do runs fn at most once at a time for the key of op, and gives its result to every caller: to the first, to those who
// wait meanwhile, and to retries. The result travels as JSON; see [DoWith] for another form. All callers get it as it was stored, so
// what JSON leaves out is missing for the first one, too.
//
// What becomes of the key when fn fails is said at [Client.Run]; a failure marked [Final] is recorded, and each caller gets it as a
// [*Failure]. When fn was done and could not be recorded, Do returns the result of fn together with [ErrNotRecorded]: another
// attempt may run it again.
func Do[T any](ctx context.Context, c *Client, op Op, fn func(ctx context.Context, lease *Lease) (T, error)) (T, error) {
	return DoWith(ctx, c, JSON[T](), op, fn)
}

// Codec writes results as bytes, and reads them back.
type Codec[T any] struct {
	ContentType string // of what Encode writes; may be empty
	Encode      func(T) ([]byte, error)
	Decode      func([]byte) (T, error)
}

// JSON is the codec of [Do]: encoding/json, with numbers kept as they are written: in an interface they are [json.Number].
func JSON[T any]() Codec[T] {
	return Codec[T]{
		ContentType: "application/json",
		Encode:      func(v T) ([]byte, error) { return json.Marshal(v) },
		Decode: func(b []byte) (v T, err error) {
			d := json.NewDecoder(bytes.NewReader(b))
			d.UseNumber()
			err = d.Decode(&v)
			return v, err
		},
	}
}

// DoWith is [Do] with a codec. When a result cannot be encoded, or not be read back, its key is completed without it, so that it
// is not run again: the caller gets the result of fn with the codec's error, and retries get [ErrResponseUnavailable].
func DoWith[T any](ctx context.Context, c *Client, codec Codec[T], op Op, fn func(ctx context.Context, lease *Lease) (T, error)) (T, error) {
	var result T     // of fn, as it will be read back
	var failed error // of the codec
	outcome, err := c.Run(ctx, op, func(ctx context.Context, lease *Lease) (*Settlement, error) {
		own, err := fn(ctx, lease)
		if err != nil {
			return nil, err
		}
		var body []byte
		if body, result, failed = codec.roundTrip(own); failed != nil {
			result = own
			return &Settlement{ResponseDropped: true}, nil
		}
		return &Settlement{Response: codec.response(body)}, nil
	})
	if outcome == nil {
		return result, err
	}
	if outcome.Failed {
		return result, errors.Join(err, failureOf(outcome))
	}
	if outcome.How != Replayed {
		return result, errors.Join(err, failed)
	}
	return codec.replay(outcome)
}

// roundTrip encodes a result, and gives it as later callers will get it.
func (codec Codec[T]) roundTrip(own T) (body []byte, result T, err error) {
	if body, err = codec.Encode(own); err != nil {
		return nil, result, fmt.Errorf("reprise: the result cannot be encoded, and is not stored: %w", err)
	}
	if result, err = codec.Decode(body); err != nil {
		return nil, result, fmt.Errorf("reprise: the result cannot be read back, and is not stored: %w", err)
	}
	return body, result, nil
}

func (codec Codec[T]) response(body []byte) *Response {
	r := &Response{Body: body}
	if body == nil {
		r.Body = []byte{}
	}
	if codec.ContentType != "" {
		r.Headers = [][2]string{{"Content-Type", codec.ContentType}}
	}
	return r
}

// replay reads a stored result. One that was resolved by an operator may have none.
func (codec Codec[T]) replay(o *Outcome) (result T, err error) {
	if o.Response == nil || o.Response.Body == nil {
		return result, &Error{Call: "reserve", Status: 200, Detail: "the key is settled, and has no stored result",
			Record: o.Record, kind: ErrResponseUnavailable}
	}
	if result, err = codec.Decode(o.Response.Body); err != nil {
		return result, fmt.Errorf("reprise: the stored result cannot be read: %w", err)
	}
	return result, nil
}

// failureContent is the media type of a stored [Failure]. A failed key may also hold another response, such as an operator's.
const failureContent = "application/vnd.reprise.failure+json"

func failureSettlement(f *Failure) *Settlement {
	body, err := json.Marshal(f)
	if err != nil { // Data is not JSON
		body, _ = json.Marshal(Failure{Code: f.Code, Message: f.Message})
	}
	return &Settlement{Failed: true, Response: &Response{Headers: [][2]string{{"Content-Type", failureContent}}, Body: body}}
}

// failureOf reads a recorded failure.
func failureOf(o *Outcome) *Failure {
	f := Failure{Replayed: o.How == Replayed}
	if o.Response == nil {
		f.Message = "it failed for good; nothing is stored of why"
		return &f
	}
	if o.Response.Header("Content-Type") != failureContent || json.Unmarshal(o.Response.Body, &f) != nil {
		f.Message = string(o.Response.Body)
	}
	return &f
}

// fingerprintOf is that of the JSON of v.
func fingerprintOf(v any) (string, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return fingerprint.Of(fingerprint.Request{ContentType: "application/json", Body: body}), nil
}
