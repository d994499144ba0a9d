package life_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/life"
	"github.com/reprise-idempotency/reprise/storage/storagetest/model"
)

// A sequence costs next to nothing here, and the rarer edges want many: -rapid.checks still overrules.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "1000")
	_ = flag.Set("rapid.nofailfile", "true") // the seed is printed
	flag.Parse()
	os.Exit(m.Run())
}

// callsOnTheName is how long a sequence is: enough for five acquisitions and their settlements.
const callsOnTheName = 30

// world is one name under the rules and under the model, with a clock that the test moves. No database takes part, so
// that the clock can stand exactly on the end of a lease or of a record, a microsecond before and one after.
type world struct {
	now      time.Time
	row      *storage.Record
	model    model.Model
	versions model.Versions
	tokens   []storage.Token
}

var name = storage.Name{Tenant: "t", Operation: "o", Subject: "s", Key: "k"}

// Ensure that the rules answer every sequence of calls on a name as the model does, at every edge of time.
func TestRulesFollowTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{now: time.UnixMicro(1_800_000_000_000_000).UTC()}
		for i := range callsOnTheName {
			w.passTime(t)
			call := w.draw(t, i)
			before := copyOf(w.row)
			answer, next := life.Decide(w.row, call, w.now)
			expected := w.model.Apply(call, model.ToldBy(answer, &w.versions))
			if d := expected.Differences(answer); d != "" {
				t.Fatalf("%T %+v at %v on %+v: %s", call, call, w.now, w.row, d)
			}
			if d := w.versions.Differences(expected, answer); d != "" {
				t.Fatalf("%T %+v at %v on %+v: %s", call, call, w.now, w.row, d)
			}
			if fmt.Sprintf("%+v", before) != fmt.Sprintf("%+v", copyOf(w.row)) {
				t.Fatalf("the stored row was modified by %T", call)
			}
			w.apply(t, next, answer.Outcome == storage.OutcomeExpired)
		}
	})
}

// apply makes next the row, and checks what every write must do to it. The sweep of a record that an operator ended stays
// where it was.
func (w *world) apply(t *rapid.T, next *storage.Record, ended bool) {
	if next == nil {
		return
	}
	if w.row != nil && (next.Revision <= w.row.Revision || next.Fence < w.row.Fence) {
		t.Fatalf("a write led from revision %d, fence %d to %d, %d", w.row.Revision, w.row.Fence, next.Revision, next.Fence)
	}
	if ended {
		if next.SweepHour != w.row.SweepHour {
			t.Fatalf("a record that was to be swept at hour %d is now at %d", w.row.SweepHour, next.SweepHour)
		}
	} else if hour := time.Unix(int64(next.SweepHour)*3600, 0); hour.Before(next.ExpiresAt) || hour.Sub(next.ExpiresAt) >= time.Hour {
		t.Fatalf("a record that ends at %v is swept at %v", next.ExpiresAt, hour)
	}
	w.row = next
}

// passTime moves the clock to an interesting instant that is not before the last one.
func (w *world) passTime(t *rapid.T) {
	instants := []time.Time{w.now, w.now.Add(time.Microsecond), w.now.Add(time.Second)}
	if w.row != nil {
		for _, edge := range []time.Time{w.row.LeaseExpiresAt, w.row.ExpiresAt} {
			instants = append(instants, edge.Add(-time.Microsecond), edge, edge.Add(time.Microsecond))
		}
	}
	if at := rapid.SampledFrom(instants).Draw(t, "now"); at.After(w.now) {
		w.now = at
	}
}

// draw makes a call, with the tokens and attempt ids of this name's past more often than not.
func (w *world) draw(t *rapid.T, i int) storage.Call {
	fingerprint := rapid.SampledFrom([]string{"f", "f", "f", "g"}).Draw(t, "fingerprint")
	switch rapid.SampledFrom([]string{"reserve", "reserve", "complete", "release", "heartbeat", "lookup", "resolve", "expire"}).Draw(t, "call") {
	case "reserve":
		token := storage.Token{byte(i + 1)}
		w.tokens = append(w.tokens, token)
		return storage.Reserve{Name: name, Fingerprint: fingerprint, Token: token, Holder: fmt.Sprint("holder ", i),
			AttemptID: rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f", fmt.Sprint("new", i)}).Draw(t, "attempt_id"),
			Lease:     w.span(t, "lease"), Retention: w.span(t, "retention"), OnLapse: rapid.SampledFrom([]storage.OnLapse{storage.Retry, storage.Hold}).Draw(t, "on_lapse")}
	case "complete":
		result := rapid.SampledFrom([]storage.State{storage.Completed, storage.Failed}).Draw(t, "result")
		hash := rapid.SampledFrom([]string{"h", "i"}).Draw(t, "hash")
		return storage.Complete{Name: name, Token: w.token(t), Result: result, ResultHash: []byte(hash), ResourceID: hash,
			Response:  rapid.SampledFrom([]*storage.Response{nil, {Status: 201, Body: []byte("x")}, {BodyDropped: true}}).Draw(t, "response"),
			Retention: rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "retention")}
	case "release":
		return storage.Release{Name: name, Token: w.token(t), Reason: fmt.Sprint("reason ", i), Forget: rapid.Bool().Draw(t, "forget")}
	case "heartbeat":
		c := storage.Heartbeat{Name: name, Token: w.token(t), Hold: rapid.Bool().Draw(t, "hold"),
			Lease: rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second}).Draw(t, "lease")}
		if rapid.Bool().Draw(t, "with checkpoint") {
			c.Checkpoint = &storage.Checkpoint{Seq: rapid.Int64Range(1, 4).Draw(t, "seq"), Data: fmt.Sprint("data ", i)}
		}
		return c
	case "resolve":
		return storage.Resolve{Name: name, Token: storage.Token{0xee, byte(i)}, Version: w.version(t), Force: rapid.Bool().Draw(t, "force"),
			To:       rapid.SampledFrom([]storage.State{storage.Completed, storage.Failed, storage.Released}).Draw(t, "to"),
			Response: rapid.SampledFrom([]*storage.Response{nil, {Status: 201, Body: []byte("x")}, {BodyDropped: true}}).Draw(t, "response"),
			By:       storage.Operator{Reason: fmt.Sprint("act ", i)}}
	case "expire":
		return storage.Expire{Name: name, Version: w.version(t)}
	}
	return storage.Lookup{Name: name, Fingerprint: rapid.SampledFrom([]string{"", fingerprint}).Draw(t, "compared")}
}

func (w *world) span(t *rapid.T, label string) time.Duration {
	return rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Hour}).Draw(t, label)
}

// token draws one of the past, the latest most often, or one that never was.
func (w *world) token(t *rapid.T) storage.Token {
	known := append([]storage.Token{{0xff}}, w.tokens...)
	if w.row != nil {
		known = append(known, w.row.Token, w.row.Token, w.row.Token, w.row.Token)
	}
	return rapid.SampledFrom(known).Draw(t, "token")
}

// version draws the one that is stored, or another one.
func (w *world) version(t *rapid.T) string {
	known := []string{"", "1.1"}
	if w.row != nil {
		earlier := *w.row
		earlier.Version--
		stored := w.row.VersionText()
		known = append(known, earlier.VersionText(), stored, stored, stored, stored, stored, stored, stored, stored)
	}
	return rapid.SampledFrom(known).Draw(t, "version")
}

func copyOf(r *storage.Record) storage.Record {
	if r == nil {
		return storage.Record{}
	}
	return *r
}
