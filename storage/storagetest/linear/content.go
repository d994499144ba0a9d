package linear

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/reprise-idempotency/reprise/storage"
)

// Content stands for the result, the resource id and the response of a settlement: equal only if every byte of them is.
// It is never empty.
type Content string

// ContentOf gives what stands for a settlement. Each part is hashed with its length, so that nothing can move from one to
// another.
func ContentOf(result storage.State, resourceID string, r *storage.Response) Content {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%v %q %t", result, resourceID, r != nil)
	if r != nil {
		fmt.Fprintf(&b, " %d %q %t %t %q %d\n", r.Status, r.Headers, r.Body != nil, r.BodyDropped, r.DroppedHeaders, len(r.Body))
		b.Write(r.Body)
	}
	sum := sha256.Sum256(b.Bytes())
	return Content(sum[:])
}

// String gives enough of it to tell it from others.
func (c Content) String() string { return fmt.Sprintf("%.4x", string(c)) }
