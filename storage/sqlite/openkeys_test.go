package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// Ensure that a count of open keys stops at its bound, and says so.
func TestOpenKeysAreCountedAtLeast(t *testing.T) {
	const many = 12_000
	s := openAt(t, filepath.Join(t.TempDir(), "reprise.db"))
	_, err := s.Pools()["writer"].ExecContext(t.Context(), `WITH RECURSIVE series(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ?)
		INSERT INTO reprise_keys (tenant, operation, subject, key, fingerprint, attempt_id, earlier_attempt_ids, holder, token, created_at,
			fence, lease_ms, retention_ms, attempt, sweep_hour, takeover, on_lapse, state, revision, version, updated_at, lease_expires_at,
			expires_at, last_error, resource_id, body_dropped)
		SELECT 'tenant', 'operation', '', n, 'fp', '', '', '', x'00000000000000000000000000000001', n,
			n, 30000, 86400000, 1, 0, false, 1, 1, 1, 1, n, n, n, '', '', false FROM series`, many)
	if err != nil {
		t.Fatal(err)
	}
	open, err := s.OpenKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c := open.Counts[storage.Uncertain]; !c.AtLeast || c.N > many || c.N < many/2 || len(open.Counts) != 1 {
		t.Errorf("of %d uncertain keys, %d are counted, at least: %v; %v", many, c.N, c.AtLeast, open.Counts)
	}
}
