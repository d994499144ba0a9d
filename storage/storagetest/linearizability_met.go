package storagetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/linear"
)

// meetings counts what callers ran into.
type meetings map[string]int

// enough is how often each has to be met at least. A run meets several times as much.
var enough = meetings{
	"call": 1000, "call in a group": 300, "call after another of its group on its name": 50, "overlap": 300,
	"acquired": 60, "takeover": 15, "in_progress": 30, "lease_lost": 50, "renewed": 30, "released": 15, "settled": 10,
	"replay": 15, "already_completed": 8, "fingerprint_mismatch": 5, "uncertain": 1, "resolved": 4, "expired": 2,
	"version_conflict": 10, "found": 20,
}

// count adds a history.
func (m meetings) count(ops []linear.Op) {
	places := map[string]bool{}
	for i, o := range ops {
		m["call"]++
		if o.Answer == nil {
			m["unfinished"]++
			continue
		}
		m[o.Answer.Outcome.String()]++
		if o.Answer.Takeover && o.Answer.Outcome == storage.OutcomeAcquired {
			m["takeover"]++
		}
		if o.Group != 0 {
			m["call in a group"]++
			place := fmt.Sprint(o.Group, o.Call.On())
			if places[place] {
				m["call after another of its group on its name"]++
			}
			places[place] = true
		}
		if overlaps(o, ops[i+1:]) {
			m["overlap"]++
		}
	}
}

// overlaps tells whether a call of another client on the same name was under way at the same time.
func overlaps(o linear.Op, others []linear.Op) bool {
	return slices.ContainsFunc(others, func(p linear.Op) bool {
		return p.Client != o.Client && p.Call.On() == o.Call.On() && p.Sent <= o.Returned && o.Sent <= p.Returned
	})
}

// quiet names what was met too seldom.
func (m meetings) quiet() string {
	var few []string
	for _, what := range slices.Sorted(maps.Keys(enough)) {
		if m[what] < enough[what] {
			few = append(few, fmt.Sprintf("%s: %d, want %d", what, m[what], enough[what]))
		}
	}
	return strings.Join(few, "; ")
}
