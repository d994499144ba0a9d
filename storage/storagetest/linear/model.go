package linear

import "github.com/anishathalye/porcupine"

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
