package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// The last look is at the tables themselves, past all code of the service: this file knows the columns, and nothing of
// the packages that write them.

// columns are the same in both databases, but for the types of the times and of the token.
const columns = `operation, subject, key, fingerprint, attempt_id, earlier_attempt_ids, fence, attempt, on_lapse, state,
	checkpoint_seq, checkpoint, resource_id, body_dropped, status, headers, body, body IS NOT NULL`

var states = map[int]string{1: "in_progress", 2: "completed", 3: "failed", 4: "released"}

// readRows reads the whole table.
func (e *experiment) readRows(ctx context.Context) ([]row, error) {
	if e.cluster != nil {
		return readTable(ctx, "pgx", e.service.databaseURL, `SELECT `+columns+`,
			replace(token::text, '-', ''), (extract(epoch FROM lease_expires_at) * 1000000)::bigint FROM reprise_keys`)
	}
	file := url.URL{Path: strings.TrimPrefix(e.service.databaseURL, "sqlite:")}
	return readTable(ctx, "sqlite", "file:"+file.EscapedPath()+"?mode=ro", `SELECT `+columns+`,
		lower(hex(token)), lease_expires_at FROM reprise_keys`)
}

func readTable(ctx context.Context, driver, dsn, query string) (all []row, err error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if driver == "sqlite" {
		if err := checkIntegrity(ctx, db); err != nil {
			return nil, err
		}
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("reading the table: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return nil, fmt.Errorf("reading a row: %w", err)
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

func checkIntegrity(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check`).Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("the database file is damaged: %s", verdict)
	}
	return nil
}

func scanRow(rows *sql.Rows) (r row, err error) {
	var (
		name                      wire.Name
		earlier, resourceID       string
		lapse, state              int
		seq, status               sql.NullInt64
		checkpoint, headers, body []byte
		dropped, hasBody          bool
		leaseEnd                  int64
	)
	err = rows.Scan(&name.Operation, &name.Subject, &name.Key, &r.seen.fingerprint, &r.attemptID, &earlier, &r.seen.fence,
		&r.seen.attempt, &lapse, &state, &seq, &checkpoint, &resourceID, &dropped, &status, &headers, &body, &hasBody, &r.token, &leaseEnd)
	if err != nil {
		return r, err
	}
	r.name, r.earlier = name, strings.Fields(earlier)
	r.seen.state, r.seen.hold, r.seen.seq, r.seen.data = states[state], lapse == 1, seq.Int64, string(checkpoint)
	if r.seen.state == "in_progress" {
		r.seen.leaseEnd = time.UnixMicro(leaseEnd).UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	if _, err := hex.DecodeString(r.token); err != nil {
		return r, fmt.Errorf("the token of %v: %w", name, err)
	}
	if !r.seen.settled() {
		return r, nil
	}
	if hasBody && body == nil { // which a driver gives for an empty one too
		body = []byte{}
	}
	c := content{result: r.seen.state, resourceID: resourceID}
	if headers != nil {
		var lines struct {
			Kept    [][2]string
			Dropped []string
		}
		if err := json.Unmarshal(headers, &lines); err != nil {
			return r, fmt.Errorf("the header lines of %v: %w", name, err)
		}
		c.response = &response{status: int(status.Int64), headers: lines.Kept, body: body, dropped: dropped || len(lines.Dropped) > 0}
	}
	r.seen.hasContent, r.seen.digest, r.seen.summary = true, c.digest(), c.String()
	return r, nil
}
