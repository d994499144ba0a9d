package cas

import (
	"fmt"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/life"
)

// A retention is counted from the decision, and the writing may have waited for locks or for the disk: a settlement
// that is kept for a second could be over when it is acknowledged. So its end is moved before anybody is told.

// shortestKept is the shortest retention that is kept so exactly; one below it is over before anybody can use it.
const shortestKept = time.Second

// isLate tells whether the writing took so much of a retention that its end has to be moved: an eighth. A record that an
// operator ended has none left.
func (a *applier) isLate(r *storage.Record) bool {
	return r.ExpiresAt.After(r.UpdatedAt) && r.State != storage.InProgress && r.Retention >= shortestKept &&
		time.Since(a.started) > r.Retention/8 && time.Now().Before(a.until)
}

// postpone moves the ends of records that were written late, and their answers with them. A record that somebody took in
// between, because it was over, is decided anew.
func (a *applier) postpone(turns []turn, changes []Change) (again []turn) {
	if len(turns) == 0 {
		return nil
	}
	took := time.Since(a.started)
	a.started = time.Now()
	moved := make([]Change, len(changes))
	for i, c := range changes {
		next := life.Postpone(c.Next, took)
		moved[i] = Change{Prev: c.Next, Next: next, ValidBefore: next.UpdatedAt.Add(decisionLife)}
		for _, call := range turns[i].calls {
			if a.answers[call].Record == c.Next {
				a.answers[call].Record, a.answers[call].Now = next, next.UpdatedAt
			}
		}
	}
	saved, err := a.table.Save(a.ctx, moved)
	if err != nil { // the settlement itself is stored
		a.fail(turns, fmt.Errorf("%w: %w", storage.ErrOutcomeUnknown, err))
		return nil
	}
	return a.unfinished(turns, moved, saved)
}

// unfinished gives the turns that are to be decided anew, after those that were written late were put right.
func (a *applier) unfinished(turns []turn, changes []Change, saved []bool) (again []turn) {
	var lateTurns []turn
	var lateChanges []Change
	for i, t := range turns {
		switch {
		case !saved[i]:
			again = append(again, t)
		case a.isLate(changes[i].Next):
			lateTurns, lateChanges = append(lateTurns, t), append(lateChanges, changes[i])
		}
	}
	return append(again, a.postpone(lateTurns, lateChanges)...)
}
