package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// database is the way past the program to what it has stored.
type database struct {
	*sql.DB
	hour string // as its SQL writes one
}

// databaseOf opens the database of a configuration.
func databaseOf(t *testing.T, env []string) database {
	t.Helper()
	driver, dsn, hour := "", "", ""
	for _, variable := range env {
		if url, ok := strings.CutPrefix(variable, "REPRISE_DATABASE_URL="); ok {
			driver, dsn, hour = "pgx", url, "interval '1 hour'"
		}
		if dir, ok := strings.CutPrefix(variable, "REPRISE_DATA_DIR="); ok {
			driver, dsn, hour = "sqlite", "file:"+filepath.Join(dir, "reprise.db")+"?_pragma=busy_timeout(20000)", "3600000000"
		}
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return database{db, hour}
}

func (d database) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := d.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// age makes the settled keys of an operation what they would be, had all of it happened some hours earlier.
func (d database) age(t *testing.T, operation string, hours int) {
	t.Helper()
	d.exec(t, fmt.Sprintf(`UPDATE reprise_keys SET created_at = created_at - %[1]d * %[2]s, lease_expires_at = lease_expires_at - %[1]d * %[2]s,
		expires_at = expires_at - %[1]d * %[2]s, sweep_hour = sweep_hour - %[1]d WHERE operation = '%[3]s'`, hours, d.hour, operation))
}

func (d database) rows(t *testing.T, operation string) (n int) {
	t.Helper()
	if err := d.QueryRowContext(t.Context(), `SELECT count(*) FROM reprise_keys WHERE operation = '`+operation+`'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// settle reserves and completes keys of an operation, to be kept for an hour.
func settle(t *testing.T, url, jwt, operation string, keys int) {
	t.Helper()
	for i := range keys {
		name := fmt.Sprintf(`{"operation":%q,"key":"key-%d"`, operation, i)
		status, body := post(t, url+"/v1/keys/reserve", jwt, name+`,"fingerprint":"f","retention":"1h"}`)
		if status != 201 {
			t.Fatalf("reserve: got %d %s", status, body)
		}
		if status, body := post(t, url+"/v1/keys/complete", jwt, name+`,"lease_token":"`+lease(body)+`"}`); status != 200 {
			t.Fatalf("complete: got %d %s", status, body)
		}
	}
}

// sweptBy reads what sweep printed: one line.
func sweptBy(t *testing.T, o outcome) (r swept) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(o.stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil || strings.Count(o.stdout, "\n") != 1 {
		t.Fatalf("sweep printed %q (%v), want one line of JSON", o.stdout, err)
	}
	return r
}

// Ensure that sweep deletes what is due beside a service that runs on the same database, leaves the rest, and prints what
// it did as a line of JSON; and that the service goes on.
func TestSweep(t *testing.T) {
	for store, configured := range stores(t) {
		t.Run(store, func(t *testing.T) {
			env := append(configured(t), "REPRISE_SWEEP_INTERVAL=0s")
			s := serve(t, env)
			jwt, db := token(t, env), databaseOf(t, env)
			settle(t, s.url, jwt, "old", 7)
			settle(t, s.url, jwt, "young", 3)
			db.age(t, "old", 5)

			o := runProgram(t, env, "sweep")
			r := sweptBy(t, o)
			if o.code != exitOK || r.Due != 7 || r.Deleted != 7 || r.Failed != 0 || r.Kept != 0 {
				t.Errorf("got %d %s%s, want 7 deleted", o.code, o.stdout, o.stderr)
			}
			if r.LagSeconds < 3*3600-60 || r.LagSeconds > 4*3600 || r.TookSeconds <= 0 {
				t.Errorf("got %s: want a lag of three to four hours", o.stdout)
			}
			if old, young := db.rows(t, "old"), db.rows(t, "young"); old != 0 || young != 3 {
				t.Errorf("got %d old and %d young rows, want 0 and 3", old, young)
			}
			settle(t, s.url, jwt, "old", 7) // anew
			if o := runProgram(t, env, "sweep"); o.code != exitOK || sweptBy(t, o) != (swept{TookSeconds: sweptBy(t, o).TookSeconds}) {
				t.Errorf("when nothing is due: got %d %s%s", o.code, o.stdout, o.stderr)
			}
			if old := db.rows(t, "old"); old != 7 {
				t.Errorf("got %d rows that were made anew, want 7", old)
			}
		})
	}
}

// Ensure that sweep ends with 1 when a key could not be deleted, after it has deleted the others and printed both.
func TestSweepTellsWhatItCouldNotDelete(t *testing.T) {
	env := []string{secretVar, "REPRISE_DATA_DIR=" + dataDir(t), "REPRISE_SWEEP_INTERVAL=0s"}
	s := serve(t, env)
	db := databaseOf(t, env)
	settle(t, s.url, token(t, env), "old", 5)
	db.age(t, "old", 5)
	db.exec(t, `CREATE TRIGGER refuse BEFORE DELETE ON reprise_keys WHEN old.key = 'key-2' BEGIN SELECT RAISE(ABORT, 'not this one'); END`)
	o := runProgram(t, env, "sweep")
	if r := sweptBy(t, o); o.code != exitFailure || r.Due != 5 || r.Deleted != 4 || r.Failed != 1 {
		t.Errorf("got %d %s", o.code, o.stdout)
	}
	for _, want := range []string{"could not be deleted", "not this one"} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("the message lacks %q: %s", want, o.stderr)
		}
	}
}

// Ensure that sweep fails, and prints no result, where there is no database: one that does not answer, and a path that is
// wrong, where it makes none.
func TestSweepWithoutADatabase(t *testing.T) {
	dir := dataDir(t)
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing listens":      {[]string{"--database-url", "postgres://u:hidden-password@127.0.0.1:1/db"}, exitFailure, "unavailable"},
		"no such folder":       {[]string{"--data-dir", dir}, exitFailure, filepath.Join(dir, "reprise.db")},
		"no such file":         {[]string{"--database-url", "sqlite:" + dir + "x"}, exitFailure, dir + "x"},
		"no such kind":         {[]string{"--database-url", "mysql://x"}, exitUsage, "sqlite:FILE or postgres://"},
		"an argument too many": {[]string{"now"}, exitUsage, `"now"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := runProgram(t, nil, append([]string{"sweep"}, c.args...)...)
			if o.code != c.code || o.stdout != "" || !strings.Contains(o.stderr, c.want) || strings.Contains(o.stderr, "hidden-password") {
				t.Errorf("got %d %q %q, want %d and a message with %q", o.code, o.stdout, o.stderr, c.code, c.want)
			}
		})
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("sweep made a database where there was none")
	}
}

