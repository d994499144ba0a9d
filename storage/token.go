package storage

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
)

// Token is the secret proof of one acquisition: 128 random bits.
type Token [16]byte

// NewToken makes a token from the system's random source.
func NewToken() (t Token) {
	rand.Read(t[:]) // never fails: crypto/rand ends the program instead
	return t
}

// ParseToken reads the text that String gave. Anything else is no token that was ever handed out.
func ParseToken(s string) (t Token, ok bool) {
	if len(s) != hex.EncodedLen(len(t)) {
		return t, false
	}
	_, err := hex.Decode(t[:], []byte(s))
	return t, err == nil && t.String() == s
}

// String gives 32 lower-case hexadecimal digits.
func (t Token) String() string { return hex.EncodeToString(t[:]) }

// Equal compares in constant time.
func (t Token) Equal(o Token) bool { return subtle.ConstantTimeCompare(t[:], o[:]) == 1 }
