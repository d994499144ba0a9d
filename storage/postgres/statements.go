package postgres

import (
	"fmt"
	"strings"
)

// columns of a row beside its name, with the type of the array that carries them. The order is that of the table.
var columns = []struct{ name, typ string }{
	{"fingerprint", "text"},
	{"attempt_id", "text"},
	{"earlier_attempt_ids", "text"},
	{"holder", "text"},
	{"token", "uuid"},
	{"created_at", "timestamptz"},
	{"fence", "bigint"},
	{"lease_ms", "bigint"},
	{"retention_ms", "bigint"},
	{"attempt", "integer"},
	{"sweep_hour", "integer"},
	{"takeover", "boolean"},
	{"on_lapse", "smallint"},
	{"state", "smallint"},
	{"revision", "integer"},
	{"version", "integer"},
	{"updated_at", "timestamptz"},
	{"lease_expires_at", "timestamptz"},
	{"expires_at", "timestamptz"},
	{"settled_at", "timestamptz"},
	{"checkpoint_seq", "bigint"},
	{"last_error", "text"},
	{"resource_id", "text"},
	{"result_hash", "bytea"},
	{"body_dropped", "boolean"},
	{"status", "smallint"},
	{"checkpoint", "bytea"},
	{"headers", "bytea"},
	{"body", "bytea"},
}

// contents are the columns that may be large. An update that leaves them alone takes them from the row, so that a
// heartbeat does not write a checkpoint anew.
var contents = map[string]string{"checkpoint": "keep_checkpoint", "headers": "keep_response", "body": "keep_response"}

const nameColumns = "tenant, operation, subject, key"

// Each part of a name is an array of its own, the tenant too: with a scalar the planner walks the whole operation for
// every group.
const sameName = `k.tenant = c.tenant AND k.operation = c.operation AND k.subject = c.subject AND k.key = c.key`

var (
	// loadSQL reads the rows of a group. Times come back as they are stored; the clock is a statement of its own.
	loadSQL = `SELECT c.n, ` + qualified("k") + `
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS c(` + nameColumns + `, n)
JOIN reprise_keys AS k ON ` + sameName

	// heldSQL finds the names that have a live lease.
	heldSQL = `SELECT c.n
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS c(` + nameColumns + `, n)
JOIN reprise_keys AS k ON ` + sameName + `
WHERE k.state = 1 AND k.lease_expires_at > now()`

	// insertSQL makes the rows that were absent. A rival that was quicker wins, and is read in the next round: its row
	// cannot be seen by this statement. One that comes too late makes none: its fence could be an old one by then.
	insertSQL = `INSERT INTO reprise_keys (` + nameColumns + `, ` + list("") + `)
SELECT ` + nameColumns + `, ` + list("") + `
FROM ` + unnest("valid_before timestamptz") + `
WHERE now() < c.valid_before
ON CONFLICT DO NOTHING
RETURNING token`

	// updateSQL replaces the rows that are still as they were read: the token tells the acquisition, the revision every
	// write since, and with them the state. now() is when the transaction began, before any wait for a lock (on Citus an
	// update like this one cannot have a later clock): who waits past the end of a record is judged by when it came.
	updateSQL = `UPDATE reprise_keys AS k SET ` + assignments() + `
FROM ` + unnest("valid_before timestamptz", "prev_token uuid", "prev_revision integer", "keep_checkpoint boolean", "keep_response boolean") + `
WHERE ` + sameName + `
  AND k.token = c.prev_token AND k.revision = c.prev_revision AND now() < c.valid_before
RETURNING c.n`
)

func list(prefix string) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = prefix + c.name
	}
	return strings.Join(names, ", ")
}

func qualified(alias string) string { return list(alias + ".") }

// unnest builds the row source of a write: the name, the columns, and what is added to them.
func unnest(more ...string) string {
	var args, names []string
	add := func(name, typ string) {
		args = append(args, fmt.Sprintf("$%d::%s[]", len(args)+1, typ))
		names = append(names, name)
	}
	for _, n := range strings.Split(nameColumns, ", ") {
		add(n, "text")
	}
	for _, c := range columns {
		add(c.name, c.typ)
	}
	for _, m := range more {
		name, typ, _ := strings.Cut(m, " ")
		add(name, typ)
	}
	return "unnest(" + strings.Join(args, ", ") + ")\n  WITH ORDINALITY AS c(" + strings.Join(names, ", ") + ", n)"
}

func assignments() string {
	sets := make([]string, len(columns))
	for i, c := range columns {
		sets[i] = c.name + " = c." + c.name
		if keep, ok := contents[c.name]; ok {
			sets[i] = fmt.Sprintf("%[1]s = CASE WHEN c.%[2]s THEN k.%[1]s ELSE c.%[1]s END", c.name, keep)
		}
	}
	return strings.Join(sets, ", ")
}
