package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/column"
)

var errPoisoned = errors.New("this call cannot be stored")

func unavailable(err error) error { return fmt.Errorf("%w: %w", storage.ErrUnavailable, err) }

// primaryCode gives SQLite's result code without its extension, or -1 for an error that is not SQLite's.
func primaryCode(err error) int {
	var e *sqlitedriver.Error
	if !errors.As(err, &e) {
		return -1
	}
	return e.Code() & 0xff
}

// poisoned tells that the data of a call is to blame; whatever else goes wrong would happen to any other call too.
func poisoned(err error) bool {
	switch primaryCode(err) {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE:
		return true
	}
	return errors.Is(err, errPoisoned) || errors.Is(err, column.ErrUnreadable)
}

func readError(err error) error {
	if poisoned(err) {
		return fmt.Errorf("reading a row: %w", err)
	}
	return unavailable(err)
}

// writeError sorts an error before the commit: nothing was changed.
func writeError(err error) error {
	if poisoned(err) {
		return fmt.Errorf("writing a row: %w", err)
	}
	return unavailable(err)
}

// commitError sorts an error of the commit itself. A lock or a full disk leaves the transaction open, to be rolled
// back; after any other the log may hold it.
func commitError(err error) error {
	switch primaryCode(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL:
		return unavailable(err)
	}
	return fmt.Errorf("%w: %w", storage.ErrOutcomeUnknown, err)
}

// storable refuses what PostgreSQL refuses, so that both backends keep the same texts.
func storable(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("%w: %q is not UTF-8 without NUL", errPoisoned, s)
		}
	}
	return nil
}
