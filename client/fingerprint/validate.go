package fingerprint

import "fmt"

// MaxLen is the most bytes that a fingerprint may have.
const MaxLen = 128

// Validate checks a fingerprint that a caller made itself: 1 to [MaxLen] bytes
// of visible ASCII, 0x21 to 0x7E. It asks for nothing else, since such a text is
// only ever compared; one that [Of] returned is valid too. The error says what
// is wrong and does not repeat the text.
func Validate(s string) error {
	if len(s) == 0 || len(s) > MaxLen {
		return fmt.Errorf("fingerprint: %d bytes: must be 1 to %d", len(s), MaxLen)
	}
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7E {
			return fmt.Errorf("fingerprint: byte 0x%02X at %d: must be visible ASCII, 0x21 to 0x7E", s[i], i)
		}
	}
	return nil
}
