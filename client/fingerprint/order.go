package fingerprint

import (
	"cmp"
	"slices"
)

// The records below exist once for each member and object, and a body can
// consist of little else: 32-bit numbers halve what a hostile body costs.

// member is a member of an object, as offsets into text.
type member struct {
	start    uint32 // of the quote before the name
	nameEnd  uint32 // behind the quote after the name
	end      uint32 // of the value
	unsorted uint32 // index of the first object that can be within the value
}

// object is an object that is out of order, or holds one that is.
type object struct {
	start, end uint32 // in text, brackets included
	first, n   uint32 // its members in order; n is 0 if it was in order itself
	after      uint32 // index of the first object that is not within this one
}

// opened is an object that is being read.
type opened struct {
	member   int // index of its first member in open
	unsorted int // its own index
}

func (c *canonicalizer) beginObject() opened {
	o := opened{member: len(c.open), unsorted: len(c.unsorted)}
	c.unsorted = append(c.unsorted, object{start: c.written()})
	return o
}

// endObject sorts the members, if they need it. It returns false when two of
// them have one name: after sorting they are neighbours, so that finding them
// costs no table of names.
func (c *canonicalizer) endObject(o opened) bool {
	own := c.open[o.member:]
	record := &c.unsorted[o.unsorted]
	if !c.ascending(own) {
		slices.SortFunc(own, c.compareNames)
		if !c.ascending(own) {
			return false
		}
		record.first, record.n = uint32(len(c.members)), uint32(len(own))
		c.members = append(c.members, own...)
	}
	c.open = c.open[:o.member]

	record.end, record.after = c.written(), uint32(len(c.unsorted))
	if record.n == 0 && len(c.unsorted) == o.unsorted+1 {
		c.unsorted = c.unsorted[:o.unsorted] // nothing to arrange in it
	}
	return true
}

// ascending says whether each name is greater than the one before.
func (c *canonicalizer) ascending(members []member) bool {
	for i := 1; i < len(members); i++ {
		if c.compareNames(members[i-1], members[i]) >= 0 {
			return false
		}
	}
	return true
}

// arrange appends text[from:to] to sorted, with the members of all objects in
// order. next is the index of the first object that can start at from or later.
func (c *canonicalizer) arrange(from, to, next uint32) {
	for int(next) < len(c.unsorted) && c.unsorted[next].start < to {
		o := c.unsorted[next]
		if o.n == 0 {
			next++ // copied with what surrounds it, until an object within it
			continue
		}
		c.sorted = append(c.sorted, c.text[from:o.start]...)
		separator := byte('{')
		for _, m := range c.members[o.first : o.first+o.n] {
			c.sorted = append(c.sorted, separator)
			c.arrange(m.start, m.end, m.unsorted)
			separator = ','
		}
		c.sorted = append(c.sorted, '}')
		from, next = o.end, o.after
	}
	c.sorted = append(c.sorted, c.text[from:to]...)
}

// written is the offset of what is written to text next.
func (c *canonicalizer) written() uint32 { return uint32(len(c.text)) }

func (c *canonicalizer) compareNames(a, b member) int {
	return compareNames(c.text[a.start+1:a.nameEnd-1], c.text[b.start+1:b.nameEnd-1])
}

// compareNames compares two canonically spelled names by the UTF-16 code units
// of what they spell (RFC 8785, section 3.2.3).
func compareNames(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		var x, y byte
		x, a = nextByte(a)
		y, b = nextByte(b)
		if x != y {
			return cmp.Compare(utf16Rank(x), utf16Rank(y))
		}
	}
	return cmp.Compare(len(a), len(b))
}

// nextByte returns the first byte that the text of a name spells.
func nextByte(text []byte) (b byte, rest []byte) {
	if text[0] != '\\' {
		return text[0], text[1:]
	}
	switch text[1] {
	case 'u':
		high, _ := hexDigit(text[4])
		low, _ := hexDigit(text[5])
		return byte(high<<4 | low), text[6:]
	case 'b':
		b = '\b'
	case 't':
		b = '\t'
	case 'n':
		b = '\n'
	case 'f':
		b = '\f'
	case 'r':
		b = '\r'
	default:
		b = text[1]
	}
	return b, text[2:]
}

// utf16Rank makes the first different bytes of two UTF-8 texts compare as their
// UTF-16 forms do. The orders differ in one place: code points from U+10000,
// with first bytes from 0xF0, are surrogates in UTF-16, and come before U+E000
// to U+FFFF, with first bytes 0xEE and 0xEF.
func utf16Rank(b byte) byte {
	if b == 0xEE || b == 0xEF {
		return b | 0x10
	}
	return b
}
