package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
)

// notSent is what pgconn gives when nothing of a message had left.
type notSent struct{ error }

func (notSent) SafeToRetry() bool { return true }

// Ensure that an error of a write is told by its SQLSTATE and severity, never by its text: what may have been stored is
// never called unavailable, and one bad row never an outage.
func TestWriteErrors(t *testing.T) {
	reported := func(code string) error { return &pgconn.PgError{Code: code, SeverityUnlocalized: "ERROR"} }
	fatal := func(code string) error { return &pgconn.PgError{Code: code, SeverityUnlocalized: "FATAL"} }
	for _, c := range []struct {
		name string
		err  error
		want error // nil: the row is to blame
	}{
		{"deadlock detected", reported("40P01"), cas.ErrConflict},
		{"serialization failure", reported("40001"), cas.ErrConflict},
		{"statement completion unknown", reported("40003"), storage.ErrOutcomeUnknown},
		{"lock not available", reported("55P03"), storage.ErrUnavailable},
		{"statement timeout", reported("57014"), storage.ErrUnavailable},
		{"disk full", reported("53100"), storage.ErrUnavailable},
		{"read-only after a failover", reported("25006"), storage.ErrUnavailable},
		{"no such table", reported("42P01"), storage.ErrUnavailable},
		{"untranslatable character", reported("22P05"), nil},
		{"invalid byte sequence", reported("22021"), nil},
		{"unique violation", reported("23505"), nil},
		{"index row too large", reported("54000"), nil},
		{"terminated by an administrator", fatal("57P01"), storage.ErrOutcomeUnknown},
		{"crash shutdown", fatal("57P02"), storage.ErrOutcomeUnknown},
		{"connection cut", io.ErrUnexpectedEOF, storage.ErrOutcomeUnknown},
		{"time limit of the client", context.DeadlineExceeded, storage.ErrOutcomeUnknown},
		{"nothing was sent", notSent{errors.New("broken")}, storage.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := writeError(fmt.Errorf("wrapped: %w", c.err))
			for _, kind := range []error{storage.ErrUnavailable, storage.ErrOutcomeUnknown, cas.ErrConflict} {
				if errors.Is(got, kind) != (kind == c.want) {
					t.Errorf("got %v, want %v", got, c.want)
				}
			}
			if !errors.Is(got, c.err) {
				t.Errorf("%v lost its cause", got)
			}
		})
	}
}

// Ensure that an error of a read never counts as unknown: nothing was changed.
func TestReadErrors(t *testing.T) {
	poisoned := readError(&pgconn.PgError{Code: "22021", SeverityUnlocalized: "ERROR"})
	if errors.Is(poisoned, storage.ErrUnavailable) {
		t.Errorf("got %v for a name that cannot be read, want an error of this call alone", poisoned)
	}
	for _, err := range []error{io.ErrUnexpectedEOF, &pgconn.PgError{Code: "57P01", SeverityUnlocalized: "FATAL"}, &pgconn.PgError{Code: "57014", SeverityUnlocalized: "ERROR"}} {
		if got := readError(err); !errors.Is(got, storage.ErrUnavailable) || errors.Is(got, storage.ErrOutcomeUnknown) {
			t.Errorf("%v: got %v, want unavailable", err, got)
		}
	}
}
