package metrics_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// Ensure that every series which a service begins with, and every one that comes later, is moved by what it counts, and
// by exactly that: calls, waits, the store's groups, errors and connections, sweeps.
func TestEverySeriesIsMovedByWhatItCounts(t *testing.T) {
	w := &watch{running: run(t), moved: map[string]bool{}}
	begun := w.scrape()
	w.moveCalls(t)
	w.moveBatches(t)
	w.moveWaits(t)
	w.moveLostAnswers(t)
	w.moveHangUps(t)
	w.moveRefusals(t)
	w.moveSweeps(t)
	w.moveOutage(t) // the last: the store does not come back

	end := w.scrape()
	for _, name := range slices.Sorted(maps.Keys(end.values)) {
		_, early := begun.values[name]
		switch {
		case strings.HasPrefix(name, "reprise_build_info"):
			if name != `reprise_build_info{version="v1.2.3"}` || end.values[name] != 1 {
				t.Errorf("got %s %v", name, end.values[name])
			}
		case name == "reprise_store_connections_max":
			if end.values[name] != 8 {
				t.Errorf("got %s %v, want the 8 of the pool", name, end.values[name])
			}
		case early && !w.moved[name]:
			t.Errorf("nothing moved %s", name)
		case !strings.HasPrefix(name, "reprise_"):
			t.Errorf("%s has another prefix", name)
		}
	}
}

// did is what a single call moves when it came to an outcome and went to the store so many times.
func did(call, outcome string, groups int) deltas {
	return deltas{
		fmt.Sprintf(`reprise_calls_total{call=%q,outcome=%q}`, call, outcome): 1,
		fmt.Sprintf(`reprise_request_duration_seconds_count{call=%q}`, call):  1,
		"reprise_store_apply_duration_seconds_count":                          float64(groups),
		"reprise_store_group_calls_count":                                     float64(groups),
		"reprise_requests_in_flight":                                          0,
	}
}

func (w *watch) moveCalls(t *testing.T) {
	c := w.as("acme")
	var lease, other string
	version := func(key string) string {
		return c.post(200, "lookup", named(key))["record"].(map[string]any)["version"].(string)
	}
	w.moves(t, "reserve", func() { lease = c.reserve("k") }, did("reserve", "acquired", 1))
	w.moves(t, "a rival", func() { c.post(409, "reserve", reserveOf("k")) }, did("reserve", "in_progress", 1))
	w.moves(t, "another request", func() { c.post(422, "reserve", reserveOf("k", fields{"fingerprint": "g"})) }, did("reserve", "fingerprint_mismatch", 1))
	w.moves(t, "a mistake", func() { c.post(400, "reserve", named("k")) }, did("reserve", "invalid_request", 0))
	w.moves(t, "a stranger", func() { caller{w.running, "x"}.post(401, "reserve", reserveOf("k")) }, did("reserve", "unauthenticated", 0))
	w.moves(t, "no right", func() { w.as("acme", auth.KeysRead).post(403, "reserve", reserveOf("k")) }, did("reserve", "forbidden", 0))
	w.moves(t, "heartbeat", func() { c.post(200, "heartbeat", named("k", fields{"lease_token": lease})) }, did("heartbeat", "ok", 1))
	w.moves(t, "lookup", func() { c.post(200, "lookup", named("k")) }, did("lookup", "ok", 1))
	w.moves(t, "lookup of nothing", func() { c.post(404, "lookup", named("none")) }, did("lookup", "not_found", 1))
	w.moves(t, "complete", func() { c.post(200, "complete", named("k", fields{"lease_token": lease})) }, did("complete", "ok", 1))
	w.moves(t, "a replay", func() { c.post(200, "reserve", reserveOf("k")) }, did("reserve", "replay", 1))
	other = c.reserve("l")
	w.moves(t, "release", func() { c.post(200, "release", named("l", fields{"lease_token": other})) }, did("release", "ok", 1))
	w.moves(t, "list", func() { c.call(200, http.MethodGet, "/v1/keys", nil) }, did("list", "ok", 0))
	w.moves(t, "stats", func() { c.call(200, http.MethodGet, "/v1/stats", nil) }, did("stats", "ok", 0))
	c.reserve("m")
	act := named("m", fields{"to": "completed", "version": version("m"), "reason": "r", "force": true})
	w.moves(t, "resolve", func() { c.call(200, http.MethodPost, "/v1/admin/keys/resolve", act) }, did("resolve", "ok", 1))
	act = named("m", fields{"version": version("m"), "reason": "r"})
	w.moves(t, "expire", func() { c.call(200, http.MethodPost, "/v1/admin/keys/expire", act) }, did("expire", "ok", 1))
	w.moves(t, "audit", func() { c.call(200, http.MethodGet, "/v1/admin/audit", nil) }, did("audit", "ok", 0))
	w.moves(t, "no call", func() { c.call(404, http.MethodPost, "/v1/keys/nothing", nil) }, deltas{"reprise_requests_in_flight": 0})
}

