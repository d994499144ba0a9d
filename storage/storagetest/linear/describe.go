package linear

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file writes histories for people.

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

func brief(t storage.Token) string { return t.String()[:8] }

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("05.000000")
}
