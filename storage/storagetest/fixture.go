package storagetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-idempotency/reprise/storage"
)

const (
	long   = time.Hour              // does not end during a test
	brief  = time.Millisecond       // ends at once
	hang   = 30 * time.Second       // no call takes that long: the store hangs
	maxInt = int64(1)<<53 - 1       // the highest fence
	micro  = time.Microsecond       // what times are counted in
	pause  = 500 * time.Microsecond // between two looks at a clock that has to move on
)

// fixture is what a promise is tested with: a store that others have used before, under other names.
type fixture struct {
	t     *testing.T
	store storage.Store
	open  func(t *testing.T) storage.Store
}

// name gives a name that nobody has used.
func (f *fixture) name() storage.Name {
	return storage.Name{Tenant: "tenant-" + fresh(), Operation: "POST /v1/orders", Subject: "customer", Key: "key-" + fresh()}
}

// fresh gives a text that never occurs twice.
func fresh() string { return storage.NewToken().String() }

func (f *fixture) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	f.t.Cleanup(cancel)
	return ctx
}

// apply sends a group, and looks at what holds for every answer.
func (f *fixture) apply(calls ...storage.Call) []storage.Answer {
	f.t.Helper()
	answers := f.store.Apply(f.ctx(), calls)
	if len(answers) != len(calls) {
		f.t.Fatalf("%d calls got %d answers", len(calls), len(answers))
	}
	for i, a := range answers {
		if err := sound(a); err != nil {
			f.t.Fatalf("answer %d, to a %T: %v", i, calls[i], err)
		}
	}
	return answers
}

// one sends a single call, which has to be answered.
func (f *fixture) one(c storage.Call) storage.Answer {
	f.t.Helper()
	a := f.apply(c)[0]
	if a.Err != nil {
		f.t.Fatalf("%T: %v", c, a.Err)
	}
	return a
}

// want sends a single call, which has to come to this outcome.
func (f *fixture) want(o storage.Outcome, c storage.Call) storage.Answer {
	f.t.Helper()
	a := f.one(c)
	if a.Outcome != o {
		f.t.Fatalf("%T: got %v, want %v; the record: %+v", c, a.Outcome, o, a.Record)
	}
	return a
}

// sound tells what is wrong with an answer, whatever the call was.
func sound(a storage.Answer) error {
	granted := a.Outcome == storage.OutcomeAcquired || a.Outcome == storage.OutcomeRenewed
	switch {
	case a.Err != nil && a.Outcome != 0:
		return fmt.Errorf("both an outcome, %v, and an error: %w", a.Outcome, a.Err)
	case a.Err != nil:
		return nil
	case a.Outcome == 0:
		return errors.New("neither an outcome nor an error")
	case a.Now.IsZero() || a.Now.Location() != time.UTC || a.Now.Nanosecond()%int(micro) != 0:
		return fmt.Errorf("the store's clock says %v: not UTC in whole microseconds", a.Now)
	case a.Record == nil && a.Outcome != storage.OutcomeNotFound && a.Outcome != storage.OutcomeLeaseLost:
		return fmt.Errorf("%v without a record", a.Outcome)
	case a.Record != nil && a.Outcome == storage.OutcomeNotFound:
		return errors.New("absent, and yet a record")
	case granted == a.GoodUntil.IsZero():
		return fmt.Errorf("%v with GoodUntil %v", a.Outcome, a.GoodUntil)
	}
	return nil
}

// record reads what is stored under a name; nil when it is absent.
func (f *fixture) record(n storage.Name) *storage.Record {
	f.t.Helper()
	return f.one(storage.Lookup{Name: n}).Record
}

// changesNothing runs what must leave the record of a name as it is, to the last field.
func (f *fixture) changesNothing(n storage.Name, act func()) {
	f.t.Helper()
	before := f.record(n)
	act()
	f.same("the record", f.record(n), before)
}

// same compares what came with what had to come.
func (f *fixture) same(what string, got, want any) {
	f.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Fatalf("%s is not as it must be (-want +got):\n%s", what, diff)
	}
}

// passes waits until the store's clock has reached an instant, and gives the first reading that had.
func (f *fixture) passes(at time.Time) time.Time {
	f.t.Helper()
	n := f.name()
	f.endsSoon(at)
	for giveUp := time.Now().Add(hang); time.Now().Before(giveUp); time.Sleep(pause) {
		if now := f.one(storage.Lookup{Name: n}).Now; !now.Before(at) {
			return now
		}
	}
	f.t.Fatalf("the store's clock never reached %v", at)
	return time.Time{}
}

// endsSoon asserts that an instant is not so far ahead that nobody should wait for it.
func (f *fixture) endsSoon(at time.Time) {
	f.t.Helper()
	if ahead := at.Sub(f.one(storage.Lookup{Name: f.name()}).Now); ahead > hang {
		f.t.Fatalf("what has to be over soon ends in %v", ahead)
	}
}

// reserve is a call that acquires an absent name for long. Promises change what they are about.
func reserve(n storage.Name) storage.Reserve {
	return storage.Reserve{Name: n, Fingerprint: "fp-1", AttemptID: fresh(), Token: storage.NewToken(), Lease: long,
		Retention: 24 * long, Holder: "worker"}
}

func complete(n storage.Name, t storage.Token) storage.Complete {
	return storage.Complete{Name: n, Token: t, Result: storage.Completed, ResultHash: []byte("hash-1"),
		ResourceID: "order-1", Response: response()}
}

func response() *storage.Response {
	return &storage.Response{Status: 201, Headers: [][2]string{{"Location", "/orders/1"}}, Body: []byte(`{"id":1}`)}
}

func progress(seq int64, data string) *storage.Checkpoint {
	return &storage.Checkpoint{Seq: seq, Data: data}
}

// atOnce sends each call from a goroutine of its own, all at the same time, and gives the answers in the calls' order.
func (f *fixture) atOnce(calls ...storage.Call) []storage.Answer {
	f.t.Helper()
	answers := make([]storage.Answer, len(calls))
	ctx, start := f.ctx(), make(chan struct{})
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() {
			<-start
			answers[i] = f.store.Apply(ctx, []storage.Call{c})[0]
		})
	}
	close(start)
	all.Wait()
	for i, a := range answers {
		if err := errors.Join(sound(a), a.Err); err != nil {
			f.t.Fatalf("call %d of %d, a %T: %v", i, len(calls), calls[i], err)
		}
	}
	return answers
}

// count tells how many answers came to an outcome.
func count(answers []storage.Answer, o storage.Outcome) (n int) {
	for _, a := range answers {
		if a.Outcome == o {
			n++
		}
	}
	return n
}
