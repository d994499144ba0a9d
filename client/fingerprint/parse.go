package fingerprint

// The methods in this file follow the grammar of RFC 8259. Each reads one
// element at pos, appends its canonical spelling to text, and says whether the
// element was there and valid.

func (c *canonicalizer) value() bool {
	c.space()
	if c.pos == len(c.src) {
		return false
	}
	switch c.src[c.pos] {
	case '{':
		return c.nested(c.object)
	case '[':
		return c.nested(c.array)
	case '"':
		return c.string()
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	default:
		return c.number()
	}
}

// nested bounds the recursion of the methods here and of arrange.
func (c *canonicalizer) nested(read func() bool) bool {
	c.depth++
	ok := c.depth <= MaxDepth && read()
	c.depth--
	return ok
}

func (c *canonicalizer) object() bool {
	o := c.beginObject()
	return c.list('{', '}', c.member) && c.endObject(o)
}

func (c *canonicalizer) array() bool {
	return c.list('[', ']', c.value)
}

// list reads elements between two brackets, with commas between them.
func (c *canonicalizer) list(first, last byte, element func() bool) bool {
	c.take(first)
	c.space()
	if c.take(last) {
		return true
	}
	for {
		if !element() {
			return false
		}
		c.space()
		if c.take(last) {
			return true
		}
		if !c.take(',') {
			return false
		}
	}
}

func (c *canonicalizer) member() bool {
	m := member{start: c.written()}
	c.space()
	if !c.at('"') || !c.string() {
		return false
	}
	m.nameEnd = c.written()
	c.space()
	if !c.take(':') {
		return false
	}
	m.unsorted = uint32(len(c.unsorted))
	if !c.value() {
		return false
	}
	m.end = c.written()
	c.open = append(c.open, m)
	return true
}

func (c *canonicalizer) literal(word string) bool {
	end := c.pos + len(word)
	if end > len(c.src) || string(c.src[c.pos:end]) != word {
		return false
	}
	c.text = append(c.text, word...)
	c.pos = end
	return true
}

// number keeps the text as it is; see the package comment.
func (c *canonicalizer) number() bool {
	start := c.pos
	c.skip('-')
	if !c.skip('0') && c.digits() == 0 {
		return false
	}
	if c.skip('.') && c.digits() == 0 {
		return false
	}
	if c.skip('e') || c.skip('E') {
		if !c.skip('+') {
			c.skip('-')
		}
		if c.digits() == 0 {
			return false
		}
	}
	c.text = append(c.text, c.src[start:c.pos]...)
	return true
}

func (c *canonicalizer) digits() (n int) {
	for c.pos < len(c.src) && '0' <= c.src[c.pos] && c.src[c.pos] <= '9' {
		c.pos++
		n++
	}
	return n
}

func (c *canonicalizer) space() {
	for c.pos < len(c.src) {
		switch c.src[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

func (c *canonicalizer) at(b byte) bool { return c.pos < len(c.src) && c.src[c.pos] == b }

// skip reads b, if it is next.
func (c *canonicalizer) skip(b byte) bool {
	if !c.at(b) {
		return false
	}
	c.pos++
	return true
}

// take reads b, if it is next, and writes it.
func (c *canonicalizer) take(b byte) bool {
	if !c.skip(b) {
		return false
	}
	c.text = append(c.text, b)
	return true
}
