package httpapi_test

import (
	"slices"
	"strings"
	"sync"
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
	return slices.Concat(reserveRows(), waitRows(), completeRows(), releaseRows(), heartbeatRows(), lookupRows(), resolveRows(), expireRows(), limitRows())
}

// Ensure that every row of the table, and every limit at each of its edges, gives the same status, code and body on
// every store: those that the row says. As one of a batch, each call gives what it gives by itself, field by field.
func TestTable(t *testing.T) {
	single := make([]map[string]string, len(stores)) // per store, the masked answer of each row
	batched := make([]map[string]string, len(stores))
	t.Run("stores", func(t *testing.T) {
		var running sync.WaitGroup
		defer running.Wait()
		for i, store := range stores {
			running.Go(func() {
				t.Run(store.name, func(t *testing.T) { single[i] = runTable(t, start(t, store.open), table(), false) })
			})
			running.Go(func() {
				rows := batchable(table(), i == 0) // limits are held before a store is asked
				t.Run(store.name+" in batches", func(t *testing.T) { batched[i] = runTable(t, start(t, store.open), rows, true) })
			})
		}
	})
	for i, store := range stores {
		if i > 0 {
			compare(t, stores[0].name, single[0], store.name, single[i])
		}
		compare(t, store.name+" in batches", batched[i], store.name, bodiesOf(single[i]))
	}
}

// compare wants two runs to have told the same, as far as the first goes.
func compare(t *testing.T, nameA string, a map[string]string, nameB string, b map[string]string) {
	t.Helper()
	if a == nil || b == nil {
		t.Logf("%s and %s are not compared: one of them did not run", nameA, nameB)
		return
	}
	same := map[string]string{}
	for id := range a {
		same[id] = b[id]
	}
	if diff := cmp.Diff(a, same); diff != "" {
		t.Errorf("%s (-) and %s (+) answer differently:\n%s", nameA, nameB, diff)
	}
}

// batchable leaves out the rows that are about what a batch has not: a wait, and a limit on each call's body; and the largest
// bodies of responses, which take their time.
func batchable(rows []row, withLimits bool) []row {
	return slices.DeleteFunc(rows, func(r row) bool {
		limit := strings.HasPrefix(r.id, "limit/")
		return strings.Contains(r.id, "/wait/") || limit && strings.Contains(r.id, "/body/") || strings.Contains(r.id, "response.body/largest") ||
			limit && !withLimits || !slices.Contains(callNames, callOf(r))
	})
}

// callOf gives the call that a row is about.
func callOf(r row) string {
	call, _, _ := strings.Cut(strings.TrimPrefix(r.id, "limit/"), "/")
	return call
}

// bodiesOf leaves out the headers of masked answers.
func bodiesOf(told map[string]string) map[string]string {
	if told == nil {
		return nil
	}
	bodies := map[string]string{}
	for id, text := range told {
		bodies[id] = bodyOfMasked(text)
	}
	return bodies
}

func bodyOfMasked(text string) string {
	status, rest, _ := strings.Cut(text, "\n")
	return status + "\n" + rest[strings.Index(rest, "{"):]
}

// runTable first brings all keys where they must be, so that what has to run out does so while others are prepared. Then it
// makes the calls that the rows are about, by themselves or in batches of one, and gives the masked answers.
func runTable(t *testing.T, s *server, rows []row, inBatches bool) map[string]string {
	keys := make([]*key, len(rows))
	for i, r := range rows {
		keys[i] = s.as(t, "acme").key("key")
		keys[i].name["subject"] = r.id
		keys[i].unchecked = inBatches // they are the same as in the other run
		if r.given != nil {
			r.given(keys[i])
		}
	}
	told := map[string]string{}
	for i, r := range rows {
		t.Run(r.id, func(t *testing.T) {
			keys[i].t, keys[i].inBatches, keys[i].unchecked = t, inBatches, false
			a := r.when(keys[i])
			if told[r.id] = masked(a); inBatches {
				told[r.id] = bodyOfMasked(told[r.id])
			}
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
