package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/browse"
	"github.com/reprise-idempotency/reprise/storage/postgres"
)

// reading is a statement that reads many rows, with the way that it has to go and the rows that it may look at.
type reading struct {
	postgres.Statement
	keys string             // the index by which it reads reprise_keys
	most map[string]float64 // rows that it may examine, by relation; no other relation may be read
}

// Ensure that what people and the sweeper ask goes by its index, and looks at no more rows than it must, whatever the
// planner knows about the table.
func TestBoundedStatementsGoByTheirIndex(t *testing.T) {
	many := 1_000_000
	if testing.Short() {
		many = 300_000
	}
	for _, table := range []struct {
		name    string
		rows    int
		analyse bool
	}{{"empty", 0, false}, {"never analysed", 100_000, false}, {"large", many, true}} {
		t.Run(table.name, func(t *testing.T) {
			address := migrated(t)
			observer := connect(t, address)
			leaveAlone(t, observer)
			fill(t, observer, table.rows)
			fillOpen(t, observer)
			if table.analyse {
				exec(t, observer, `ANALYZE reprise_keys, reprise_open, reprise_audit`)
			}
			s := open(t, address, postgres.Options{MaxConns: 1})
			for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
				t.Run(mode, func(t *testing.T) {
					conn := acquire(t, s)
					exec(t, conn, "SET plan_cache_mode = "+mode)
					readings := readings(t, observer, table.rows)
					prepareReadings(t, conn, readings)
					checkReadings(t, conn, readings)
				})
			}
		})
	}
}

// Ensure that the same holds for plans that were made while the table was empty.
func TestBoundedPlansOutliveTheEmptyTable(t *testing.T) {
	address := migrated(t)
	observer := connect(t, address)
	leaveAlone(t, observer)
	conn := acquire(t, open(t, address, postgres.Options{MaxConns: 1}))
	exec(t, conn, "SET plan_cache_mode = force_generic_plan")
	empty := readings(t, observer, 0)
	prepareReadings(t, conn, empty)
	checkReadings(t, conn, empty)
	const rows = 100_000
	fill(t, observer, rows)
	fillOpen(t, observer)
	checkReadings(t, conn, readings(t, observer, rows))
}

const (
	openKeys  = 500    // that fillOpen makes at most
	pageRows  = 2000   // what a page examines
	countRows = 10_000 // what a count examines
	limit     = 100
	slack     = 100 // rows that a sort by a part of its order reads in advance, and the one that tells the end
)

// fillOpen notes some of the keys as open, all over the table, and makes acts on them.
func fillOpen(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	exec(t, conn, `ALTER TABLE reprise_open SET (autovacuum_enabled = off)`)
	exec(t, conn, `INSERT INTO reprise_open SELECT tenant, created_at, operation, subject, key, fence FROM reprise_keys
		WHERE fence % greatest(1, (SELECT count(*) FROM reprise_keys) / $1) = 0 LIMIT $1`, openKeys)
	exec(t, conn, `INSERT INTO reprise_audit SELECT tenant, created_at, gen_random_uuid(), 1, operation, subject, key, 'actor', '', '', 'reason',
		1, '1.1', 1, 1, 2, '1.2', 1, 1 FROM reprise_open`)
}

