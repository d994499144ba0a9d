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

// unfinished gives the turns that are to be decided anew, after those that were written late were put right.
func (a *applier) unfinished(turns []turn, changes []Change, saved []bool) (again []turn) {
	var late []turn
	var written []Change
	for i, t := range turns {
		switch {
		case !saved[i]:
			again = append(again, t)
		case a.isLate(changes[i].Next):
			late, written = append(late, t), append(written, changes[i])
		}
	}
	if len(late) == 0 {
		return again
	}
	return append(again, a.postpone(late, written)...)
}

// postpone moves the ends of records that were written late, and their answers with them. Somebody may have taken one in
// between: a settled one because it was over, and that is decided anew; a released one as anybody may, and it stays answered.
func (a *applier) postpone(turns []turn, written []Change) (again []turn) {
	took := time.Since(a.started)
	a.started = time.Now()
	moves := make([]Change, len(written))
	for i, c := range written {
		next := life.Postpone(c.Next, took)
		moves[i] = Change{Prev: c.Next, Next: next, ValidBefore: next.UpdatedAt.Add(decisionLife)}
	}
	saved, err := a.table.Save(a.ctx, moves)
	if err != nil { // the settlement itself is stored
		a.fail(turns, fmt.Errorf("%w: %w", storage.ErrOutcomeUnknown, err))
		return nil
	}
	for i, move := range moves {
		if saved[i] {
			a.tellMoved(turns[i], move)
		} else if move.Prev.State == storage.Released {
			saved[i], moves[i].Next = true, move.Prev // done: nothing is left to put right
		}
	}
	return a.unfinished(turns, moves, saved)
}

// tellMoved puts a record that was moved into the answers that have it.
func (a *applier) tellMoved(t turn, move Change) {
	for _, call := range t.calls {
		if a.answers[call].Record == move.Prev {
			a.answers[call].Record, a.answers[call].Now = move.Next, move.Next.UpdatedAt
		}
	}
}
