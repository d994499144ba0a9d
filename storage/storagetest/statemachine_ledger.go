package storagetest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-idempotency/reprise/storage"
)

// ledger watches what the store grants and accepts for one name, and knows the great promises only. It shares nothing
// with the model, so that a mistake in the model does not hide a broken promise.
type ledger struct {
	token   storage.Token // of the latest acquisition
	fence   int64
	leased  bool      // it was neither given back nor settled, that we know
	end     time.Time // of its lease
	settled *storage.Record
	ousted  bool // an operator ended the acquisition, or the record
	acts    []storage.Act
	last    *storage.Record // as it was told last: what an operator acts on
}

// enter notes an answer, and tells which promise it breaks; nothing if none.
func (l *ledger) enter(call storage.Call, a storage.Answer) string {
	defer func() { l.last = a.Record }()
	if a.Outcome == storage.OutcomeResolved || a.Outcome == storage.OutcomeExpired {
		return l.acted(call, a)
	}
	if wrong := l.settlementStands(a); wrong != "" {
		return wrong
	}
	if wrong := l.oustedStaysOut(call, a); wrong != "" {
		return wrong
	}
	switch a.Outcome {
	case storage.OutcomeAcquired:
		return l.acquired(call.(storage.Reserve), a)
	case storage.OutcomeRenewed:
		return l.renewed(a)
	case storage.OutcomeReleased:
		l.leased = false
	case storage.OutcomeSettled:
		l.leased = false
		l.settled = a.Record
	}
	return ""
}

// acquired holds the grant of a lease against the ones before it.
func (l *ledger) acquired(c storage.Reserve, a storage.Answer) string {
	r := a.Record
	if r.Token == l.token { // the same acquisition; its lease may have run out
		if !l.leased || r.Fence != l.fence {
			return fmt.Sprintf("the token %v was good for one acquisition, with fence %d; now it has %d", r.Token, l.fence, r.Fence)
		}
		return l.renewed(a)
	}
	switch {
	case r.StateAt(a.Now) != storage.InProgress:
		return fmt.Sprintf("the lease was over when it was granted: it ended at %v", r.LeaseExpiresAt)
	case r.Token != c.Token:
		return fmt.Sprintf("the token %v is neither the latest nor that of the call", r.Token)
	case r.Fence <= l.fence || r.Fence >= 1<<53:
		return fmt.Sprintf("the fence after %d is %d", l.fence, r.Fence)
	case l.leased && a.Now.Before(l.end):
		return fmt.Sprintf("two live leases: that of %v lasts until %v", l.token, l.end)
	}
	*l = ledger{token: r.Token, fence: r.Fence, leased: true, end: r.LeaseExpiresAt, acts: l.acts}
	return ""
}

// renewed holds the new end of a lease against the one before.
func (l *ledger) renewed(a storage.Answer) string {
	if a.Record.LeaseExpiresAt.Before(l.end) {
		return fmt.Sprintf("the lease was to end at %v, and ends sooner, at %v", l.end, a.Record.LeaseExpiresAt)
	}
	l.end = a.Record.LeaseExpiresAt
	return ""
}

// settlementStands tells what changed in a record that was settled and has not expired.
func (l *ledger) settlementStands(a storage.Answer) string {
	if l.settled == nil || !a.Now.Before(l.settled.ExpiresAt) {
		l.settled = nil
		return ""
	}
	if diff := cmp.Diff(l.settled, a.Record); diff != "" {
		return "the record changed after its settlement:\n" + diff
	}
	return ""
}

// acted notes what an operator did: it may settle, give back or end only what the version says, and each of them once.
func (l *ledger) acted(call storage.Call, a storage.Answer) string {
	var version string
	switch c := call.(type) {
	case storage.Resolve:
		version = c.Version
	case storage.Expire:
		version = c.Version
	}
	switch {
	case l.last == nil || l.last.VersionText() != version:
		return fmt.Sprintf("an operator acted on version %s, and the record was %+v", version, l.last)
	case a.Outcome == storage.OutcomeResolved && !l.leased:
		return "an operator resolved what was over"
	case a.Outcome == storage.OutcomeExpired && l.leased:
		return "an operator ended what was in progress"
	}
	l.acts = append(l.acts, actOf(call, l.last, a))
	l.leased, l.ousted, l.settled = false, true, nil
	if a.Outcome == storage.OutcomeResolved && a.Record.State.Settled() {
		l.settled = a.Record
	}
	return ""
}

// actsOf are the acts on this name, if it is the tenant's.
func (l *ledger) actsOf(tenant string) []storage.Act {
	if len(l.acts) == 0 || l.acts[0].Tenant != tenant {
		return nil
	}
	return l.acts
}

// oustedStaysOut tells that a holder was taken for one after an operator had ended its acquisition.
func (l *ledger) oustedStaysOut(call storage.Call, a storage.Answer) string {
	var shown storage.Token
	switch c := call.(type) {
	case storage.Complete:
		shown = c.Token
	case storage.Release:
		shown = c.Token
	case storage.Heartbeat:
		shown = c.Token
	}
	accepted := a.Outcome == storage.OutcomeSettled || a.Outcome == storage.OutcomeReleased || a.Outcome == storage.OutcomeRenewed
	if l.ousted && accepted && shown == l.token {
		return fmt.Sprintf("%v to the token %v, whose acquisition an operator had ended", a.Outcome, l.token)
	}
	return ""
}

// goodUntil holds the reckoning of a lease by this process's clock against that by the store's: it must not last longer.
func goodUntil(a storage.Answer, came time.Time) string {
	if a.Outcome != storage.OutcomeAcquired && a.Outcome != storage.OutcomeRenewed {
		return ""
	}
	left := a.Record.LeaseExpiresAt.Sub(a.Now)
	if a.GoodUntil.IsZero() || a.GoodUntil.After(came.Add(left)) {
		return fmt.Sprintf("at %v the lease has %v left, and is said to be good until %v", came, left, a.GoodUntil)
	}
	return ""
}
