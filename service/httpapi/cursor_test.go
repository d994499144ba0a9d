package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// cursors makes three keys, of which each had an act, and gives the cursors of the first page of one of each.
func (s *server) cursors(t *testing.T) (c caller, list, audit string) {
	t.Helper()
	c = s.as(t, "acme")
	for i := range 3 {
		k := c.key(fmt.Sprint("k-", i))
		live(k)
		k.resolve(force).want(200, "completed")
	}
	list, audit = c.list("limit", "1").text("next_cursor"), c.get("/v1/admin/audit", "limit", "1").text("next_cursor")
	if list == "" || audit == "" {
		t.Fatal("there is no second page")
	}
	return c, list, audit
}

// refusedCursor wants a cursor to be refused as such.
func refusedCursor(t *testing.T, c caller, path, cursor string, parameters ...string) {
	t.Helper()
	a := c.get(path, append(parameters, "cursor", cursor)...)
	if a.status != 400 || !strings.HasPrefix(a.text("detail"), "cursor: ") {
		t.Errorf("%s %q with the cursor %.300q: %d %s", path, parameters, cursor, a.status, a.raw)
	}
}

// Ensure that a cursor is good for the very list that it came from: with any other filter, of another call or for another
// tenant it is refused.
func TestCursorBelongsToItsList(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c, list, audit := s.cursors(t)
		another := map[string]string{"operation": "key", "subject": "key", "key": "subject", "key_prefix": "subject", "state": "key", "created_after": "key", "created_before": "key"}
		for _, f := range [][]string{{"operation", "POST /v1/orders"}, {"subject", "customer-42"}, {"subject", ""}, {"key", "k-0"}, {"key_prefix", "k"},
			{"state", "completed"}, {"created_after", "1970-01-01T00:00:00Z"}, {"created_before", "9999-12-31T00:00:00Z"}} {
			refusedCursor(t, c, "/v1/keys", list, f...)
			if own := c.list(append(f, "limit", "1")...).text("next_cursor"); own != "" {
				refusedCursor(t, c, "/v1/keys", own)
				refusedCursor(t, c, "/v1/keys", own, append(f, "tenant", "acme", "limit", "1", another[f[0]], "k-1")...)
				c.list(append(f, "cursor", own)...)
			}
		}
		for _, f := range [][]string{{"operation", "POST /v1/orders"}, {"operation", "POST /v1/orders", "subject", "customer-42"}, {"operation", "POST /v1/orders", "key", "k-0"}} {
			refusedCursor(t, c, "/v1/admin/audit", audit, f...)
		}
		refusedCursor(t, c, "/v1/keys", audit)
		refusedCursor(t, c, "/v1/admin/audit", list)
		refusedCursor(t, s.as(t, "globex"), "/v1/keys", list)
		refusedCursor(t, s.as(t, "globex"), "/v1/admin/audit", audit)
		ops := s.operator(t, "acme", "maria")
		refusedCursor(t, ops, "/v1/keys", list, "tenant", "globex")
		refusedCursor(t, ops, "/v1/admin/audit", audit, "tenant", "globex")
		for _, good := range []*answer{ops.get("/v1/keys", "cursor", list, "tenant", "acme"), ops.get("/v1/admin/audit", "cursor", audit), c.list("cursor", list, "limit", "200")} {
			if good.status != 200 || len(good.items("keys"))+len(good.items("acts")) != 2 {
				t.Errorf("the second page: %d %s", good.status, good.raw)
			}
		}
	})
}