// Ensure that a service sweeps by itself, at its interval, and one with an interval of zero does not.
func TestServeSweeps(t *testing.T) {
	for store, configured := range stores(t) {
		t.Run(store, func(t *testing.T) {
			env := configured(t)
			never := serve(t, env, "--sweep-interval", "0s")
			jwt, db := token(t, env), databaseOf(t, env)
			settle(t, never.url, jwt, "old", 5)
			db.age(t, "old", 5)
			often := serve(t, env, "--sweep-interval", "20ms")
			for deadline := time.Now().Add(hang); scraped(t, often.url, `reprise_sweeps_total{result="ok"}`) < 5; {
				if time.Now().After(deadline) {
					t.Fatal("the service does not sweep")
				}
			}
			if got := db.rows(t, "old"); got != 0 {
				t.Errorf("got %d rows after five sweeps, want none", got)
			}
			if got := scraped(t, often.url, "reprise_swept_keys_total"); got != 5 {
				t.Errorf("the service says that it deleted %v keys, want 5", got)
			}
			if got := scraped(t, never.url, `reprise_sweeps_total{result="ok"}`) + scraped(t, never.url, `reprise_sweeps_total{result="error"}`); got != 0 {
				t.Errorf("with an interval of zero: got %v sweeps", got)
			}
		})
	}
}
