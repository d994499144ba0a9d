package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"
)

// version begins every computed fingerprint. A change of any rule in this
// package needs a new one: records outlive programs.
const version = "v1:"

// Request is what was sent, as far as it decides whether two requests are the
// same. A field that is absent in a request is left empty here; the two are not
// told apart.
type Request struct {
	// Method is compared as it is: methods are case-sensitive in HTTP.
	Method string

	// Target is the request target with its query string, as sent.
	Target string

	// Headers are the lines to compare, name and value: for most requests
	// none. Headers that differ between attempts, such as Date or traceparent,
	// make every retry a mismatch.
	Headers [][2]string

	// ContentType is the value of Content-Type. It decides whether Body is
	// taken as JSON.
	ContentType string

	// Body is the content as bytes, after any encoding that only carried it
	// (base64 in the HTTP API of the service) was undone.
	Body []byte
}

// Of returns the fingerprint of r: "v1:" and a SHA-256 in lower-case hex, 67
// bytes. It fails for no input, does not change r, and may be called from many
// goroutines. Time and memory grow with the size of r, times the logarithm of
// the number of members in a JSON object.
func Of(r Request) string {
	w := workspaces.Get().(*workspace)
	defer w.release()

	contentType, isJSON := normalContentType(r.ContentType)
	tag, body := tagRawBody, r.Body
	if isJSON {
		if canonical, ok := w.json.canonical(r.Body); ok {
			tag, body = tagJSONBody, canonical
		}
	}

	parts := append(w.parts[:0], preamble...)
	parts = appendPart(parts, tagMethod, r.Method)
	parts = appendPart(parts, tagTarget, r.Target)
	parts = appendPart(parts, tagContentType, contentType)
	parts = appendHeaders(parts, r.Headers)
	parts = appendPartHead(parts, tag, len(body))
	w.parts = parts

	w.hash.Reset()
	w.hash.Write(parts)
	w.hash.Write(body) // not copied behind the other parts: it may be large
	return w.text()
}

// workspace is the memory of one computation, kept for the next one.
type workspace struct {
	json  canonicalizer
	parts []byte
	hash  hash.Hash
	sum   [sha256.Size]byte
}

var workspaces = sync.Pool{New: func() any { return &workspace{hash: sha256.New()} }}

func (w *workspace) text() string {
	var text [len(version) + 2*sha256.Size]byte
	copy(text[:], version)
	hex.Encode(text[len(version):], w.hash.Sum(w.sum[:0]))
	return string(text[:])
}

// release gives the workspace back, without what one large request made it
// grow to, so that the pool stays small.
func (w *workspace) release() {
	w.json.reset()
	w.parts = reusable(w.parts)
	workspaces.Put(w)
}

// keptElements bounds a slice that is kept for reuse. 32 Ki is well above a
// usual request and well below what a hostile one makes of it.
const keptElements = 32 << 10

func reusable[T any](s []T) []T {
	if cap(s) > keptElements {
		return nil
	}
	return s[:0]
}
