package column

import "github.com/reprise-idempotency/reprise/storage"

// ActColumns are the columns of an operator's act; the first, its time, is written as each backend writes times.
const ActColumns = `at, id, action, tenant, operation, subject, key, actor, address, request_id, reason,
  before_state, before_version, before_attempt, before_fence, after_state, after_version, after_attempt, after_fence`

// Act gives the values of these columns, but for the time.
func Act(a storage.Act) []any {
	return []any{a.ActID, int16(a.Action), a.Tenant, a.Operation, a.Subject, a.Key, a.Actor, a.Address, a.RequestID, a.Reason,
		int16(a.Before.State), a.Before.Version, a.Before.Attempt, a.Before.Fence,
		int16(a.After.State), a.After.Version, a.After.Attempt, a.After.Fence}
}

// ParseAct gives where to scan them to.
func ParseAct(a *storage.Act) []any {
	return []any{&a.ActID, &a.Action, &a.Tenant, &a.Operation, &a.Subject, &a.Key, &a.Actor, &a.Address, &a.RequestID, &a.Reason,
		&a.Before.State, &a.Before.Version, &a.Before.Attempt, &a.Before.Fence,
		&a.After.State, &a.After.Version, &a.After.Attempt, &a.After.Fence}
}
