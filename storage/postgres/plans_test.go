package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
	"github.com/reprise-idempotency/reprise/storage/postgres"
)

// plan is a node of EXPLAIN (FORMAT JSON).
type plan struct {
	NodeType  string  `json:"Node Type"`
	Relation  string  `json:"Relation Name"`
	Index     string  `json:"Index Name"`
	Rows      float64 `json:"Actual Rows"`
	Loops     float64 `json:"Actual Loops"`
	ByFilter  float64 `json:"Rows Removed by Filter"`
	ByRecheck float64 `json:"Rows Removed by Index Recheck"`
	ByJoin    float64 `json:"Rows Removed by Join Filter"`
	Children  []plan  `json:"Plans"`
}

func (p plan) walk(visit func(plan)) {
	visit(p)
	for _, c := range p.Children {
		c.walk(visit)
	}
}

// A group finds its rows through the primary key and touches no others, whatever the planner knows about the table: a
// plan that was made for an empty table is kept while the table grows, and statistics can be missing.
func TestHotStatementsWalkThePrimaryKey(t *testing.T) {
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
			if table.analyse {
				exec(t, observer, `ANALYZE reprise_keys`)
			}
			s := open(t, address, postgres.Options{MaxConns: 1}) // with all that the store's own connections set
			for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
				for _, group := range []int{1, 16, 256} {
					t.Run(fmt.Sprintf("%s, groups of %d", mode, group), func(t *testing.T) {
						conn := acquire(t, s)
						exec(t, conn, "SET plan_cache_mode = "+mode)
						statements := hotStatements(t, names(table.rows, group))
						prepare(t, conn, statements)
						checkPlans(t, conn, statements, group)
					})
				}
			}
		})
	}
}

// The first hours of a new service: its statements are planned while the table is empty.
func TestPlansOutliveTheEmptyTable(t *testing.T) {
	const rows, group = 100_000, 16
	address := migrated(t)
	observer := connect(t, address)
	leaveAlone(t, observer)
	conn := acquire(t, open(t, address, postgres.Options{MaxConns: 1}))
	exec(t, conn, "SET plan_cache_mode = force_generic_plan")
	statements := hotStatements(t, names(rows, group))
	prepare(t, conn, statements)
	checkPlans(t, conn, statements, group)
	fill(t, observer, rows)
	checkPlans(t, conn, statements, group)
}

// acquire takes a connection of the store, with all that the store sets on it, for the time of a test.
func acquire(t *testing.T, s *postgres.Store) *pgx.Conn {
	t.Helper()
	conn, err := s.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Release)
	return conn.Conn()
}

// leaveAlone keeps the server from looking at the table by itself. Full pages only make it dearer to walk past the
// index, and the filling three times as fast.
func leaveAlone(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	exec(t, conn, `ALTER TABLE reprise_keys SET (autovacuum_enabled = off, fillfactor = 100)`)
}

// fill makes rows of one tenant and one operation: there, a plan that forgets one part of the name walks everything. The
// newest come first by their names and by their fences; 20,000 share an hour to be swept.
func fill(t *testing.T, conn *pgx.Conn, rows int) {
	t.Helper()
	exec(t, conn, `INSERT INTO reprise_keys (tenant, operation, subject, key, fingerprint, attempt_id, earlier_attempt_ids,
			holder, token, created_at, fence, lease_ms, retention_ms, attempt, sweep_hour, takeover, on_lapse, state,
			revision, version, updated_at, lease_expires_at, expires_at, last_error, resource_id, body_dropped)
		SELECT 'tenant', 'POST /v1/orders', 'subject-' || to_char(n / 1000, 'FM000000'), 'key-' || to_char(n, 'FM0000000'), 'fp', '', '',
			'', '00000000-0000-0000-0000-000000000001', now() - n * interval '1 ms', n, 30000, 86400000, 1, 490000 + n / 20000, false, 0, 1,
			1, 1, now(), now() + interval '1 hour', now() + interval '2 hours', '', '', false
		FROM generate_series(0, $1::int - 1) AS n`, rows)
}