// readings are all such statements, with the arguments that make most of them read: spans as long as they get, filters that
// hardly anything fits, pages from the middle of the table.
func readings(t *testing.T, conn *pgx.Conn, rows int) map[string]reading {
	t.Helper()
	whole := func(s browse.Source) browse.Span {
		return browse.Span{Source: s, Tenant: "tenant", From: storage.Position{CreatedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)},
			To: storage.Position{CreatedAt: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)}}
	}
	middle, page, count := whole(browse.All), whole(browse.All), whole(browse.All)
	middle.From = positionOf(t, conn, rows/2)
	page.To, count.To = positionOf(t, conn, pageRows-1), positionOf(t, conn, countRows-1)
	rare := storage.ListQuery{Key: "rare", State: storage.Abandoned}
	group := names(rows, 16)
	at := storage.Sweepable{SweepHour: int32(490000 + rows/2/20000), Fence: int64(rows / 2)}
	nextHour, acquired, noted, counts := postgres.TrackStatements(at.SweepHour, at.Fence, limit)

	const byName, byCreation, bySweep = "reprise_keys_pkey", "reprise_keys_created", "reprise_keys_sweep_fence"
	keys := func(n float64) map[string]float64 { return map[string]float64{"reprise_keys": n} }
	both := func(n float64) map[string]float64 {
		return map[string]float64{"reprise_keys": n, "reprise_open": n + slack}
	}
	return map[string]reading{
		"nth_all":     {postgres.NthStatement(middle, pageRows), byCreation, keys(pageRows + slack)},
		"rows_all":    {postgres.RowsStatement(page, rare, limit), byCreation, keys(pageRows + slack)},
		"counts_all":  {postgres.CountsStatement(count), byCreation, keys(countRows + slack)},
		"nth_open":    {postgres.NthStatement(whole(browse.Open), pageRows), "", map[string]float64{"reprise_open": openKeys + slack}},
		"rows_open":   {postgres.RowsStatement(whole(browse.Open), rare, limit), byName, both(openKeys)},
		"counts_open": {postgres.CountsStatement(whole(browse.Open)), byName, both(openKeys)},
		"held":        {postgres.HeldStatement(group), byName, keys(16)},
		"expired":     {postgres.ExpiredStatement(at, limit), bySweep, keys(limit + slack)},
		"delete":      {postgres.DeleteStatement(group, 1, 1), byName, keys(16)},
		"next_hour":   {nextHour, bySweep, keys(1)},
		"acquired":    {acquired, bySweep, keys(limit + slack)},
		"noted":       {noted, byName, both(limit)},
		"counts":      {counts, byName, both(openKeys)},
		"acts":        {postgres.ActsStatement("tenant", limit), "", map[string]float64{"reprise_audit": limit + slack}},
	}
}

// positionOf gives the place of the n-th row, the newest first; that of the last when there are not so many.
func positionOf(t *testing.T, conn *pgx.Conn, n int) (p storage.Position) {
	t.Helper()
	err := conn.QueryRow(t.Context(), `SELECT created_at, operation, subject, key FROM reprise_keys WHERE created_at > '-infinity' AND tenant = 'tenant'
		ORDER BY created_at DESC, operation DESC, subject DESC, key DESC OFFSET $1 LIMIT 1`, n).Scan(&p.CreatedAt, &p.Operation, &p.Subject, &p.Key)
	if err == pgx.ErrNoRows {
		return storage.Position{CreatedAt: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)}
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func prepareReadings(t *testing.T, conn *pgx.Conn, readings map[string]reading) {
	t.Helper()
	exec(t, conn, "DEALLOCATE ALL")
	for name, r := range readings {
		exec(t, conn, "PREPARE "+name+"_reading AS "+r.SQL)
	}
}

func checkReadings(t *testing.T, conn *pgx.Conn, readings map[string]reading) {
	t.Helper()
	for name, r := range readings {
		p, text := explain(t, conn, name+"_reading", r.Statement)
		if why := r.objection(p); why != "" {
			t.Errorf("%s: %s\n%s", name, why, text)
		}
	}
}

// objection tells what is wrong with a plan.
func (r reading) objection(root plan) (why string) {
	examined := map[string]float64{}
	root.walk(func(p plan) {
		if p.Relation == "" || !strings.HasSuffix(p.NodeType, "Scan") {
			return
		}
		if !strings.HasPrefix(p.NodeType, "Index") || p.Relation == "reprise_keys" && p.Index != r.keys {
			why = fmt.Sprintf("%s of %s by %q", p.NodeType, p.Relation, p.Index)
		}
		examined[p.Relation] += (p.Rows + p.ByFilter + p.ByRecheck) * p.Loops
	})
	for relation, n := range examined {
		if n > r.most[relation] {
			why = fmt.Sprintf("%.0f rows of %s examined, at most %.0f expected", n, relation, r.most[relation])
		}
	}
	return why
}
