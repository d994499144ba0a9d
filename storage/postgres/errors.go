package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
	"github.com/reprise-idempotency/reprise/storage/column"
)

// ErrRefused says that the database refuses the login: a wrong role, password or database name. It comes with
// storage.ErrUnavailable.
var ErrRefused = errors.New("the database refuses the login")

func unavailable(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code[:2] == "28" || pg.Code == "3D000") { // invalid authorization, invalid catalog name
		return fmt.Errorf("%w: %w: %w", storage.ErrUnavailable, ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
}

// unreadable tells that a row came that was never written so: that row is to blame, and not the connection.
func unreadable(err error) bool { return errors.Is(err, column.ErrUnreadable) }

// reported is an error that the server sent and after which it went on: the statement failed as a whole. FATAL and
// PANIC end the connection, and may come between a commit and its answer.
func reported(err error) (*pgconn.PgError, bool) {
	var pg *pgconn.PgError
	ok := errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR"
	return pg, ok
}

// broken tells that the connection, not the statement, failed.
func broken(err error) bool {
	_, ok := reported(err)
	return !ok && !unreadable(err) && !errors.Is(err, ErrUnsafe)
}

// readError sorts an error of a read: nothing was changed.
func readError(err error) error {
	if pg, ok := reported(err); ok && poisoned(pg) || unreadable(err) {
		return fmt.Errorf("reading a row: %w", err)
	}
	return unavailable(err)
}

// writeError sorts an error of a write by what it says about the row. pgx calls it safe to retry when a connection is
// closed, also when that is how it notices that the answer to a commit is lost: so that is not taken for nothing sent.
func writeError(err error) error {
	pg, ok := reported(err)
	switch {
	case !ok && pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed):
		return unavailable(err) // nothing had been sent
	case !ok:
		return fmt.Errorf("%w: %w", storage.ErrOutcomeUnknown, err)
	case pg.Code == "40003": // statement completion unknown: a distributed database says so of a commit
		return fmt.Errorf("%w: %w", storage.ErrOutcomeUnknown, err)
	case pg.Code == "40P01", pg.Code == "40001": // deadlock detected, serialization failure
		return fmt.Errorf("%w: %w", cas.ErrConflict, err)
	case poisoned(pg):
		return fmt.Errorf("writing a row: %w", err)
	}
	return unavailable(err)
}

// poisoned tells that the data of a call is to blame: class 22 (data exception), 23 (integrity constraint violation) or
// 54 (program limit exceeded). Whatever else the server reports would happen to any other call too.
func poisoned(pg *pgconn.PgError) bool {
	switch pg.Code[:2] {
	case "22", "23", "54":
		return true
	}
	return false
}