// A batch is a call, and so is each call in it, which has no time of its own.
func (w *watch) moveBatches(t *testing.T) {
	c := w.as("acme")
	var calls []fields
	for i := range 20 {
		calls = append(calls, reserveOf(fmt.Sprint("batch ", i), fields{"call": "reserve"}))
	}
	calls = append(calls, fields{"call": "steal"}, named("none", fields{"call": "lookup"}))
	want := did("batch", "ok", 1)
	want[`reprise_calls_total{call="reserve",outcome="acquired"}`] = 20
	want[`reprise_calls_total{call="lookup",outcome="not_found"}`] = 1
	want[`reprise_calls_total{call="unknown",outcome="invalid_request"}`] = 1
	want[`reprise_request_duration_seconds_count{call="reserve"}`] = 0
	want[`reprise_request_duration_seconds_count{call="unknown"}`] = 0
	sum := func() float64 {
		return w.scrape().families["reprise_store_group_calls"].Metric[0].GetHistogram().GetSampleSum()
	}
	before := sum()
	w.moves(t, "a batch", func() { c.post(200, "batch", fields{"calls": calls}) }, want)
	if got := sum() - before; got != 21 {
		t.Errorf("the group of the batch: got %v calls, want 21", got)
	}
}

// waiting is a reserve that waits; left tells how it ended.
func (w *watch) waiting(ctx context.Context, c caller, key, wait string) (left chan int) {
	left = make(chan int, 1)
	go func() {
		status, _, _ := c.send(ctx, http.MethodPost, "/v1/keys/reserve", reserveOf(key, fields{"wait": wait}))
		left <- status
	}()
	return left
}

func (w *watch) moveWaits(t *testing.T) {
	c := w.as("acme")
	lease := c.reserve("awaited")
	ended := func(how string, seconds int) deltas {
		return deltas{fmt.Sprintf("reprise_waits_total{end=%q}", how): 1, "reprise_wait_duration_seconds_count": float64(seconds),
			"reprise_waiting": 0, "reprise_requests_in_flight": 0}
	}
	w.moves(t, "a wait in vain", func() { c.post(409, "reserve", reserveOf("awaited", fields{"wait": "1ms"})) }, ended("timed_out", 1))

	ctx, cancel := context.WithCancel(t.Context())
	var left chan int
	w.moves(t, "a waiter who hangs up", func() {
		left = w.waiting(ctx, c, "awaited", "20s")
		w.shows(t, "one waits", deltas{"reprise_waiting": 1, "reprise_requests_in_flight": 1})
		cancel()
		<-left
	}, ended("gone", 1))

	polls := w.scrape().values[`reprise_wait_polls_total{result="ok"}`]
	left = w.waiting(t.Context(), c, "awaited", "20s")
	w.shows(t, "one waits", deltas{"reprise_waiting": 1})
	w.moves(t, "one too many", func() { c.post(409, "reserve", reserveOf("awaited", fields{"wait": "20s"})) },
		deltas{`reprise_waits_total{end="refused"}`: 1, "reprise_wait_duration_seconds_count": 0, "reprise_waiting": 0})
	w.reach(t, "polls", func(now scrape) string {
		if n := now.values[`reprise_wait_polls_total{result="ok"}`]; n <= polls || now.values["reprise_wait_poll_duration_seconds_count"] < n {
			return fmt.Sprintf("%v polls after %v", n, polls)
		}
		w.moved[`reprise_wait_polls_total{result="ok"}`], w.moved["reprise_wait_poll_duration_seconds_count"] = true, true
		return ""
	})
	w.moves(t, "a wait that was worth it", func() {
		c.post(200, "complete", named("awaited", fields{"lease_token": lease}))
		if status := <-left; status != 200 {
			t.Errorf("the waiter got %d, want the replay", status)
		}
	}, deltas{`reprise_waits_total{end="answered"}`: 1, "reprise_wait_duration_seconds_count": 1, "reprise_waiting": -1,
		`reprise_calls_total{call="reserve",outcome="replay"}`: 1})
}

