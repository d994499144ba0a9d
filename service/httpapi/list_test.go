package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// get asks a call that has a query. Parameters are given as pairs of name and value.
func (c caller) get(path string, parameters ...string) *answer {
	c.t.Helper()
	q := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		q.Add(parameters[i], parameters[i+1])
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return c.send(http.MethodGet, path, "", nil)
}

// list asks for a page of keys, which has to be one.
func (c caller) list(parameters ...string) *answer {
	c.t.Helper()
	a := c.get("/v1/keys", parameters...)
	if a.status != 200 {
		c.t.Fatalf("list %q: %d %s", parameters, a.status, a.raw)
	}
	return a
}

// items gives the list under a name in an answer.
func (a *answer) items(name string) (all []any) {
	v, _ := at(a.json, name)
	all, _ = v.([]any)
	return all
}

// keysOf gives one field of each record of a page.
func keysOf(a *answer, field string) (values []string) {
	for _, record := range a.items("keys") {
		values = append(values, textAt(record, field))
	}
	return values
}

// pages goes through all pages of a list, and gives one field of each of its items.
func (c caller) pages(path, items, field string, parameters ...string) (values []string) {
	c.t.Helper()
	cursor := []string{}
	for range 1000 {
		a := c.get(path, append(cursor, parameters...)...)
		if a.status != 200 {
			c.t.Fatalf("%s %q: %d %s", path, parameters, a.status, a.raw)
		}
		for _, item := range a.items(items) {
			values = append(values, textAt(item, field))
		}
		next := a.text("next_cursor")
		if next == "" {
			return values
		}
		cursor = []string{"cursor", next}
	}
	c.t.Fatalf("%s %q has no end", path, parameters)
	return nil
}

// zoo is a tenant's keys in every state that there is, the oldest first.
var zoo = []struct {
	key, state string
	make       func(k *key)
}{
	{"abandoned", "abandoned", abandoned},
	{"uncertain", "uncertain", uncertain},
	{"live", "in_progress", live},
	{"live-hold", "in_progress", liveHeld},
	{"released", "released", released},
	{"forgotten", "released", forgotten},
	{"completed", "completed", completed},
	{"dropped", "completed", dropped},
	{"failed", "failed", failed},
}

// settle brings a tenant's keys where they are to be, and waits until what has to run out has.
func (s *server) settle(t *testing.T, tenant string) []*key {
	t.Helper()
	keys := make([]*key, len(zoo))
	for i, z := range zoo {
		keys[i] = s.as(t, tenant).key(z.key)
		z.make(keys[i])
	}
	keys[0].await("abandoned")
	keys[1].await("uncertain")
	return keys
}

// Ensure that a list has every key of the tenant, the newest first, each as lookup shows it but for the response.
func TestListShowsWhatLookupShows(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		keys := s.settle(t, "acme")
		slices.Reverse(keys)
		a := s.as(t, "acme").list()
		a.wantNone("next_cursor")
		records := a.items("keys")
		if len(records) != len(keys) {
			t.Fatalf("%d keys, want %d\n%s", len(records), len(keys), a.raw)
		}
		for i, k := range keys {
			record, _ := at(k.lookup().json, "record")
			delete(record.(map[string]any), "response")
			if got, want := string(must(json.Marshal(records[i]))), string(must(json.Marshal(record))); got != want {
				t.Errorf("%s: the list has\n%s\nand lookup\n%s", k.name["key"], got, want)
			}
		}
		for _, hidden := range []string{`"response":`, `{\"id\"`, "X-Order", keys[0].lease, "attempt-1"} {
			shows(t, a, hidden, false)
		}
	})
}

