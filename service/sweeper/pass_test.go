package sweeper_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/service/sweeper"
	"github.com/reprise-idempotency/reprise/storage"
)

// counted is what a pass did with rows.
type counted struct{ Due, Deleted, Failed, Kept int }

func countedIn(r sweeper.Report) counted { return counted{r.Due, r.Deleted, r.Failed, r.Kept} }

// Ensure that one pass deletes everything that is due, whatever its state and however many groups it takes, leaves all
// else, and reports both.
func TestAPassDeletesAllThatIsDue(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		failed, released := reserve(nameOf("failed", 0)), reserve(nameOf("released", 0))
		f.apply(failed, complete(failed, storage.Failed))
		f.apply(released, storage.Release{Name: released.Name, Token: released.Token})
		f.multiply("failed", 200)
		f.multiply("released", 200)
		f.completeAll("completed", 500)
		f.reserveAll("abandoned", 300, storage.Retry)
		f.reserveAll("uncertain", 30, storage.Hold)
		for _, operation := range []string{"failed", "released", "completed", "abandoned", "uncertain"} {
			f.age(operation, 5)
		}
		f.completeAll("kept for a while", 20)
		f.reserveAll("live", 20, storage.Retry)
		f.completeAll("expired this hour", 20)
		f.exec(`UPDATE reprise_keys SET expires_at = created_at WHERE operation = 'expired this hour'`)

		if got, want := countedIn(f.sweep()), (counted{Due: 1200, Deleted: 1200, Kept: 30}); got != want {
			t.Errorf("the pass: got %+v, want %+v", got, want)
		}
		for operation, want := range map[string]int{"failed": 0, "released": 0, "completed": 0, "abandoned": 0, "uncertain": 30,
			"kept for a while": 20, "live": 20, "expired this hour": 20} {
			if got := f.rows(operation); got != want {
				t.Errorf("%s: got %d rows after the pass, want %d", operation, got, want)
			}
		}
		if got, want := countedIn(f.sweep()), (counted{Kept: 30}); got != want {
			t.Errorf("the next pass: got %+v, want %+v", got, want)
		}
	})
}

// Ensure that the lag of a pass is how long the oldest due row has been due: since the hour after its end, and a minute.
func TestLagIsThatOfTheOldestRow(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		f.completeAll("young", 10)
		f.completeAll("old", 10)
		end := f.apply(storage.Lookup{Name: nameOf("old", 0)})[0].Record.ExpiresAt.Add(-8 * time.Hour)
		f.age("young", 3)
		f.age("old", 8)
		since := storage.Deletable(end, storage.SweepHourOf(end))
		least := f.now().Sub(since)
		r := f.sweep()
		if most := f.now().Sub(since); r.Lag < least || r.Lag > most {
			t.Errorf("got a lag of %v, want %v to %v", r.Lag, least, most)
		}
		if r.Took <= 0 {
			t.Errorf("the pass took %v", r.Took)
		}
	})
}

// Ensure that more undeletable rows than a group has, at the head of the order, do not keep a pass from what is due
// behind them, and stay.
func TestAPassGoesPastRowsThatMustStay(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		const uncertain, due = 1100, 1050
		f.reserveAll("uncertain", uncertain, storage.Hold)
		f.age("uncertain", 50)
		f.completeAll("settled", due)
		f.age("settled", 5)
		if got, want := countedIn(f.sweep()), (counted{Due: due, Deleted: due, Kept: uncertain}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got := f.rows("settled"); got != 0 {
			t.Errorf("got %d due rows after the pass, want none", got)
		}
		a := f.apply(storage.Lookup{Name: nameOf("uncertain", uncertain-1)})[0]
		if got := f.rows("uncertain"); got != uncertain || a.Record == nil || a.Record.StateAt(a.Now) != storage.Uncertain {
			t.Errorf("got %d uncertain rows and %+v, want all %d, still uncertain", got, a.Record, uncertain)
		}
	})
}

// Ensure that a pass ends with a count of what has been in progress for a minute or longer.
func TestAPassCountsWhatStaysOpen(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		f.reserveAll("live", 3, storage.Retry)
		f.reserveAll("abandoned", 2, storage.Retry)
		f.reserveAll("uncertain", 4, storage.Hold)
		for _, operation := range []string{"live", "abandoned", "uncertain"} {
			f.age(operation, 2) // in progress for two hours
		}
		f.extend("live", 9, true) // and not yet at its end
		f.extend("abandoned", 9, false)
		f.reserveAll("just now", 5, storage.Retry)
		r := f.sweep()
		for state, want := range map[storage.State]int{storage.InProgress: 3, storage.Abandoned: 2, storage.Uncertain: 4} {
			if got := r.Open.Counts[state]; got.N != want || got.AtLeast {
				t.Errorf("%v: got %+v, want exactly %d", state, got, want)
			}
		}
		if age := r.Open.Now.Sub(r.Open.Oldest); age < 2*time.Hour || age > 2*time.Hour+hang {
			t.Errorf("got an oldest key in progress of %v, want one of two hours", age)
		}
	})
}

// Ensure that Run tells of a pass that deleted something, in numbers and without a key, and is silent about one that
// found nothing to do.
func TestRunLogsWhatItDid(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		f.completeAll("settled", 7)
		f.age("settled", 5)
		passes := f.runFor(t, 3)
		if passes[0].Deleted != 7 {
			t.Fatalf("the first pass: got %+v", passes[0])
		}
		lines := strings.Split(strings.TrimSpace(f.log.String()), "\n")
		var line struct {
			Msg          string
			Due, Deleted int
		}
		if err := json.Unmarshal([]byte(lines[0]), &line); err != nil || line.Msg != "swept" || line.Due != 7 || line.Deleted != 7 {
			t.Errorf("got the line %s (%v)", lines[0], err)
		}
		if len(lines) != 1 || strings.Contains(lines[0], "secret-") {
			t.Errorf("want one line without a key after three passes, got %q", lines)
		}
	})
}