// Ensure that a cursor which somebody made, or changed, is refused, or is a place in the caller's own list; whatever is in
// it, it is no fault of the service.
func TestForgedCursors(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c, list, audit := s.cursors(t)
		for _, cursor := range []string{"", "x", "e30", " " + list, list + " ", list + "=", list + "A", list[1:], list[:len(list)-1], strings.ToLower(list),
			"null", "bnVsbA", "W10", strings.Repeat("A", 20<<10), "\x00", "\xff", "%", base64.StdEncoding.EncodeToString([]byte(`{}`))} {
			refusedCursor(t, c, "/v1/keys", cursor)
			refusedCursor(t, c, "/v1/admin/audit", cursor)
		}
		for path, cursor := range map[string]string{"/v1/keys": list, "/v1/admin/audit": audit} {
			for id, change := range forgeries {
				forged := forge(t, cursor, change)
				a := c.get(path, "cursor", forged)
				if a.status == 400 && strings.HasPrefix(a.text("detail"), "cursor: ") {
					continue
				}
				if a.status != 200 {
					t.Errorf("%s with a cursor whose %s was forged: %d %s", path, id, a.status, a.raw)
				}
				for _, item := range append(a.items("keys"), a.items("acts")...) {
					if textAt(item, "tenant") != "acme" {
						t.Errorf("%s with a cursor whose %s was forged shows %v", path, id, item)
					}
				}
			}
		}
	})
}

// forgeries are changes to what is in a cursor: f is a hash of the filters, t an instant, a, s and k a name (or a an id),
// o how it was looked for.
var forgeries = map[string]func(f fields){
	"filters missing":            func(f fields) { delete(f, "f") },
	"filters other":              func(f fields) { f["f"] = "AAAAAAAAAAAA" },
	"filters of a wrong type":    func(f fields) { f["f"] = 1 },
	"instant missing":            func(f fields) { delete(f, "t") },
	"instant zero":               func(f fields) { f["t"] = 0 },
	"instant before the first":   func(f fields) { f["t"] = -62135596800000001 },
	"instant after year 9999":    func(f fields) { f["t"] = 253402300800000000 },
	"instant at its most":        func(f fields) { f["t"] = int64(math.MaxInt64) },
	"instant at its least":       func(f fields) { f["t"] = int64(math.MinInt64) },
	"instant beyond its most":    func(f fields) { f["t"] = json.Number("9223372036854775808") },
	"instant a fraction":         func(f fields) { f["t"] = 1.5 },
	"instant a text":             func(f fields) { f["t"] = "0" },
	"name missing":               func(f fields) { delete(f, "a"); delete(f, "s"); delete(f, "k") },
	"name empty":                 func(f fields) { f["a"], f["s"], f["k"] = "", "", "" },
	"name with NUL":              func(f fields) { f["a"] = "a\x00b" },
	"subject with NUL":           func(f fields) { f["s"] = "\x00" },
	"key with NUL":               func(f fields) { f["k"] = "\x00" },
	"key with a quote":           func(f fields) { f["k"] = `' OR 1=1 --` },
	"name long":                  func(f fields) { f["a"] = strings.Repeat("a", 10<<10) },
	"key last":                   func(f fields) { f["k"] = "\U0010ffff" },
	"id no UUID":                 func(f fields) { f["a"] = "00000000-0000-0000-0000-00000000000g" },
	"id of zeros":                func(f fields) { f["a"] = "00000000-0000-0000-0000-000000000000" },
	"id of ones":                 func(f fields) { f["a"] = "ffffffff-ffff-ffff-ffff-ffffffffffff" },
	"id in braces":               func(f fields) { f["a"] = "{00000000-0000-0000-0000-000000000000}" },
	"id as a URN":                func(f fields) { f["a"] = "urn:uuid:00000000-0000-0000-0000-000000000000" },
	"id without dashes":          func(f fields) { f["a"] = "ffffffffffffffffffffffffffffffff" },
	"way of looking":             func(f fields) { f["o"] = true },
	"way of looking, with state": func(f fields) { f["o"] = "true" },
	"unknown field":              func(f fields) { f["tenant"] = "globex" },
}

// forge changes what is in a cursor, and keeps the order in which a cursor is written.
func forge(t *testing.T, cursor string, change func(f fields)) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	f := fields(decoded(raw).(map[string]any))
	change(f)
	var parts []string
	for _, name := range []string{"f", "t", "a", "s", "k", "o", "tenant"} {
		if value, ok := f[name]; ok && value != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", name, must(json.Marshal(value))))
		}
	}
	return base64.RawURLEncoding.EncodeToString([]byte("{" + strings.Join(parts, ",") + "}"))
}
