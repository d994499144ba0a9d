// Package hangup tells when the other end of a connection hangs up, with one goroutine for all connections: thousands of
// callers wait at once, and a goroutine that reads would cost each of them more than the rest.
package hangup