// names gives names from all over the table, in order.
func names(rows, group int) []storage.Name {
	all := make([]storage.Name, group)
	for i := range all {
		n := i * max(rows/group, 1)
		all[i] = storage.Name{Tenant: "tenant", Operation: "POST /v1/orders",
			Subject: fmt.Sprintf("subject-%06d", n/1000), Key: fmt.Sprintf("key-%07d", n)}
	}
	return all
}

// hotStatements are those that read and write a group.
func hotStatements(t *testing.T, group []storage.Name) map[string]postgres.Statement {
	t.Helper()
	var fresh, changes []cas.Change
	for _, n := range group {
		c := reserve(n.Key)
		next := &storage.Record{Name: n, State: storage.Completed, Attempt: 1, Fence: 1, Token: c.Token, Revision: 2}
		prev := &storage.Record{Name: n, State: storage.InProgress, Attempt: 1, Fence: 1, Token: storage.Token{15: 1}, Revision: 1}
		made := *next
		made.Key += "-new"
		changes, fresh = append(changes, cas.Change{Prev: prev, Next: next}), append(fresh, cas.Change{Next: &made})
	}
	insert, update, err := postgres.SaveStatements(append(fresh, changes...))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]postgres.Statement{"load": postgres.LoadStatement(group), "insert": insert, "update": update}
}

func prepare(t *testing.T, conn *pgx.Conn, statements map[string]postgres.Statement) {
	t.Helper()
	exec(t, conn, "DEALLOCATE ALL")
	for name, s := range statements {
		exec(t, conn, "PREPARE "+name+"_group AS "+s.SQL)
	}
}

func checkPlans(t *testing.T, conn *pgx.Conn, statements map[string]postgres.Statement, group int) {
	t.Helper()
	for name, s := range statements {
		p, text := explain(t, conn, name+"_group", s)
		if why := objection(p, name, group); why != "" {
			t.Errorf("%s: %s\n%s", name, why, text)
		}
	}
}

// explain runs a prepared statement, takes its change back, and tells how it was done.
func explain(t *testing.T, conn *pgx.Conn, name string, s postgres.Statement) (plan, string) {
	t.Helper()
	ctx := context.Background()
	places := make([]string, len(s.Args))
	for i := range places {
		places[i] = fmt.Sprint("$", i+1)
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	var text string
	args := append([]any{pgx.QueryExecModeSimpleProtocol}, s.Args...)
	if err := tx.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE "+name+" ("+strings.Join(places, ", ")+")", args...).Scan(&text); err != nil {
		t.Fatalf("explaining: %v", err)
	}
	var plans []struct{ Plan plan }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan, text
}

// objection tells what is wrong with a plan.
func objection(root plan, statement string, group int) (why string) {
	examined, inGroupOrder := 0.0, false
	root.walk(func(p plan) {
		if p.NodeType == "Nested Loop" && p.Children[0].NodeType == "Function Scan" {
			inGroupOrder = true // the outer side leads
		}
		if p.Relation == "reprise_keys" && strings.HasSuffix(p.NodeType, "Scan") {
			if !strings.HasPrefix(p.NodeType, "Index") || p.Index != "reprise_keys_pkey" {
				why = fmt.Sprintf("%s of reprise_keys by %q", p.NodeType, p.Index)
			}
			examined += (p.Rows + p.ByFilter + p.ByRecheck) * p.Loops
		}
		examined += p.ByJoin * p.Loops
	})
	switch {
	case why != "":
	case examined > float64(group):
		why = fmt.Sprintf("%.0f rows examined for a group of %d", examined, group)
	case statement != "insert" && !inGroupOrder:
		why = "the rows are not touched in the order of the group"
	}
	return why
}
