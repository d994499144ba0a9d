package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row is one line of the table that says what a call on a key comes to.
type row struct {
	id     string
	given  func(k *key)         // brings the key where it must be; nil leaves it unmade
	when   func(k *key) *answer // the call that the row is about
	status int
	what   string                  // see answer.what
	then   func(k *key, a *answer) // more that must hold
}

// table is every row, by topic.
func table() []row {
	return slices.Concat(reserveRows(), completeRows(), releaseRows(), heartbeatRows(), lookupRows(), limitRows())
}

// Ensure that every row of the table, and every limit at each of its edges, gives the same status, code and body on
// every store: those that the row says.
func TestTable(t *testing.T) {
	told := make([]map[string]string, len(stores)) // per store, the masked answer of each row
	t.Run("stores", func(t *testing.T) {
		for i, store := range stores {
			t.Run(store.name, func(t *testing.T) {
				t.Parallel()
				told[i] = runTable(t, start(t, store.open))
			})
		}
	})
	for i := 1; i < len(stores); i++ {
		if told[0] == nil || told[i] == nil {
			t.Logf("%s and %s are not compared: one of them did not run", stores[0].name, stores[i].name)
		} else if diff := cmp.Diff(told[0], told[i]); diff != "" {
			t.Errorf("%s (-) and %s (+) answer differently:\n%s", stores[0].name, stores[i].name, diff)
		}
	}
}

// runTable first brings all keys where they must be, so that what has to run out does so while others are prepared.
func runTable(t *testing.T, s *server) map[string]string {
	rows := table()
	keys := make([]*key, len(rows))
	for i, r := range rows {
		keys[i] = s.as(t, "acme").key("key")
		keys[i].name["subject"] = r.id
		if r.given != nil {
			r.given(keys[i])
		}
	}
	told := map[string]string{}
	for i, r := range rows {
		t.Run(r.id, func(t *testing.T) {
			keys[i].t = t
			a := r.when(keys[i])
			told[r.id] = masked(a)
			a.want(r.status, r.what)
			if r.then != nil {
				r.then(keys[i], a)
			}
		})
	}
	return told
}

// Ensure that the table has exactly the rows that are required, so that none gets lost.
func TestTableIsComplete(t *testing.T) {
	var ids []string
	for _, r := range table() {
		ids = append(ids, r.id)
	}
	slices.Sort(ids)
	required := strings.Fields(requiredIDs)
	slices.Sort(required)
	if diff := cmp.Diff(required, ids); diff != "" {
		t.Errorf("rows required (-), rows there are (+):\n%s", diff)
	}
}