// moveLostAnswers holds up a call in the database, and then cuts its connection off in the middle of the write.
func (w *watch) moveLostAnswers(t *testing.T) {
	c := w.as("acme")
	lease := c.reserve("locked")
	w.exec(`BEGIN`)
	w.exec(`SELECT FROM reprise_keys WHERE key = 'locked' FOR UPDATE`)
	want := did("complete", "outcome_unknown", 1)
	want[`reprise_store_errors_total{kind="outcome_unknown"}`] = 1
	w.moves(t, "a lost answer", func() {
		left := make(chan int, 1)
		go func() {
			status, _, _ := c.send(t.Context(), http.MethodPost, "/v1/keys/complete", named("locked", fields{"lease_token": lease}))
			left <- status
		}()
		w.shows(t, "a call in the database", deltas{"reprise_store_connections_acquired": 1, "reprise_requests_in_flight": 1})
		w.cutOff(t)
		if status := <-left; status != 503 {
			t.Errorf("the call whose connection was cut off: got %d, want 503", status)
		}
		w.exec(`ROLLBACK`)
	}, want)
}

// moveHangUps holds up a call in the database until its caller has gone.
func (w *watch) moveHangUps(t *testing.T) {
	c := w.as("acme")
	w.exec(`BEGIN`)
	w.exec(`LOCK TABLE reprise_keys`)
	ctx, cancel := context.WithCancel(t.Context())
	want := did("lookup", "canceled", 1)
	want[`reprise_store_errors_total{kind="unavailable"}`] = 0 // it is no error of the store
	w.moves(t, "a caller who hangs up", func() {
		left := make(chan error, 1)
		go func() {
			_, _, err := c.send(ctx, http.MethodPost, "/v1/keys/lookup", named("none"))
			left <- err
		}()
		w.shows(t, "a call in the database", deltas{"reprise_store_connections_acquired": 1})
		cancel()
		if err := <-left; err == nil {
			t.Error("the caller who hung up was answered")
		}
	}, want)
	w.exec(`ROLLBACK`)
}

// moveRefusals makes a call that the database does not take, and looks at the connections when none is in use.
func (w *watch) moveRefusals(t *testing.T) {
	c := w.as("acme")
	w.exec(`ALTER TABLE reprise_keys ADD CONSTRAINT refuse CHECK (key <> 'refused')`)
	want := did("reserve", "internal", 1)
	want[`reprise_store_errors_total{kind="refused"}`] = 1
	w.moves(t, "a key that is refused", func() { c.post(500, "reserve", reserveOf("refused")) }, want)
	lease := c.reserve("doomed")
	w.exec(`ALTER TABLE reprise_keys ADD CONSTRAINT doom CHECK (key <> 'doomed' OR attempt = 1)`)
	left := w.waiting(t.Context(), c, "doomed", "20s")
	w.shows(t, "one waits", deltas{"reprise_waiting": 1})
	w.moves(t, "a waiter whom the store fails", func() {
		c.post(200, "release", named("doomed", fields{"lease_token": lease}))
		if status := <-left; status != 500 {
			t.Errorf("the waiter got %d, want 500", status)
		}
	}, deltas{`reprise_waits_total{end="failed"}`: 1, "reprise_waiting": -1})
	w.shows(t, "nothing to do", deltas{"reprise_store_connections_acquired": 0})
	w.reach(t, "idle connections", func(now scrape) string {
		if idle := now.values["reprise_store_connections_idle"]; idle < 1 {
			return fmt.Sprintf("%v are idle", idle)
		}
		w.moved["reprise_store_connections_idle"] = true
		return ""
	})
}

