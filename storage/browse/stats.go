package browse

import (
	"context"

	"github.com/reprise-idempotency/reprise/storage"
)

// Stats answers as storage.Browser promises: it counts among the newest records, and the open ones among all.
func Stats(ctx context.Context, t Table, tenant, operation string) (storage.Stats, error) {
	q := storage.ListQuery{Tenant: tenant}
	all := span(All, q)
	bound, err := t.Nth(ctx, all, counted)
	if err != nil {
		return storage.Stats{}, err
	}
	if bound != nil {
		all.To = *bound
	}
	var stats storage.Stats
	if stats.States, stats.Now, err = t.Counts(ctx, all, operation); err != nil || bound == nil {
		return stats, err
	}
	markAtLeast(stats.States, func(s storage.State) bool { return !s.IsOpen() })
	q.After = bound
	return stats, addOpen(ctx, t, span(Open, q), operation, stats.States)
}

// addOpen counts what is open and older than the records that were counted.
func addOpen(ctx context.Context, t Table, s Span, operation string, states map[storage.State]storage.Count) error {
	bound, err := t.Nth(ctx, s, counted)
	if err != nil {
		return err
	}
	if bound != nil {
		s.To = *bound
	}
	older, _, err := t.Counts(ctx, s, operation)
	if err != nil {
		return err
	}
	for state, c := range older {
		if state.IsOpen() {
			c.N += states[state].N
			states[state] = c
		}
	}
	if bound != nil || !t.OpenIsComplete() {
		markAtLeast(states, storage.State.IsOpen)
	}
	return nil
}

// markAtLeast says of states that there may be more, of those without any too.
func markAtLeast(states map[storage.State]storage.Count, which func(storage.State) bool) {
	for _, state := range []storage.State{storage.InProgress, storage.Completed, storage.Failed, storage.Released, storage.Abandoned, storage.Uncertain} {
		if which(state) {
			c := states[state]
			c.AtLeast = true
			states[state] = c
		}
	}
}
