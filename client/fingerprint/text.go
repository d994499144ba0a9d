package fingerprint

import (
	"unicode/utf16"
	"unicode/utf8"
)

// string reads a string, quotes included, and writes it with the fewest
// escapes (RFC 8785, section 3.2.2.2).
func (c *canonicalizer) string() bool {
	c.take('"')
	for {
		start := c.pos
		for c.pos < len(c.src) && isPlain(c.src[c.pos]) {
			c.pos++
		}
		c.text = append(c.text, c.src[start:c.pos]...)
		if c.take('"') {
			return true
		}
		if !c.skip('\\') || !c.escape() {
			return false // the end of the body, a control character, or no such escape
		}
	}
}

func isPlain(b byte) bool { return b >= ' ' && b != '"' && b != '\\' }

// escape reads what follows a backslash.
func (c *canonicalizer) escape() bool {
	if c.pos == len(c.src) {
		return false
	}
	kind := c.src[c.pos]
	c.pos++
	switch kind {
	case 'b', 't', 'n', 'f', 'r', '"', '\\':
		c.text = append(c.text, '\\', kind)
		return true
	case '/':
		c.text = append(c.text, '/')
		return true
	case 'u':
		r, ok := c.codePoint()
		c.text = appendRune(c.text, r)
		return ok
	default:
		return false
	}
}

// codePoint reads what follows \u, with the second half of a surrogate pair. A
// half on its own is refused: it has no UTF-8 form, and readers replace it by
// U+FFFD or not, which would make different texts equal.
func (c *canonicalizer) codePoint() (r rune, ok bool) {
	first, ok := c.hex4()
	if !ok || !utf16.IsSurrogate(first) {
		return first, ok
	}
	if !c.skip('\\') || !c.skip('u') {
		return 0, false
	}
	second, ok := c.hex4()
	if !ok {
		return 0, false
	}
	r = utf16.DecodeRune(first, second) // U+FFFD is in no pair: it tells the failure
	return r, r != utf8.RuneError
}

func (c *canonicalizer) hex4() (r rune, ok bool) {
	if len(c.src)-c.pos < 4 {
		return 0, false
	}
	for _, b := range c.src[c.pos : c.pos+4] {
		digit, ok := hexDigit(b)
		if !ok {
			return 0, false
		}
		r = r<<4 | digit
	}
	c.pos += 4
	return r, true
}

func hexDigit(b byte) (digit rune, ok bool) {
	switch {
	case '0' <= b && b <= '9':
		return rune(b - '0'), true
	case 'a' <= b && b <= 'f':
		return rune(b-'a') + 10, true
	case 'A' <= b && b <= 'F':
		return rune(b-'A') + 10, true
	}
	return 0, false
}

// appendRune appends r as it stands in a canonical string.
func appendRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\t':
		return append(dst, `\t`...)
	case '\n':
		return append(dst, `\n`...)
	case '\f':
		return append(dst, `\f`...)
	case '\r':
		return append(dst, `\r`...)
	}
	if r < ' ' {
		const digits = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&0xF])
	}
	return utf8.AppendRune(dst, r)
}