// Ensure that each filter leaves in what it says, alone and together with others.
func TestListFilters(t *testing.T) {
	all := []string{"100%", "100_", "a", "a/b", "ab", "é", "éa"}
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		for _, operation := range []string{"one", "two"} {
			for _, subject := range []string{"", "customer"} {
				for _, name := range all {
					k := c.key(name)
					k.name["operation"], k.name["subject"] = operation, subject
					k.reserve(fields{"lease": "1h"}).want(201, "acquired")
				}
			}
		}
		for _, f := range []struct {
			parameters []string
			count      int
			keys       []string // of them, in order, without repetition
		}{
			{nil, 28, all},
			{[]string{"operation", "one"}, 14, all},
			{[]string{"operation", "on"}, 0, nil},
			{[]string{"subject", "customer"}, 14, all},
			{[]string{"subject", ""}, 14, all},
			{[]string{"subject", "", "operation", "two"}, 7, all},
			{[]string{"key", "a"}, 4, []string{"a"}},
			{[]string{"key", "100%"}, 4, []string{"100%"}},
			{[]string{"key", "A"}, 0, nil},
			{[]string{"key_prefix", "a"}, 12, []string{"a", "a/b", "ab"}},
			{[]string{"key_prefix", "a/"}, 4, []string{"a/b"}},
			{[]string{"key_prefix", "100%"}, 4, []string{"100%"}},
			{[]string{"key_prefix", "100_"}, 4, []string{"100_"}},
			{[]string{"key_prefix", "%"}, 0, nil},
			{[]string{"key_prefix", "é"}, 8, []string{"é", "éa"}},
			{[]string{"key_prefix", "e"}, 0, nil},
			{[]string{"key", "ab", "operation", "one", "subject", "customer"}, 1, []string{"ab"}},
			{[]string{"key_prefix", "ab", "operation", "one", "subject", "", "state", "in_progress"}, 1, []string{"ab"}},
			{[]string{"key_prefix", "ab", "state", "completed"}, 0, nil},
			{[]string{"tenant", "acme", "operation", "one"}, 14, all},
		} {
			got := keysOf(c.list(append(f.parameters, "limit", "200")...), "key")
			distinct := slices.Compact(slices.Sorted(slices.Values(got)))
			if len(got) != f.count || !slices.Equal(distinct, slices.Sorted(slices.Values(f.keys))) {
				t.Errorf("%q: got %d keys %q, want %d of %q", f.parameters, len(got), distinct, f.count, f.keys)
			}
		}
	})
}

// Ensure that keys are found by their state, derived ones included, and that no other has it.
func TestListByState(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		s.settle(t, "acme")
		for _, state := range states {
			var want []string
			for _, z := range zoo {
				if z.state == state {
					want = append(want, z.key)
				}
			}
			slices.Reverse(want)
			if got := keysOf(s.as(t, "acme").list("state", state), "key"); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", state, got, want)
			}
		}
	})
}

// states are all that a key can be in.
var states = []string{"in_progress", "completed", "failed", "released", "abandoned", "uncertain"}

// Ensure that created_after counts from its very instant, and created_before up to its own, however a time is written.
func TestListByCreation(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		var made []time.Time
		for i := range 3 {
			made = append(made, c.key(fmt.Sprint("k-", i)).reserve().want(201, "acquired").time("record.created_at"))
		}
		at := func(i int, d time.Duration) string { return made[i].Add(d).Format(time.RFC3339Nano) }
		east := made[1].In(time.FixedZone("", 5*60*60+30*60)).Format(time.RFC3339Nano)
		for _, f := range []struct {
			parameters []string
			want       string
		}{
			{[]string{"created_after", at(1, 0)}, "[k-2 k-1]"},
			{[]string{"created_after", at(1, time.Microsecond)}, "[k-2]"},
			{[]string{"created_before", at(1, 0)}, "[k-0]"},
			{[]string{"created_before", at(1, time.Microsecond)}, "[k-1 k-0]"},
			{[]string{"created_after", at(1, 0), "created_before", at(1, time.Microsecond)}, "[k-1]"},
			{[]string{"created_after", at(1, 0), "created_before", at(1, 0)}, "[]"},
			{[]string{"created_after", at(2, 0), "created_before", at(1, 0)}, "[]"},
			{[]string{"created_after", east}, "[k-2 k-1]"},
			{[]string{"created_after", "1970-01-01T00:00:00Z", "created_before", "9999-12-31T23:59:59Z"}, "[k-2 k-1 k-0]"},
			{[]string{"created_after", "1970-01-01T00:00:00+14:00", "created_before", "9999-12-31T23:59:59-12:00"}, "[k-2 k-1 k-0]"},
			{[]string{"created_after", "9999-12-31T23:59:59.999999999Z"}, "[]"},
			{[]string{"created_before", "1970-01-01T00:00:00Z"}, "[]"},
		} {
			if got := fmt.Sprint(keysOf(c.list(f.parameters...), "key")); got != f.want {
				t.Errorf("%q: got %s, want %s", f.parameters, got, f.want)
			}
		}
	})
}

