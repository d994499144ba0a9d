package postgres_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/reprise-idempotency/reprise/storage"
)

// judge holds the answers against what is stored.
func (l *cutLab) judge(g given, answers []storage.Answer, stored []seen) {
	l.t.Helper()
	for i, k := range g.kinds {
		a, changed := answers[i], stored[i].row != g.before[i].row
		var wrong error
		switch {
		case errors.Is(a.Err, storage.ErrOutcomeUnknown):
			l.tally["unknown"]++
			if k.reads {
				wrong = errors.New("nobody can know the outcome of what only reads")
			} else if changed {
				wrong = k.wrong(g.calls[i], g.before[i].record, stored[i].record)
			}
		case errors.Is(a.Err, storage.ErrUnavailable):
			l.tally["unavailable"]++
			if changed {
				wrong = errors.New("the record was changed")
			}
		default:
			l.tally["right"]++
			wrong = k.wrongAnswer(g.calls[i], g.before[i], a, stored[i])
		}
		if wrong == nil && k.name == "resolve" && changed != (stored[i].acts == 1) {
			wrong = fmt.Errorf("changed %v, with %d acts in the audit log", changed, stored[i].acts)
		}
		if wrong != nil {
			l.fail("%s got %v, %v: %v", k.name, a.Outcome, a.Err, wrong)
		}
	}
}

// wrongAnswer tells what is wrong with an answer that came, or with what is stored after it.
func (k kind) wrongAnswer(c storage.Call, before seen, a storage.Answer, stored seen) error {
	switch {
	case a.Err != nil || a.Outcome != k.want:
		return fmt.Errorf("want %v, or that the store did not answer", k.want)
	case k.reads && stored.row != before.row:
		return errors.New("the record was changed")
	case stored.record == nil || a.Record.Token != stored.record.Token || a.Record.Fence != stored.record.Fence:
		return errors.New("something else is stored")
	}
	return errors.Join(k.wrong(c, before.record, a.Record), k.wrong(c, before.record, stored.record))
}

// repeat sends the calls again, as somebody does who had no answer, and then those of others.
func (l *cutLab) repeat(g given, stored []seen) {
	l.t.Helper()
	calls, rivals := slices.Clone(g.calls), slices.Clone(g.calls)
	for i, c := range g.calls {
		calls[i], rivals[i] = again(c), attempt(c.On())
	}
	answers := l.apply(calls)
	final := l.look(g)
	for i, k := range g.kinds {
		if wrong := k.wrongRepeat(calls[i], g.before[i], stored[i], answers[i], final[i]); wrong != nil {
			l.fail("%s, repeated, got %v, %v: %v", k.name, answers[i].Outcome, answers[i].Err, wrong)
		}
	}
	for i, a := range l.apply(rivals) {
		k := g.kinds[i]
		if a.Err != nil || a.Outcome != k.rival {
			l.fail("after %s another attempt got %v, %v; want %v", k.name, a.Outcome, a.Err, k.rival)
			continue
		}
		last := final[i].record
		if a.Outcome == storage.OutcomeAcquired && (a.Record.Attempt != last.Attempt+1 || a.Record.Fence <= last.Fence) {
			l.fail("after %s another attempt has number %d and fence %d", k.name, a.Record.Attempt, a.Record.Fence)
		}
	}
}

// wrongRepeat tells what is wrong with the answer to a repeated call, or with what is stored after it: all is as if the
// call had been sent once.
func (k kind) wrongRepeat(c storage.Call, before, stored seen, a storage.Answer, final seen) error {
	was := stored.row != before.row
	want := k.want
	if was && k.repeated != 0 {
		want = k.repeated
	}
	r, isReserve := c.(storage.Reserve)
	switch {
	case a.Err != nil || a.Outcome != want:
		return fmt.Errorf("want %v", want)
	case (was || k.reads) && k.name != "heartbeat" && final.row != stored.row:
		return fmt.Errorf("the record changed once more:\n%s\n%s", stored.row, final.row)
	case was && (final.record.Token != stored.record.Token || final.record.Fence != stored.record.Fence):
		return errors.New("it was granted twice")
	case !was && k.acquires && isReserve && final.record.Token != r.Token:
		return errors.New("the token is not that of the call")
	case a.Record.Token != final.record.Token || a.Record.Fence != final.record.Fence:
		return errors.New("something else is stored")
	}
	if k.name == "resolve" && final.acts != 1 {
		return fmt.Errorf("the audit log has %d acts", final.acts)
	}
	return k.wrong(c, before.record, final.record)
}

// wrong tells what is wrong with a record on which the call was done, once; before is the record as it was given.
func (k kind) wrong(c storage.Call, before, after *storage.Record) error {
	switch {
	case after == nil:
		return fmt.Errorf("there is no record")
	case after.State != k.state || after.Attempt != k.attempt || after.Version != k.version:
		return fmt.Errorf("it is %v, attempt %d, version %d; want %v, %d, %d",
			after.State, after.Attempt, after.Version, k.state, k.attempt, k.version)
	case k.state == storage.Completed && !reflect.DeepEqual(after.Response, firstResponse(after.Name)):
		return fmt.Errorf("the response is %+v; want %+v", after.Response, firstResponse(after.Name))
	case before != nil && (after.Fence < before.Fence || (after.Fence > before.Fence) != k.acquires):
		return fmt.Errorf("the fence is %d after %d", after.Fence, before.Fence)
	}
	switch c := c.(type) {
	case storage.Reserve:
		if k.acquires && (after.AttemptID != c.AttemptID || after.Takeover != (k.attempt > 1)) {
			return fmt.Errorf("it is of the attempt %s, takeover %v; want %s, %v", after.AttemptID, after.Takeover, c.AttemptID, k.attempt > 1)
		}
	case storage.Heartbeat:
		if after.OnLapse != storage.Hold || !reflect.DeepEqual(after.Checkpoint, c.Checkpoint) {
			return fmt.Errorf("on lapse %v, checkpoint %+v; want hold, %+v", after.OnLapse, after.Checkpoint, c.Checkpoint)
		}
	}
	return nil
}
