package linear

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/reprise-idempotency/reprise/storage"
)

// input is a call as porcupine sees it.
type input struct {
	*Op
	now   span       // when the call was decided, by the store's clock
	group int        // of calls that happen one after the other
	place int        // in the group, from 1 on; 0: it has none
	later *foresight // of all calls on the name
}

// theEnd is the input of a call that comes after all others. What has no answer either changed something before it, or
// happened after it, where nobody sees what it changed, or never. So the search need not try where a call without an
// answer changes nothing.
type theEnd struct{}

// model is the life of one name. Its output is an *Answer, nil for a call without one.
var model = (&porcupine.NondeterministicModel{
	Init:              func() []any { return []any{state{}} },
	Step:              next,
	Equal:             func(a, b any) bool { return a.(state).equal(b.(state)) },
	DescribeOperation: func(in, out any) string { return describeCall(in, out.(*Answer)) },
	DescribeState:     func(s any) string { return s.(state).String() },
}).ToModel()

// next gives all states that a call may lead to.
func next(from, in, out any) (all []any) {
	s := from.(state)
	call, ok := in.(input)
	answer := out.(*Answer)
	switch {
	case !ok:
		s.over = true
		return []any{s}
	case answer == nil && s.over:
		return []any{s}
	case call.place > 0 && s.places.of(call.group) != call.place-1:
		return nil
	}
	for _, step := range s.decide(call.Op, call.now) {
		after, ok := step.next, step.matters(s, call)
		if answer != nil {
			after, ok = step.explains(answer, call.now)
		}
		if ok {
			after.places = s.places.with(call)
			all = append(all, after)
		}
	}
	return all
}

// matters tells whether a call without an answer may have come to this: it changed what was there, and nobody has seen
// anything else.
func (s step) matters(before state, call input) bool {
	return !s.next.equal(before) && (!s.grants || call.later.allows(s.next))
}

func describeCall(in any, a *Answer) string {
	call, ok := in.(input)
	if !ok {
		return "the end"
	}
	return call.String() + " → " + a.String()
}

// String writes the call on one line, without its answer.
func (o *Op) String() string {
	switch c := o.Call.(type) {
	case storage.Reserve:
		return fmt.Sprintf("reserve(attempt %s, fingerprint %s, lease %v, on lapse %v)", c.AttemptID, c.Fingerprint, c.Lease, c.OnLapse)
	case storage.Complete:
		return fmt.Sprintf("complete(%s, %v %v)", brief(c.Token), c.Result, o.Content)
	case storage.Release:
		return fmt.Sprintf("release(%s, reason %q, forget %t)", brief(c.Token), c.Reason, c.Forget)
	case storage.Heartbeat:
		text := fmt.Sprintf("heartbeat(%s, lease %v, hold %t", brief(c.Token), c.Lease, c.Hold)
		if c.Checkpoint != nil {
			text += fmt.Sprintf(", checkpoint %d %q", c.Checkpoint.Seq, c.Checkpoint.Data)
		}
		return text + ")"
	case storage.Lookup:
		return fmt.Sprintf("lookup(fingerprint %s)", c.Fingerprint)
	case storage.Resolve:
		return fmt.Sprintf("resolve(version %s, to %v %v, force %t)", c.Version, c.To, o.Content, c.Force)
	case storage.Expire:
		return fmt.Sprintf("expire(version %s)", c.Version)
	}
	return fmt.Sprintf("%T", o.Call)
}

// String writes the answer on one line.
func (a *Answer) String() string {
	if a == nil {
		return "?"
	}
	text := a.Outcome.String()
	if a.Token != (storage.Token{}) {
		text += fmt.Sprintf(" token %s takeover %t", brief(a.Token), a.Takeover)
	}
	if s := a.Seen; s != nil {
		text += fmt.Sprintf(" [%v attempt %d fence %d version %s fingerprint %q hold %t until %s checkpoint %d %q reason %q %v]", s.State,
			s.Attempt, s.Fence, s.Version, s.Fingerprint, s.Hold, clock(s.LeaseEnd), s.Checkpoint.Seq, s.Checkpoint.Data, s.Reason, s.Content)
	}
	return text
}

// String writes the state on one line.
func (s state) String() string {
	if s.stored == 0 {
		return fmt.Sprintf("absent, fence %d, at least %d", s.fence, s.floor)
	}
	earlier := slices.DeleteFunc(slices.Clone(s.earlier[:]), func(id string) bool { return id == "" })
	return fmt.Sprintf("%v attempt %d token %s version %s fence %d, at least %d, attempt %s after [%s], fingerprint %q hold %t until %s to %s "+
		"checkpoint %d %q reason %q %v by operator %t ended %s to %s", s.stored, s.attempt, brief(s.token), s.version, s.fence, s.floor, s.attemptID,
		strings.Join(earlier, " "), s.fingerprint, s.hold, clock(s.end.from), clock(s.end.to), s.checkpoint.Seq, s.checkpoint.Data, s.reason,
		s.content, s.byOperator, clock(s.ending.from), clock(s.ending.to))
}
