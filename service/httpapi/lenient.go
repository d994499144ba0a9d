package httpapi

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-idempotency/reprise/client/wire"
	"github.com/reprise-idempotency/reprise/service"
)

// A complete is never refused for the content of its response, and a response can hold text that is not valid UTF-8: bytes of
// another encoding, or half of a surrogate pair, as JavaScript's JSON.stringify writes it for a string that was cut.
// Such a body is dropped and marked, such a header line too, and the key is settled.

// members are those of a JSON object, each as it stands in the text.
type members map[string]jsontext.Value

// undecodable is a header value that the service never keeps (RFC 9110 section 5.5): so the line is dropped and named.
const undecodable = "\x00"

// tolerantComplete reads a complete, and reads it again without the text of its response that cannot be decoded.
func tolerantComplete(body []byte, into *wire.CompleteRequest) error {
	refusal := tolerant(body, into)
	if refusal == nil {
		return nil
	}
	var whole, response members
	if decodeAnyText(body, &whole) != nil || decodeAnyText(whole["response"], &response) != nil || !dropUndecodable(whole, response) {
		return refusal // it is not for text of the response
	}
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		if name != "response" && !whole[name].IsValid() {
			return service.Invalid(clean(name), "is not valid JSON in UTF-8")
		}
	}
	mended, err := json.Marshal(whole)
	if err != nil {
		return refusal
	}
	*into = wire.CompleteRequest{}
	return tolerant(mended, into)
}

// decodeAnyText takes text as it is, decodable or not.
func decodeAnyText(text jsontext.Value, into any) error {
	return json.Unmarshal(text, into, jsontext.AllowInvalidUTF8(true))
}

// dropUndecodable takes out of a response what cannot be decoded, marks it in the whole request, and tells whether there
// was any.
func dropUndecodable(whole, response members) (dropped bool) {
	for name, value := range response {
		switch {
		case value.IsValid():
			continue
		case name == "headers":
			response[name] = withMarkedLines(value)
		case name == "body", name == "body_encoding": // without its encoding a body would be another one
			whole["response_dropped"] = jsontext.Value("true")
			delete(response, "body")
			delete(response, "body_encoding")
		default:
			delete(response, name)
		}
		dropped = true
	}
	if dropped {
		whole["response"], _ = json.Marshal(response)
	}
	return dropped
}

// withMarkedLines gives header lines of which none is undecodable; one that was has a value that cannot be kept.
func withMarkedLines(text jsontext.Value) jsontext.Value {
	var lines []jsontext.Value
	if decodeAnyText(text, &lines) != nil {
		return text
	}
	for i := range lines {
		var line [2]string
		if !lines[i].IsValid() && decodeAnyText(lines[i], &line) == nil {
			line[1] = undecodable
			lines[i], _ = json.Marshal(line)
		}
	}
	marked, err := json.Marshal(lines)
	if err != nil {
		return text
	}
	return marked
}
