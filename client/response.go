package client

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// Response is what the work answered, and what a retry gets. The service keeps up to 64 header lines and a body of up to
// 1 MiB by default; what it does not keep is marked in the [Record], and never refused.
type Response struct {
	Status  int         // 100 to 999; 0 for none, as for work that is not HTTP
	Headers [][2]string // name and value, in order
	Body    []byte      // nil for none, which is not the same as an empty one
}

// Header gives the value of the first line of that name, as it is spelled in ASCII without regard to case.
func (r *Response) Header(name string) string {
	for _, line := range r.Headers {
		if equalFold(line[0], name) {
			return line[1]
		}
	}
	return ""
}

func equalFold(a, b string) bool { return len(a) == len(b) && bytes.EqualFold([]byte(a), []byte(b)) }

// wire gives the response as it travels. Bytes that are no text go as base64; a header line that is no UTF-8 would arrive as
// another one, and is left out.
func (r *Response) wire() *wire.Response {
	if r == nil {
		return nil
	}
	var w wire.Response
	if r.Status != 0 {
		w.Status = &r.Status
	}
	for _, line := range r.Headers {
		if utf8.ValidString(line[0]) && utf8.ValidString(line[1]) {
			w.Headers = append(w.Headers, line)
		}
	}
	if r.Body != nil {
		text, encoding := string(r.Body), "utf-8"
		if !utf8.Valid(r.Body) || bytes.IndexByte(r.Body, 0) >= 0 || escapes(r.Body) > len(r.Body)/3 {
			text, encoding = base64.StdEncoding.EncodeToString(r.Body), "base64"
		}
		w.Body, w.BodyEncoding = &text, &encoding
	}
	return &w
}

// escapes is how many bytes JSON adds to a text. Base64 adds a third.
func escapes(text []byte) (n int) {
	for _, b := range text {
		switch {
		case b == '"', b == '\\', b == '\n', b == '\r', b == '\t':
			n++
		case b < ' ':
			n += 5
		}
	}
	return n
}

// responseOf understands a stored response. A body that cannot be read is nil.
func responseOf(w *wire.Response) *Response {
	if w == nil {
		return nil
	}
	r := &Response{Headers: w.Headers}
	if w.Status != nil {
		r.Status = *w.Status
	}
	if w.Body == nil {
		return r
	}
	if textOf(w.BodyEncoding) != "base64" {
		r.Body = []byte(*w.Body)
	} else if body, err := base64.StdEncoding.DecodeString(*w.Body); err == nil {
		r.Body = body
	}
	return r
}
