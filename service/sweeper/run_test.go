package sweeper_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-idempotency/reprise/service/sweeper"
	"github.com/reprise-idempotency/reprise/storage"
)

// pass is what an observer is told.
type pass struct {
	sweeper.Report
	err error
}

// passes hands on what an observer is told.
type passes chan pass

func (p passes) Swept(r sweeper.Report, err error) { p <- pass{r, err} }

// observed runs the sweeper at the shortest interval until the test ends, and hands out its passes.
func (f *fixture) observed(t *testing.T) passes {
	t.Helper()
	told := make(passes)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	f.sweeper.Observer = told
	go func() {
		defer close(ended)
		f.sweeper.Run(ctx, time.Millisecond)
	}()
	t.Cleanup(func() {
		cancel()
		for {
			select {
			case <-told:
			case <-ended:
				return
			case <-time.After(hang):
				t.Error("Run does not end with its context")
				return
			}
		}
	})
	return told
}

// runFor gives the first passes of Run.
func (f *fixture) runFor(t *testing.T, n int) (first []pass) {
	t.Helper()
	told := f.observed(t)
	for range n {
		first = append(first, <-told)
	}
	return first
}

// Ensure that Run ends when its context does, in the middle of a pass: it leaves the groups that it has not begun.
func TestRunEndsInTheMiddleOfAPass(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		f.completeAll("settled", 1200)
		f.age("settled", 5)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		looks := 0
		f.sweeper.Store = hooked{Sweeper: f.store, expired: func([]storage.Sweepable) {
			if looks++; looks == 2 {
				cancel()
			}
		}}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.sweeper.Run(ctx, time.Millisecond)
		}()
		select {
		case <-ended:
		case <-time.After(hang):
			t.Fatal("Run does not end")
		}
		if got := f.rows("settled"); got != 200 || looks != 2 {
			t.Errorf("got %d rows after %d looks, want the 200 of the group that was not begun, after 2", got, looks)
		}
		if got := f.log.String(); got != "" {
			t.Errorf("the end of the service is logged as a fault: %s", got)
		}
	})
}

// idle is a store with nothing to sweep, for tests of time alone. ask is called at the begin of each pass.
type idle struct{ ask func(context.Context) error }

func (i idle) Expired(ctx context.Context, _ *storage.Sweepable, _ int) ([]storage.Sweepable, time.Time, error) {
	return nil, time.Now(), i.ask(ctx)
}
func (idle) Delete(context.Context, []storage.Sweepable) (int, error) { panic("nothing is due") }
func (idle) TrackOpen(context.Context, int) error                     { return nil }
func (idle) OpenKeys(context.Context) (o storage.OpenKeys, err error) { return o, nil }
func sweeperOf(ask func(context.Context) error) *sweeper.Sweeper {
	return &sweeper.Sweeper{Store: idle{ask}, Log: slog.New(slog.DiscardHandler)}
}

// Ensure that the first pass comes within a tenth of the interval, that the others follow after three to five quarters of
// it and differ, also after passes that failed.
func TestPassesVaryByAQuarter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval = time.Minute
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var at []time.Duration
		sweeperOf(func(context.Context) error {
			if at = append(at, time.Since(began)); len(at) == 400 {
				cancel()
			}
			if len(at)%3 == 0 {
				return storage.ErrUnavailable
			}
			return nil
		}).Run(ctx, interval)
		if at[0] > interval/10 {
			t.Errorf("the first pass came after %v, want at most %v", at[0], interval/10)
		}
		least, most := time.Hour, time.Duration(0)
		for i := 1; i < len(at); i++ {
			least, most = min(least, at[i]-at[i-1]), max(most, at[i]-at[i-1])
		}
		if least < interval*3/4 || most > interval*5/4 || most-least < interval/4 {
			t.Errorf("got pauses of %v to %v, want %v to %v, and not all alike", least, most, interval*3/4, interval*5/4)
		}
	})
}

// Ensure that Run ends at the very instant at which its context does, before, during and between passes, and leaves no
// goroutine.
func TestRunEndsAtOnce(t *testing.T) {
	for name, after := range map[string]time.Duration{"at its begin": 0, "during the first pass": 10 * time.Minute, "much later": 19 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which fails if a goroutine stays
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				began := time.Now()
				sweeperOf(func(ctx context.Context) error { // takes half an hour
					select {
					case <-ctx.Done():
						return errors.Join(storage.ErrUnavailable, ctx.Err())
					case <-time.After(30 * time.Minute):
						return nil
					}
				}).Run(ctx, time.Hour)
				if took := time.Since(began); took != after {
					t.Errorf("Run ended after %v, want %v", took, after)
				}
			})
		})
	}
}
