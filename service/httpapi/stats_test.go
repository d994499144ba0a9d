package httpapi_test

import (
	"testing"
	"time"
)

// Ensure that all six states are counted, as of a time of the store, with the oldest key of those in which somebody still
// has to do something.
func TestStatsCountEveryState(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		keys := s.settle(t, "acme")
		last := keys[len(keys)-1].lookup().time("record.created_at")
		a := s.as(t, "acme").get("/v1/stats")
		if asOf := a.time("as_of"); asOf.Before(last) || asOf.After(last.Add(time.Hour)) {
			t.Errorf("as of %s, and the last key was made at %s", asOf, last)
		}
		for state, want := range map[string]string{"in_progress": "2", "completed": "2", "failed": "1", "released": "2", "abandoned": "1", "uncertain": "1"} {
			a.wantAt("states."+state+".count", want).wantAt("states."+state+".at_least", "false")
		}
		for state, oldest := range map[string]string{"in_progress": "live", "abandoned": "abandoned", "uncertain": "uncertain"} {
			record := s.as(t, "acme").key(oldest).lookup()
			for _, field := range []string{"operation", "subject", "key", "created_at", "lease_expires_at"} {
				a.wantAt("states."+state+".oldest."+field, record.text("record."+field))
			}
		}
		for _, state := range []string{"completed", "failed", "released"} {
			a.wantNone("states." + state + ".oldest")
		}
	})
}

// Ensure that without keys there are six counts of zero and no oldest, and that one operation is counted by itself.
func TestStatsOfOneOperation(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		live(c.key("k"))
		for _, a := range []*answer{c.get("/v1/stats", "operation", "another"), s.as(t, "globex").get("/v1/stats")} {
			for _, state := range states {
				a.wantAt("states."+state+".count", "0").wantAt("states."+state+".at_least", "false").wantNone("states." + state + ".oldest")
			}
		}
		k := c.key("k")
		k.name["operation"] = "another"
		completed(k)
		c.get("/v1/stats", "operation", "another").wantAt("states.completed.count", "1").wantAt("states.in_progress.count", "0")
		c.get("/v1/stats", "operation", "POST /v1/orders").wantAt("states.completed.count", "0").wantAt("states.in_progress.count", "1")
		c.get("/v1/stats").wantAt("states.completed.count", "1").wantAt("states.in_progress.count", "1")
	})
}
