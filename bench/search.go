package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver of what is filled here
)

const (
	manyKeys = 1_000_000
	searches = 21
)

// search asks for what is rare: one abandoned and one uncertain key, and the oldest in progress, among a million settled
// ones of a tenant that are newer.
func search(ctx context.Context, m *machine) error {
	postgres, err := m.database(ctx)
	if err != nil {
		return err
	}
	if err := fillPostgres(ctx, postgres); err != nil {
		return err
	}
	file := filepath.Join(m.Folder, "search.db")
	if err := m.fillSQLite(ctx, file); err != nil {
		return err
	}
	token, err := m.Token(ctx, "bench")
	if err != nil {
		return err
	}
	for _, url := range []string{postgres, "sqlite:" + file} {
		if out, err := m.Command(ctx, "sweep", "--database-url", url).CombinedOutput(); err != nil {
			return fmt.Errorf("sweeping: %w\n%s", err, out)
		}
		server, err := m.serve(ctx, url)
		if err != nil {
			return err
		}
		store, _, _ := strings.Cut(url, ":")
		for _, path := range []string{"/v1/keys?state=abandoned", "/v1/keys?state=uncertain", "/v1/keys?state=failed", "/v1/keys?key_prefix=nobody", "/v1/keys", "/v1/stats"} {
			if err := searchFor(ctx, store, api{client(1), server.url, token}, path); err != nil {
				return err
			}
		}
	}
	return nil
}

func searchFor(ctx context.Context, store string, a api, path string) error {
	var took []time.Duration
	var text []byte
	for range searches {
		began := time.Now()
		var err error
		if text, err = a.get(ctx, path); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	fmt.Printf("%-8s %-28s median %6.1f ms, most %6.1f ms, %d keys, %d bytes\n", store, path, ms(took[searches/2]), ms(took[searches-1]),
		strings.Count(string(text), `"attempt":`), len(text))
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (a api) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	answer, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", path, answer.StatusCode, text)
	}
	return text, err
}

// fillColumns and fillValues make keys that were settled in the last hour, the first three of them open since before:
// abandoned, uncertain and in progress. The values are written for row i of n, and for the time now in microseconds.
const (
	fillColumns = `tenant, operation, subject, key, fingerprint, attempt_id, earlier_attempt_ids, holder, token, created_at, fence, lease_ms,
		retention_ms, attempt, sweep_hour, takeover, on_lapse, state, revision, version, updated_at, lease_expires_at, expires_at, settled_at,
		last_error, resource_id, result_hash, body_dropped, status, headers, body`
	postgresFill = `INSERT INTO reprise_keys (` + fillColumns + `)
		SELECT 'bench', 'POST /v1/orders', 'customer-' || i % 1000, 'key-' || i, 'fp', '', '', 'worker', gen_random_uuid(), at, extract(epoch FROM at) * 1000000, 30000,
		86400000, 1, extract(epoch FROM at) / 3600 + 26, false, CASE WHEN i = 2 THEN 1 ELSE 0 END, CASE WHEN i <= 3 THEN 1 ELSE 2 END, 1, 1, at,
		at + CASE WHEN i = 3 THEN interval '1 day' ELSE interval '30 s' END, at + interval '24 h', CASE WHEN i > 3 THEN at END,
		'', '', CASE WHEN i > 3 THEN '\x00'::bytea END, false, CASE WHEN i > 3 THEN 201 END, CASE WHEN i > 3 THEN '{}'::bytea END, CASE WHEN i > 3 THEN repeat('x', 200)::bytea END
		FROM (SELECT i, now() - interval '1 hour' + i * interval '3 ms' AS at FROM generate_series(1, $1) AS i) AS rows`
	sqliteFill = `WITH RECURSIVE rows(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM rows WHERE i < ?1)
		INSERT INTO reprise_keys (` + fillColumns + `)
		SELECT 'bench', 'POST /v1/orders', 'customer-' || i % 1000, 'key-' || i, 'fp', '', '', 'worker', randomblob(16), at, at, 30000,
		86400000, 1, at / 3600000000 + 26, 0, i = 2, CASE WHEN i <= 3 THEN 1 ELSE 2 END, 1, 1, at,
		at + CASE WHEN i = 3 THEN 86400000000 ELSE 30000000 END, at + 86400000000, CASE WHEN i > 3 THEN at END,
		'', '', CASE WHEN i > 3 THEN x'00' END, 0, CASE WHEN i > 3 THEN 201 END, CASE WHEN i > 3 THEN cast('{}' AS BLOB) END, CASE WHEN i > 3 THEN zeroblob(200) END
		FROM (SELECT i, ?2 + i * 3000 AS at FROM rows)`
)

func fillPostgres(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, postgresFill, manyKeys); err != nil {
		return fmt.Errorf("filling Postgres: %w", err)
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE reprise_keys")
	return err
}

func (m *machine) fillSQLite(ctx context.Context, file string) error {
	if err := m.Migrate(ctx, "sqlite:"+file); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, sqliteFill, manyKeys, time.Now().Add(-time.Hour).UnixMicro()); err != nil {
		return fmt.Errorf("filling SQLite: %w", err)
	}
	return nil
}
