package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
	"github.com/reprise-idempotency/reprise/storage/sqlite"
	"github.com/reprise-idempotency/reprise/storage/storagetest"
)

// Ensure that SQLite keeps every promise of storage.Store.
func TestConformance(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storage.Store { return openAt(t, filepath.Join(t.TempDir(), "reprise.db")) })
}

// Ensure that SQLite keeps the promises about rows that are old or many.
func TestRows(t *testing.T) {
	storagetest.Rows(t, func(t *testing.T) (storage.Store, cas.Table) {
		s := openAt(t, filepath.Join(t.TempDir(), "reprise.db"))
		return s, s.Table()
	})
}

// openAt opens a file for the time of a test.
func openAt(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("opening %s: %v", path, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing %s: %v", path, err)
		}
	})
	return s
}
