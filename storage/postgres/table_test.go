package postgres_test

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage/cas"
	"github.com/reprise-idempotency/reprise/storage/storagetest"
)

// Ensure that the rows of PostgreSQL keep the promises of cas.Table.
func TestTable(t *testing.T) {
	storagetest.Table(t, func(t *testing.T) cas.Table { return open(t, migrated(t), patient).Table() })
}
