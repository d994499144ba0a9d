package cas

import (
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// actOf gives what the audit log says of a change; ok is false for one that a holder made.
func actOf(call storage.Call, before, after *storage.Record, now time.Time) (act storage.Act, ok bool) {
	switch c := call.(type) {
	case storage.Resolve:
		act.Operator, act.Action = c.By, storage.ActionResolve
	case storage.Expire:
		act.Operator, act.Action = c.By, storage.ActionExpire
	default:
		return act, false
	}
	act.Name, act.At = call.On(), now
	act.Before, act.After = before.StandingAt(now), after.StandingAt(now)
	return act, true
}
