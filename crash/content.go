package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"unicode/utf8"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// contentID names the content of a completion. The content is made of it whenever it is needed, so that a history of
// many completions stays small.
type contentID uint64

// digest stands for a content: equal only if every byte of it is.
type digest [sha256.Size]byte

// content is the outcome of the work, as a completion gives it and a replay gives it back.
type content struct {
	result     string
	resourceID string
	response   *response // nil: none was given
}

type response struct {
	status  int // 0: none was given
	headers [][2]string
	body    []byte // nil: none was given
	dropped bool   // the service says that it did not keep it, which it must
}

// alphabet has what text encodings stumble over: quotes, markup, several bytes a letter, a separator, and NUL.
var alphabet = []rune("abc xyz 0123456789 \"\\/<>&' \n\r\t éß ы 漢字 😀 \u2028 \u0000 \ufffd")

// contentOf makes the content of an id: unique, of any size up to some 100 kB, text or binary, or hardly anything.
func contentOf(id contentID) content {
	rng := rand.New(rand.NewPCG(uint64(id), 1))
	c := content{result: "completed", resourceID: fmt.Sprintf("r-%d", id)}
	if rng.IntN(10) == 0 {
		c.result = "failed"
	}
	if rng.IntN(20) == 0 {
		return c
	}
	c.response = &response{}
	if rng.IntN(10) > 0 {
		c.response.status = 100 + rng.IntN(900)
	}
	for range rng.IntN(5) {
		name := []string{"Content-Type", "X-Trace", "x-trace", "ETag", "X-Empty"}[rng.IntN(5)]
		value := []string{"", "é ы", `W/"a,b"`, "a  b", fmt.Sprint(rng.Uint64())}[rng.IntN(5)]
		c.response.headers = append(c.response.headers, [2]string{name, value})
	}
	switch size := sizeOf(rng); rng.IntN(12) {
	case 0: // no body
	case 1:
		c.response.body = []byte{}
	case 2, 3, 4, 5, 6:
		for len(c.response.body) < size {
			c.response.body = append(c.response.body, string(alphabet[rng.IntN(len(alphabet))])...)
		}
	default:
		c.response.body = make([]byte, size)
		for i := range c.response.body {
			c.response.body[i] = byte(rng.Uint32())
		}
	}
	return c
}

func sizeOf(rng *rand.Rand) int {
	switch p := rng.IntN(100); {
	case p < 70:
		return 1 + rng.IntN(200)
	case p < 98:
		return 1 + rng.IntN(4<<10)
	}
	return 1 + rng.IntN(100<<10)
}

// digest hashes a content, each part with its length, so that nothing can move from one part to another.
func (c content) digest() digest {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%q %q %t", c.result, c.resourceID, c.response != nil)
	if r := c.response; r != nil {
		fmt.Fprintf(&b, " %d %q %t %t %d\n", r.status, r.headers, r.body != nil, r.dropped, len(r.body))
		b.Write(r.body)
	}
	return sha256.Sum256(b.Bytes())
}

// String tells a content in a few words.
func (c content) String() string {
	if c.response == nil {
		return fmt.Sprintf("%s %s, no response", c.result, c.resourceID)
	}
	r := c.response
	return fmt.Sprintf("%s %s, status %d, %d header lines, body of %d bytes (nil %t, dropped %t) %.24q",
		c.result, c.resourceID, r.status, len(r.headers), len(r.body), r.body == nil, r.dropped, r.body)
}

// wire writes the content into a request.
func (c content) wire(r *wire.CompleteRequest) {
	r.Result, r.ResourceID = &c.result, &c.resourceID
	if c.response == nil {
		return
	}
	r.Response = &wire.Response{Headers: c.response.headers}
	if c.response.status != 0 {
		r.Response.Status = &c.response.status
	}
	if c.response.body == nil {
		return
	}
	body, encoding := base64.StdEncoding.EncodeToString(c.response.body), "base64"
	if utf8.Valid(c.response.body) {
		body, encoding = string(c.response.body), "utf-8"
	}
	r.Response.Body, r.Response.BodyEncoding = &body, &encoding
}

// contentIn reads the content out of a record that shows its response.
func contentIn(r *wire.Record) (content, error) {
	c := content{result: r.State}
	if r.ResourceID != nil {
		c.resourceID = *r.ResourceID
	}
	if r.Response == nil {
		return c, nil
	}
	c.response = &response{headers: r.Response.Headers, dropped: r.ResponseDropped || len(r.DroppedHeaders) > 0}
	if r.Response.Status != nil {
		c.response.status = *r.Response.Status
	}
	if r.Response.Body == nil {
		return c, nil
	}
	if r.Response.BodyEncoding != nil && *r.Response.BodyEncoding == "base64" {
		body, err := base64.StdEncoding.DecodeString(*r.Response.Body)
		c.response.body = append([]byte{}, body...)
		return c, err
	}
	c.response.body = []byte(*r.Response.Body)
	return c, nil
}