// cutOff ends the connection that waits for ours, once it does.
func (w *watch) cutOff(t *testing.T) {
	t.Helper()
	w.reach(t, "a call waits for the lock", func(scrape) string {
		var cut bool
		err := w.db.QueryRow(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))`).Scan(&cut)
		if err != nil {
			return err.Error()
		}
		return ""
	})
}

func (w *watch) moveSweeps(t *testing.T) {
	c := w.as("acme")
	c.reserve("live", fields{"lease": "1h"})
	c.reserve("abandoned", fields{"lease": "1s", "retention": "24h"})
	c.reserve("uncertain", fields{"lease": "1s", "retention": "1h", "on_lapse": "hold"})
	for _, key := range []string{"live", "abandoned", "uncertain"} {
		w.exec(`UPDATE reprise_keys SET created_at = created_at - interval '10 minutes', fence = fence - 600000000 WHERE key = $1`, key)
	}
	w.age("abandoned", 1)
	w.age("uncertain", 5)
	for i := range 3 {
		key := fmt.Sprint("due ", i)
		c.post(200, "complete", named(key, fields{"lease_token": c.reserve(key, fields{"retention": "1h"})}))
		w.age(key, 5)
	}
	w.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$`)
	w.exec(`CREATE TRIGGER refuse BEFORE DELETE ON reprise_keys FOR EACH ROW WHEN (old.key = 'due 2') EXECUTE FUNCTION refuse()`)
	w.moves(t, "a sweep", func() { w.sweep(t) }, deltas{`reprise_sweeps_total{result="ok"}`: 1, "reprise_swept_keys_total": 2,
		"reprise_sweep_failed_keys_total": 1, "reprise_sweep_duration_seconds_count": 1})
	w.shows(t, "the sweep", deltas{"reprise_sweep_due_keys": 3, "reprise_sweep_kept_keys": 1, `reprise_open_keys{state="in_progress"}`: 1,
		`reprise_open_keys{state="abandoned"}`: 1, `reprise_open_keys{state="uncertain"}`: 1})
	now := w.scrape().values
	if lag := now["reprise_sweep_lag_seconds"]; lag < 3*3600-60 || lag > 4*3600 {
		t.Errorf("the lag of keys that ended four hours ago: got %v s", lag)
	}
	if age := now["reprise_oldest_in_progress_seconds"]; age < 600 || age > 600+hang.Seconds() {
		t.Errorf("the age of a key of ten minutes: got %v s", age)
	}
	var clock float64
	if err := w.db.QueryRow(t.Context(), `SELECT extract(epoch FROM clock_timestamp())::float8`).Scan(&clock); err != nil {
		t.Fatal(err)
	}
	if at := now["reprise_sweep_last_success_timestamp_seconds"]; at > clock+1 || at < clock-hang.Seconds() {
		t.Errorf("the last sweep: got %v, and it is %v", at, clock)
	}

	w.exec(`DROP TRIGGER refuse ON reprise_keys`)
	w.exec(`UPDATE reprise_keys SET state = 2, settled_at = now(), expires_at = now() + interval '1 day' WHERE key IN ('live', 'uncertain')`)
	w.sweep(t)
	w.sweep(t)
	w.shows(t, "when all is done", deltas{"reprise_sweep_due_keys": 0, "reprise_sweep_lag_seconds": 0,
		`reprise_open_keys{state="in_progress"}`: 0, "reprise_oldest_in_progress_seconds": 0})
}

func (w *watch) sweep(t *testing.T) {
	t.Helper()
	if _, err := w.sweeper.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (w *watch) moveOutage(t *testing.T) {
	c := w.as("acme")
	c.reserve("held")
	left := w.waiting(t.Context(), c, "held", "20s")
	w.shows(t, "one waits", deltas{"reprise_waiting": 1})
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	want := did("reserve", "store_unavailable", 1)
	want["reprise_requests_in_flight"] = 0 // besides the one that waits
	want[`reprise_store_errors_total{kind="unavailable"}`] = 1
	w.moves(t, "an outage", func() { c.post(503, "reserve", reserveOf("none")) }, want)
	w.reach(t, "a look of the waiting room", func(now scrape) string {
		const failed = `reprise_wait_polls_total{result="error"}`
		w.moved[failed] = now.values[failed] > 0
		if !w.moved[failed] {
			return "none has failed"
		}
		return ""
	})
	last := w.scrape().values["reprise_sweep_last_success_timestamp_seconds"]
	w.moves(t, "a sweep", func() {
		if _, err := w.sweeper.RunOnce(t.Context()); err == nil {
			t.Error("a sweep of a closed store succeeded")
		}
	}, deltas{`reprise_sweeps_total{result="error"}`: 1, `reprise_sweeps_total{result="ok"}`: 0, "reprise_sweep_duration_seconds_count": 1})
	w.shows(t, "the last success", deltas{"reprise_sweep_last_success_timestamp_seconds": last})
	w.moves(t, "the end", func() {
		w.service.StopWaiting()
		if status := <-left; status != 409 {
			t.Errorf("the waiter got %d, want 409", status)
		}
	}, deltas{`reprise_waits_total{end="shut_down"}`: 1, "reprise_waiting": -1})
}