// Ensure that going on from page to page gives each key once and in its order, whatever the size of the pages, also where
// many keys were made at the same instant and while new ones are made.
func TestListPages(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		for batch := range 2 { // each in one group, and so of one instant
			var calls []string
			for i := range 30 {
				calls = append(calls, calling("reserve", c.key(fmt.Sprintf("k-%d-%02d", batch, i)).name, fields{"fingerprint": mine}))
			}
			c.batch(calls...)
		}
		whole := keysOf(c.list("limit", "200"), "key")
		if len(whole) != 60 || !strings.HasPrefix(whole[0], "k-1-") || !strings.HasPrefix(whole[59], "k-0-") {
			t.Fatalf("the whole list is %q", whole)
		}
		for _, limit := range []string{"7", "30", "59", "60", "61"} {
			if got := c.pages("/v1/keys", "keys", "key", "limit", limit); !slices.Equal(got, whole) {
				t.Errorf("pages of %s: got %q, want %q", limit, got, whole)
			}
			s.as(t, "acme").key("new-"+limit).reserve().want(201, "acquired")
			whole = append([]string{"new-" + limit}, whole...)
		}
		first := c.list("limit", "10", "operation", "POST /v1/orders")
		c.key("newest").reserve().want(201, "acquired")
		second := c.list("limit", "200", "operation", "POST /v1/orders", "cursor", first.text("next_cursor"))
		if got := append(keysOf(first, "key"), keysOf(second, "key")...); !slices.Equal(got, whole) {
			t.Errorf("with another limit on the second page: got %q, want %q", got, whole)
		}
	})
}

// Ensure that a page has 50 keys when nothing is said, that one key is a page, and that 200 are.
func TestListLimits(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		var calls []string
		for i := range 201 {
			calls = append(calls, calling("reserve", c.key(fmt.Sprint("k-", i)).name, fields{"fingerprint": mine}))
		}
		c.batch(calls...)
		for _, l := range []struct {
			parameters []string
			want       int
		}{{nil, 50}, {[]string{"limit", "1"}, 1}, {[]string{"limit", "200"}, 200}} {
			a := c.list(l.parameters...)
			if got := len(a.items("keys")); got != l.want || a.text("next_cursor") == "" {
				t.Errorf("%q: %d keys, next %q; want %d and one more page", l.parameters, got, a.text("next_cursor"), l.want)
			}
		}
		if got := len(c.pages("/v1/keys", "keys", "key", "limit", "200")); got != 201 {
			t.Errorf("%d keys on all pages, want 201", got)
		}
	})
}

// Ensure that a list without keys is one, and not null.
func TestEmptyList(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		for path, want := range map[string]string{"/v1/keys": `{"keys":[]}`, "/v1/admin/audit": `{"acts":[]}`} {
			if got := string(c.get(path).raw); got != want {
				t.Errorf("%s: got %s, want %s", path, got, want)
			}
		}
	})
}

// Ensure that keys which have expired, by themselves or by an operator, are in no list and in no count.
func TestExpiredKeysAreNotListed(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		soon, now, kept := c.key("soon"), c.key("now"), c.key("kept")
		soonGone(soon)
		completed(now)
		completed(kept)
		now.expire().want(200, "completed")
		soon.await("not_found")
		if got := keysOf(c.list(), "key"); !slices.Equal(got, []string{"kept"}) {
			t.Errorf("listed are %q, want kept alone", got)
		}
		c.get("/v1/stats").wantAt("states.completed.count", "1")
	})
}
