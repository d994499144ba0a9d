package fingerprint

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// preamble begins the hashed bytes, so that they are never the hashed bytes of
// another purpose or of another version.
const preamble = "reprise fingerprint v1\n"

// Every part is its tag, its length as 8 bytes, most significant first, and
// its bytes. The length keeps a byte from moving to a neighbour (pay:card and
// 1, or pay and card:1), the tag keeps a part from being read as another.
const (
	tagMethod      byte = 'M'
	tagTarget      byte = 'T'
	tagContentType byte = 'C'
	tagHeaderName  byte = 'N'
	tagHeaderValue byte = 'V'
	tagRawBody     byte = 'B'
	tagJSONBody    byte = 'J'
)

func appendPartHead(dst []byte, tag byte, length int) []byte {
	return binary.BigEndian.AppendUint64(append(dst, tag), uint64(length))
}

func appendPart(dst []byte, tag byte, value string) []byte {
	return append(appendPartHead(dst, tag, len(value)), value...)
}

// appendHeaders appends a name and a value part for each line, sorted by name.
// The sort is stable: lines of one name form a list, and its order has meaning.
func appendHeaders(dst []byte, lines [][2]string) []byte {
	if len(lines) == 0 {
		return dst
	}
	sorted := make([][2]string, len(lines))
	for i, line := range lines {
		sorted[i] = [2]string{lowerASCII(line[0]), line[1]}
	}
	slices.SortStableFunc(sorted, func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
	for _, line := range sorted {
		dst = appendPart(dst, tagHeaderName, line[0])
		dst = appendPart(dst, tagHeaderValue, line[1])
	}
	return dst
}

// normalContentType returns the content type as it is hashed, and whether it
// announces JSON.
func normalContentType(value string) (normal string, isJSON bool) {
	mediaType, parameters, _ := strings.Cut(value, ";")
	mediaType = lowerASCII(strings.Trim(mediaType, " \t"))
	parameters = strings.Trim(parameters, " \t")

	isJSON = mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
	if parameters == "" || isJSON && isCharsetUTF8(parameters) {
		return mediaType, isJSON
	}
	return mediaType + ";" + parameters, isJSON
}

// isCharsetUTF8 knows the one parameter that says nothing about a JSON body and
// that libraries add or leave out from one release to the next. Any other may
// have a meaning, as in "; version=2".
func isCharsetUTF8(parameters string) bool {
	lower := lowerASCII(parameters)
	return lower == `charset=utf-8` || lower == `charset="utf-8"`
}

// lowerASCII leaves all other letters alone, unlike strings.ToLower, for which
// the Kelvin sign is a k: other languages must be able to do the same.
func lowerASCII(s string) string {
	isUpper := func(r rune) bool { return 'A' <= r && r <= 'Z' }
	if strings.IndexFunc(s, isUpper) < 0 {
		return s
	}
	lower := []byte(s)
	for i, b := range lower {
		if 'A' <= b && b <= 'Z' {
			lower[i] = b + ('a' - 'A')
		}
	}
	return string(lower)
}
