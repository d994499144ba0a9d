package auth

import "errors"

// ErrUnauthenticated is what every error of [Verifier.Verify] is, by errors.Is.
var ErrUnauthenticated = errors.New("unauthenticated")

// Error says why a token was refused. Its text is for the caller: it names what
// is wrong and holds nothing of the token and nothing of a key. What it wraps is
// for the log and may say more.
type Error struct {
	reason string
	cause  error
}

// Error returns the public reason, such as "token is expired".
func (e *Error) Error() string { return e.reason }

// Unwrap returns the private cause; nil when the reason says it all.
func (e *Error) Unwrap() error { return e.cause }

// Is makes every Error an [ErrUnauthenticated].
func (e *Error) Is(target error) bool { return target == ErrUnauthenticated }

func refuse(reason string, cause error) error { return &Error{reason: reason, cause: cause} }
