package sqlite

import "strings"

// columns of a row beside its name, in the order of the table.
var columns = []string{"fingerprint", "attempt_id", "earlier_attempt_ids", "holder", "token", "created_at", "fence",
	"lease_ms", "retention_ms", "attempt", "sweep_hour", "takeover", "on_lapse", "state", "revision", "version",
	"updated_at", "lease_expires_at", "expires_at", "settled_at", "checkpoint_seq", "last_error", "resource_id",
	"result_hash", "body_dropped", "status", "checkpoint", "headers", "body"}

// contents are the columns that may be large: an update leaves them alone unless they changed.
const contents = 3 // the last ones

const sameName = "tenant = ? AND operation = ? AND subject = ? AND key = ?"

var (
	// loadSQL ends with whether there is a body, because the driver gives nil for an empty one too.
	loadSQL = "SELECT " + strings.Join(columns, ", ") + ", body IS NOT NULL FROM reprise_keys WHERE " + sameName

	insertSQL = "INSERT INTO reprise_keys (" + strings.Join(columns, ", ") + ", tenant, operation, subject, key) VALUES (" +
		strings.Repeat("?, ", len(columns)+3) + "?) ON CONFLICT DO NOTHING"

	// updateSQL replaces a row that is still as it was read: the token tells the acquisition, the revision every write
	// since, and with them the state; the record's end is checked by the caller, under the write lock.
	updateSQL = "UPDATE reprise_keys SET " + assignments() + " WHERE " + sameName + " AND token = ? AND revision = ?"
)

// assignments take one argument a column, and two for each that may be kept: whether it is, and what it becomes.
func assignments() string {
	sets := make([]string, len(columns))
	for i, name := range columns {
		sets[i] = name + " = ?"
		if i >= len(columns)-contents {
			sets[i] = name + " = iif(?, " + name + ", ?)"
		}
	}
	return strings.Join(sets, ", ")
}
