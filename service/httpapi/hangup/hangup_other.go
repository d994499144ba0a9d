//go:build !linux

package hangup

import (
	"errors"
	"net"
)

// Possible tells whether connections can be watched: on Linux.
func Possible() bool { return false }

// Watch gives an error.
func Watch(net.Conn, func()) (forget func(), err error) {
	return nil, errors.ErrUnsupported
}
