package sweeper_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/service/sweeper"
	"github.com/reprise-idempotency/reprise/storage"
)

// keepSweeping sweeps without a pause until stop is called, which fails the test if a pass was broken off.
func (f *fixture) keepSweeping(s *sweeper.Sweeper) (stop func() (deleted, passes int)) {
	over := make(chan struct{})
	var deleted, passes int
	var sweeping sync.WaitGroup
	sweeping.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			r, err := s.RunOnce(context.Background())
			if err != nil {
				f.t.Errorf("a sweep was broken off: %v", err)
				return
			}
			deleted, passes = deleted+r.Deleted, passes+1
		}
	})
	return sync.OnceValues(func() (int, int) {
		close(over)
		sweeping.Wait()
		return deleted, passes
	})
}

// Ensure that a job which is kept alive by heartbeats for ten times its lease is executed once and never swept, while the
// sweeper looks at its row again and again, because its hour has come.
func TestALongJobIsNeverSwept(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		stop := f.keepSweeping(f.sweeper)
		defer stop()
		deadline := time.Now().Add(hang)
		for !f.longJob(storage.Name{Tenant: "acme", Operation: "job", Key: "secret-" + storage.NewToken().String()}) {
			if time.Now().After(deadline) {
				t.Fatal("the heartbeats were late again and again")
			}
		}
		if _, passes := stop(); passes < 10 {
			t.Errorf("only %d passes: that shows nothing", passes)
		}
	})
}

// longJob holds a name for ten times its lease against a rival. It gives false when the heartbeats were so late that the
// rival took over, as it may: that shows nothing.
func (f *fixture) longJob(name storage.Name) (held bool) {
	f.t.Helper()
	mine := reserve(name)
	mine.Lease, mine.Retention = 500*time.Millisecond, time.Second
	a := f.apply(mine)[0]
	for end := a.Now.Add(10 * mine.Lease); a.Now.Before(end); {
		f.exec(`UPDATE reprise_keys SET sweep_hour = sweep_hour - 5 WHERE operation = 'job'`) // a candidate of every pass
		rival := reserve(name)
		if got := f.apply(rival)[0]; got.Outcome == storage.OutcomeAcquired && got.Record.Takeover {
			return false
		} else if got.Outcome != storage.OutcomeInProgress {
			f.t.Fatalf("the rival's reserve: got %v (attempt %d), want in_progress", got.Outcome, got.Record.Attempt)
		}
		if a = f.apply(storage.Heartbeat{Name: name, Token: mine.Token})[0]; a.Outcome != storage.OutcomeRenewed {
			f.t.Fatalf("the heartbeat: got %v, want renewed", a.Outcome)
		}
	}
	if a := f.apply(complete(mine, storage.Completed))[0]; a.Outcome != storage.OutcomeSettled {
		f.t.Fatalf("the completion: got %v, want settled", a.Outcome)
	}
	return true
}

// Ensure that a name which is acquired anew, or settled once more, between the look at its row and the deletion keeps its
// record, and that the rest of its group goes.
func TestWhatIsRenewedMeanwhileSurvives(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		const due, renewed = 1100, 40
		f.completeAll("settled", due)
		f.age("settled", 5)
		tokens := map[storage.Name]storage.Token{}
		f.sweeper.Store = hooked{Sweeper: f.store, expired: func(rows []storage.Sweepable) {
			for i := 0; i < len(rows) && len(tokens) < renewed; i += 7 {
				c := reserve(rows[i].Name)
				tokens[c.Name] = c.Token
				if a := f.apply(c)[0]; a.Outcome != storage.OutcomeAcquired || a.Record.Attempt != 1 || a.Record.Fence <= rows[i].Fence {
					t.Errorf("an expired name: got %v, attempt %d, fence %d after %d", a.Outcome, a.Record.Attempt, a.Record.Fence, rows[i].Fence)
				}
				if i%2 == 0 {
					f.apply(complete(c, storage.Completed))
				}
			}
		}}
		if got, want := countedIn(f.sweep()), (counted{Due: due, Deleted: due - renewed}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got := f.rows("settled"); got != renewed {
			t.Errorf("got %d rows, want the %d renewed ones", got, renewed)
		}
		for name, token := range tokens {
			if r := f.apply(storage.Lookup{Name: name})[0].Record; r == nil || r.Token != token {
				t.Errorf("%s is lost: %+v", name.Key, r)
			}
		}
	})
}

// Ensure that two sweepers of two processes and callers who take due names anew work side by side on one Postgres: nobody
// meets an error, nothing that was granted is lost, and all else that was due is gone.
func TestTwoSweepersAndCallers(t *testing.T) {
	const rounds, due, callers, each = 4, 1500, 4, 80
	f := onPostgres(t)
	other := *f.sweeper
	other.Store = openPostgres(t, f.url)
	stops := []func() (int, int){f.keepSweeping(f.sweeper), f.keepSweeping(&other)}

	granted := make([]map[storage.Name]storage.Token, callers)
	for round := range rounds {
		operation := fmt.Sprint("round ", round)
		f.completeAll(operation, due)
		f.age(operation, 5)
		var calling sync.WaitGroup
		for i := range callers {
			if granted[i] == nil {
				granted[i] = map[storage.Name]storage.Token{}
			}
			calling.Go(func() {
				for n := range each {
					f.takeAnew(nameOf(operation, due-1-i-n*callers), granted[i])
				}
			})
		}
		calling.Wait()
	}
	var deleted int
	for _, stop := range stops {
		n, _ := stop()
		deleted += n
	}
	deleted += f.sweep().Deleted // what became due behind the last pass
	left := 0
	for round := range rounds {
		left += f.rows(fmt.Sprint("round ", round))
	}
	const taken = rounds * callers * each // each of them before, or after, its old row was deleted
	if left != taken || deleted > rounds*due || deleted < rounds*due-taken {
		t.Errorf("got %d rows and %d deletions of %d, want the %d that were taken anew", left, deleted, rounds*due, taken)
	}
	for i := range callers {
		for name, token := range granted[i] {
			if r := f.apply(storage.Lookup{Name: name})[0].Record; r == nil || r.Token != token {
				t.Errorf("%v is lost: %+v", name, r)
			}
		}
	}
}

// takeAnew acquires an expired name, and settles it in every second case.
func (f *fixture) takeAnew(name storage.Name, granted map[storage.Name]storage.Token) {
	c := reserve(name)
	a := f.store.Apply(context.Background(), []storage.Call{c})[0]
	if a.Err != nil || a.Outcome != storage.OutcomeAcquired || a.Record.Attempt != 1 {
		f.t.Errorf("%v: got %v, %v, want a lease of a first attempt", name, a.Outcome, a.Err)
		return
	}
	granted[name] = c.Token
	if len(granted)%2 == 0 {
		return
	}
	if a := f.store.Apply(context.Background(), []storage.Call{complete(c, storage.Completed)})[0]; a.Err != nil || a.Outcome != storage.OutcomeSettled {
		f.t.Errorf("%v: got %v, %v, want settled", name, a.Outcome, a.Err)
	}
}
