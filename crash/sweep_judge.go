package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// sweptRow is what the table holds of a name.
type sweptRow struct {
	keeping
	due bool // it may be deleted
}

// readSwept reads the table, past all code of the service.
func (e *sweeping) readSwept(ctx context.Context) (map[wire.Name]sweptRow, error) {
	db, err := sql.Open("pgx", e.url)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	found, err := db.QueryContext(ctx, `SELECT operation, subject, key, replace(token::text, '-', ''), fence, state, lease_expires_at,
		NOT (state = 1 AND on_lapse = 1) AND greatest(expires_at, to_timestamp(sweep_hour * 3600.0)) < now() - interval '1 minute'
		FROM reprise_keys`)
	if err != nil {
		return nil, fmt.Errorf("reading the table: %w", err)
	}
	defer found.Close()
	rows := map[wire.Name]sweptRow{}
	for found.Next() {
		var name wire.Name
		var r sweptRow
		var state int
		if err := found.Scan(&name.Operation, &name.Subject, &name.Key, &r.token, &r.fence, &state, &r.until, &r.due); err != nil {
			return nil, fmt.Errorf("reading a row: %w", err)
		}
		r.state = states[state]
		rows[name] = r
	}
	return rows, found.Err()
}

// judgeSwept names what was acknowledged and is lost, and what is due and still there after a sweep that nobody disturbed.
// Neither a lease nor a retention of what has to be kept ends during the experiment.
func judgeSwept(kept map[wire.Name]keeping, rows map[wire.Name]sweptRow) (found []string) {
	accuse := func(name wire.Name, format string, args ...any) {
		found = append(found, name.Key+": "+fmt.Sprintf(format, args...))
	}
	for name, k := range kept {
		r, ok := rows[name]
		switch {
		case !ok:
			accuse(name, "%s with fence %d was acknowledged, and there is no row", k.state, k.fence)
		case r.token != k.token || r.fence != k.fence:
			accuse(name, "the row is of another acquisition, with fence %d instead of %d", r.fence, k.fence)
		case r.state != k.state:
			accuse(name, "the row is %s instead of %s", r.state, k.state)
		case k.state == "in_progress" && r.until.Before(k.until):
			accuse(name, "the lease of the row ends at %v instead of %v", r.until.Format(time.RFC3339Nano), k.until.Format(time.RFC3339Nano))
		}
	}
	for name, r := range rows {
		if _, wanted := kept[name]; !wanted {
			accuse(name, "a row that nobody keeps is left, due %t", r.due)
		} else if r.due {
			accuse(name, "the row is due, and what it says was acknowledged as kept")
		}
	}
	slices.Sort(found)
	return found
}
