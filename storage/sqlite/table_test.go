package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/reprise-idempotency/reprise/storage/cas"
	"github.com/reprise-idempotency/reprise/storage/storagetest"
)

// Ensure that the rows of SQLite keep the promises of cas.Table.
func TestTable(t *testing.T) {
	storagetest.Table(t, func(t *testing.T) cas.Table { return openAt(t, filepath.Join(t.TempDir(), "reprise.db")).Table() })
}
