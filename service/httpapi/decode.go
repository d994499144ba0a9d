package httpapi

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-idempotency/reprise/service"
)

// strict refuses a field that is not known: a misspelt "on_lapse" must not be taken for none.
func strict[Request any](body []byte, into *Request) error {
	return decode(body, into, json.RejectUnknownMembers(true), noNullInLists)
}

// noNullInLists refuses null where a list must have a text or a line of two: null is the same as nothing for a field that
// may be left out, and in a list it would be taken for an empty text.
var noNullInLists = json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, _ *string) error { return notNullInList(d) }),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, _ *[2]string) error { return notNullInList(d) }),
))

func notNullInList(d *jsontext.Decoder) error {
	if in, _ := d.StackIndex(d.StackDepth()); in == jsontext.KindBeginArray && d.PeekKind() == jsontext.KindNull {
		return errors.New("null in a list")
	}
	return errors.ErrUnsupported // read it as usual
}

// tolerant ignores a field that is not known: the effect has happened, and a newer client must be able to say so.
func tolerant[Request any](body []byte, into *Request) error { return decode(body, into) }

// acceptsAsJSON refuses a body that does not say that it is JSON.
func acceptsAsJSON(h http.Header) error {
	mediaType, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset, hasCharset := params["charset"]
	switch {
	case len(h.Values("Content-Type")) != 1, err != nil, mediaType != "application/json":
		return &service.Error{Code: service.CodeUnsupportedMedia, Detail: "Content-Type: must be application/json"}
	case hasCharset && !strings.EqualFold(charset, "utf-8"):
		return &service.Error{Code: service.CodeUnsupportedMedia, Detail: "Content-Type: the charset must be utf-8"}
	case h.Get("Content-Encoding") != "":
		return &service.Error{Code: service.CodeUnsupportedMedia, Detail: "Content-Encoding: none is supported"}
	}
	return nil
}

func bodyError(err error, most bound) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &service.Error{Code: service.CodePayloadTooLarge, Detail: fmt.Sprintf("the body is over %d bytes; %s", most.bytes, most.way)}
	}
	return service.Invalid("body", "could not be read whole")
}

// decode reads one JSON object: no name twice, nothing after it, no wrong type, names as they are spelt, valid UTF-8.
func decode(body []byte, into any, options ...json.Options) error {
	switch kind := jsontext.Value(body).Kind(); {
	case len(body) == 0:
		return service.Invalid("body", "is required: a JSON object")
	case kind != '{' && kind != 0:
		return service.Invalid("body", "must be a JSON object")
	}
	err := json.Unmarshal(body, into, options...)
	if err == nil {
		return nil
	}
	var refusal *service.Error
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(err, json.ErrUnknownName) && errors.As(err, &semantic):
		return service.Invalid(field(semantic.JSONPointer), "is not a field of this call")
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntactic):
		return service.Invalid(field(syntactic.JSONPointer), "is given twice")
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &semantic):
		return service.Invalid(field(semantic.JSONPointer), "is given twice")
	case errors.As(err, &syntactic):
		return service.Invalid(field(syntactic.JSONPointer), "is not valid JSON in UTF-8 (byte %d of the body)", syntactic.ByteOffset)
	case errors.As(err, &semantic):
		return service.Invalid(field(semantic.JSONPointer), "must be %s", expected(semantic.GoType))
	}
	return service.Invalid("body", "must be one JSON object in UTF-8")
}

// field names a place as callers write it: "response.headers.0", or "body" for the whole.
func field(p jsontext.Pointer) string {
	if p == "" {
		return "body"
	}
	var parts []string
	for token := range p.Tokens() {
		parts = append(parts, token)
	}
	return clean(strings.Join(parts, "."))
}

// clean keeps a name that a caller made up short and printable.
func clean(s string) string {
	const most = 100
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf) { // control characters, and those that turn the direction of a text
			return '?'
		}
		return r
	}, s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func expected(t reflect.Type) string {
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return expected(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Struct:
		return "an object"
	case reflect.Slice:
		return "an array"
	case reflect.Array:
		return fmt.Sprintf("an array of %d", t.Len())
	}
	return "of another type"
}
