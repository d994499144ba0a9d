// Package cas applies calls to a table whose rows others change at the same time: it reads the rows, decides by the
// rules of package life, and writes each row only if it is still the one that was read; what was changed meanwhile is
// read and decided again. No lock is held between the reading and the writing, and nothing is written for a call that
// changes nothing, such as a replay.
package cas

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/life"
)

// Table is what a backend does.
type Table interface {
	// Load reads the rows of names, which are sorted and distinct, into a slice that is aligned with them; nil where
	// there is no row. now is the store's clock, read no later than the rows. An error is ErrUnavailable, or else means
	// that at least one of the names is to blame.
	Load(ctx context.Context, names []storage.Name) (rows []*storage.Record, now time.Time, err error)

	// Save writes changes, which are sorted by name with no name twice, in one transaction: a row is inserted if there
	// is none, or replaced if its token and revision are those of Prev; neither if ValidBefore is over by the store's
	// clock, as it stands when the transaction begins. saved tells which were written; a change that came too late is no error. An error means that none was
	// written: ErrUnavailable, ErrConflict, or else that at least one of the changes is to blame. ErrOutcomeUnknown
	// means that they may have been. Acts are written with their change. Save is not to be cancelled once it has sent
	// something.
	Save(ctx context.Context, changes []Change) (saved []bool, err error)
}

// Change is a row as it was read and as it must become.
type Change struct {
	Prev        *storage.Record // nil: there was no row
	Next        *storage.Record
	ValidBefore time.Time     // what was decided holds only until then by the store's clock; zero: for ever
	Acts        []storage.Act // of operators, to be written with the change or not at all
}

// ErrConflict says that the database chose this transaction to give way to another one; nothing was written.
var ErrConflict = errors.New("the transaction gave way to another one")

// maxRounds bounds how often a call is decided anew. Each further round means that somebody else got through in
// between, so that only a flood on one name can use them up.
const maxRounds = 100

// decisionLife bounds how old a decision may be when it is written. A process that was paused between reading and
// writing must not make a row with the fence of that time after the one it did not see was swept, no sooner than a
// minute after its end.
const decisionLife = 30 * time.Second

// maxTime bounds how long one call is decided anew; a table bounds each of its own steps.
const maxTime = 10 * time.Second

// maxPause is some commits long.
const maxPause = 10 * time.Millisecond

// Apply answers calls as storage.Store promises.
func Apply(ctx context.Context, t Table, calls []storage.Call) []storage.Answer {
	a := applier{ctx: ctx, table: t, calls: calls, answers: make([]storage.Answer, len(calls)), until: time.Now().Add(maxTime)}
	a.run(a.byName())
	return a.answers
}

type applier struct {
	ctx     context.Context
	table   Table
	calls   []storage.Call
	answers []storage.Answer
	until   time.Time // after which nothing is decided anew
	started time.Time // of the round that is under way
}

// run decides until every turn has its answer.
func (a *applier) run(pending []turn) {
	for round := 0; len(pending) > 0; round++ {
		if err := a.ctx.Err(); err != nil {
			a.fail(pending, fmt.Errorf("%w: %w", storage.ErrUnavailable, err))
			return
		}
		if round == maxRounds || time.Now().After(a.until) {
			a.fail(pending, fmt.Errorf("%w: the record was changed by others %d times meanwhile", storage.ErrUnavailable, round))
			return
		}
		pending = a.attempt(pending)
	}
}

// turn is all that the group asks of one name: indexes of calls, in their order.
type turn struct {
	name  storage.Name
	calls []int
}

// byName gathers the calls by their names, in the order in which rows are locked.
func (a *applier) byName() []turn {
	at := make(map[storage.Name]int, len(a.calls))
	turns := make([]turn, 0, len(a.calls))
	for i, c := range a.calls {
		n, ok := at[c.On()]
		if !ok {
			n = len(turns)
			at[c.On()] = n
			turns = append(turns, turn{name: c.On()})
		}
		turns[n].calls = append(turns[n].calls, i)
	}
	slices.SortFunc(turns, func(x, y turn) int { return x.name.Compare(y.name) })
	return turns
}

// attempt reads, decides and writes once; it returns the turns that have to be decided anew.
func (a *applier) attempt(turns []turn) (again []turn) {
	names := make([]storage.Name, len(turns))
	for i, t := range turns {
		names[i] = t.name
	}
	a.started = time.Now()
	rows, now, err := a.table.Load(a.ctx, names)
	if err != nil {
		return a.blame(turns, err, a.attempt)
	}
	var writes []turn
	var changes []Change
	for i, t := range turns {
		if change := a.decide(t, rows[i], now); change != nil {
			writes, changes = append(writes, t), append(changes, *change)
		}
	}
	return a.save(writes, changes)
}

// decide answers the calls of one turn one after the other, each on what the one before left.
func (a *applier) decide(t turn, row *storage.Record, now time.Time) *Change {
	current := row
	var acts []storage.Act
	for _, i := range t.calls {
		answer, next := life.Decide(current, a.calls[i], now)
		if next != nil {
			if act, ok := actOf(a.calls[i], current, next, now); ok {
				acts = append(acts, act)
			}
			current = next
		}
		if answer.Outcome == storage.OutcomeAcquired || answer.Outcome == storage.OutcomeRenewed {
			answer.GoodUntil = a.started.Add(left(answer.Record, now))
		}
		a.answers[i] = answer
	}
	if current == row {
		return nil
	}
	change := Change{Prev: row, Next: current, ValidBefore: now.Add(decisionLife), Acts: acts}
	if row != nil && !row.ExpiredAt(now) {
		if end, ends := row.Expires(); ends && end.Before(change.ValidBefore) {
			change.ValidBefore = end
		}
	}
	return &change
}

// left is what is left of a lease: no more than when it was last written, should the clock have been set back since.
func left(r *storage.Record, now time.Time) time.Duration {
	if r.UpdatedAt.After(now) {
		now = r.UpdatedAt
	}
	return r.LeaseExpiresAt.Sub(now)
}

func (a *applier) save(turns []turn, changes []Change) (again []turn) {
	if len(changes) == 0 {
		return nil
	}
	saved, err := a.table.Save(a.ctx, changes)
	if errors.Is(err, ErrConflict) {
		time.Sleep(rand.N(maxPause)) // so that the same transactions do not meet again
		return turns
	}
	if err != nil {
		return a.blame(turns, err, func(half []turn) []turn {
			from := slices.IndexFunc(turns, func(t turn) bool { return t.name == half[0].name })
			return a.save(half, changes[from:from+len(half)])
		})
	}
	return a.unfinished(turns, changes, saved)
}

// blame finds out whom an error belongs to. An outage is everybody's; else the group is split, by names and then by
// calls, until the poisoned call stands alone, so that one bad call fails alone.
func (a *applier) blame(turns []turn, err error, retry func([]turn) []turn) (again []turn) {
	switch {
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, storage.ErrOutcomeUnknown):
		a.fail(turns, err)
	case len(turns) > 1:
		half := len(turns) / 2
		return append(retry(turns[:half]), retry(turns[half:])...)
	case len(turns[0].calls) > 1:
		for _, i := range turns[0].calls {
			a.run([]turn{{name: turns[0].name, calls: []int{i}}})
		}
	default:
		a.fail(turns, err)
	}
	return nil
}

func (a *applier) fail(turns []turn, err error) {
	for _, t := range turns {
		for _, i := range t.calls {
			a.answers[i] = storage.Answer{Err: err}
		}
	}
}
