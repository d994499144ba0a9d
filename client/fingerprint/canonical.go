package fingerprint

import (
	"bytes"
	"math"
	"slices"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may be nested in a body that counts
// as JSON; a lone [] has depth 1.
const MaxDepth = 512

// maxLen is what the offsets in member and object can hold.
const maxLen = math.MaxUint32

// Canonical returns the canonical form of a JSON text, in new memory, and
// whether body is strictly valid JSON. If it is not, canonical is nil and the
// body is to be compared byte for byte.
//
// The form is that of RFC 8785, except for numbers: no whitespace, strings with
// the fewest escapes, members sorted by the UTF-16 code units of their names,
// and every number spelled as it was. It is never longer than body, and its
// own canonical form is itself.
//
// Strictly valid is RFC 8259 and, beyond it, what makes a text mean the same to
// every reader: valid UTF-8 without a byte order mark, no name twice in one
// object (compared after escapes are undone), no lone surrogate among the
// escapes, nothing behind the value, nesting to [MaxDepth]. A body of 4 GiB or
// more is never read as JSON.
//
// The time is linear in the size of body, times the logarithm of the number of
// members in one object; the memory is linear.
func Canonical(body []byte) (canonical []byte, ok bool) {
	w := workspaces.Get().(*workspace)
	defer w.release()
	form, ok := w.json.canonical(body)
	if !ok {
		return nil, false
	}
	return bytes.Clone(form), true
}

// canonicalizer works in two steps. The first reads src once and writes text:
// canonical but for the order of members, because an object can be sorted only
// when all of it is known. The second copies text into sorted, and takes the
// members in order on the way. Sorting in place at the end of each object would
// move the bytes of a deep value once for each level around it, up to MaxDepth
// times.
type canonicalizer struct {
	src   []byte
	pos   int // in src: the next byte to read
	depth int

	text     []byte
	open     []member // of the objects that are being read, innermost last
	members  []member // of the objects that were out of order, now in order
	unsorted []object // in the order of their start in text
	sorted   []byte
}

// canonical returns the canonical form of src in memory that is valid until the
// next call or reset.
func (c *canonicalizer) canonical(src []byte) (form []byte, ok bool) {
	if uint64(len(src)) > maxLen || !utf8.Valid(src) {
		return nil, false // from here on a byte from 0x80 needs no second look
	}
	c.reset()
	c.src = src
	c.text = slices.Grow(c.text, len(src))
	if !c.value() {
		return nil, false
	}
	c.space()
	if c.pos != len(c.src) {
		return nil, false
	}
	if len(c.unsorted) == 0 {
		return c.text, true
	}
	c.sorted = slices.Grow(c.sorted, len(c.text))
	c.arrange(0, c.written(), 0)
	return c.sorted, true
}

func (c *canonicalizer) reset() {
	*c = canonicalizer{
		text:     reusable(c.text),
		open:     reusable(c.open),
		members:  reusable(c.members),
		unsorted: reusable(c.unsorted),
		sorted:   reusable(c.sorted),
	}
}
