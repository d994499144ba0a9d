package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

var (
	errNotJSON    = errors.New("is not JSON")
	errNotObject  = errors.New("is not a JSON object")
	errDuplicate  = errors.New("has a name twice in one object")
	errSurrogates = errors.New("has half a surrogate pair")
)

// decodeObject reads a JSON object that can be read in one way only.
// encoding/json alone would take the last of two equal names and put U+FFFD for
// bad UTF-8 and for half a surrogate pair, so that whoever signed the token and
// we might read two tenants out of one text (RFC 8725 section 2.6, RFC 8259
// sections 4 and 8). Names keep their case; numbers are json.Number.
func decodeObject(raw []byte) (map[string]any, error) {
	switch {
	case !utf8.Valid(raw):
		return nil, errNotUTF8
	case !json.Valid(raw): // also limits the depth and refuses trailing data
		return nil, errNotJSON
	case hasLoneSurrogate(raw):
		return nil, errSurrogates
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	value, err := decodeValue(dec)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errNotObject
	}
	return object, nil
}

func decodeValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return decodeMembers(dec)
	case json.Delim('['):
		return decodeElements(dec)
	}
	return token, nil
}

func decodeMembers(dec *json.Decoder) (any, error) {
	object := map[string]any{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, errNotJSON
		}
		if _, twice := object[name]; twice {
			return nil, errDuplicate
		}
		if object[name], err = decodeValue(dec); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token() // the closing brace
	return object, err
}

func decodeElements(dec *json.Decoder) (any, error) {
	elements := []any{}
	for dec.More() {
		element, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		elements = append(elements, element)
	}
	_, err := dec.Token() // the closing bracket
	return elements, err
}

// hasLoneSurrogate looks through the escapes of valid JSON, where a backslash
// can only be inside a string.
func hasLoneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		unit, escaped := utf16Escape(raw[i:])
		switch {
		case !escaped:
			i++ // the escaped character, which may be a backslash
			continue
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return true
		case unit >= 0xD800 && unit <= 0xDBFF:
			low, ok := utf16Escape(raw[i+6:])
			if !ok || low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 6
		}
		i += 5
	}
	return false
}

// utf16Escape reads the \uXXXX that b starts with.
func utf16Escape(b []byte) (unit uint64, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return unit, err == nil
}
