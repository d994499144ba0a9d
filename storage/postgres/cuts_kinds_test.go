package postgres_test

import (
	"time"

	"github.com/google/uuid"

	"github.com/reprise-idempotency/reprise/storage"
)

// kind is one kind of call, and what must be true of it, whatever happened to the connection meanwhile.
type kind struct {
	name string
	// given makes the record that the call is about, past the proxy, and the call.
	given    func(l *cutLab, n storage.Name) storage.Call
	want     storage.Outcome
	repeated storage.Outcome // the answer to the repeated call when the first was stored; zero: as want
	reads    bool            // the call changes nothing
	acquires bool
	state    storage.State // after the call, with attempt and version
	attempt  int
	version  int32
	rival    storage.Outcome // what a reserve with another attempt id gets afterwards
}

// groups are the calls that are sent together: each kind alone, and several at once.
func groups() (groups [][]kind) {
	all := kinds()
	for _, k := range all {
		groups = append(groups, []kind{k})
	}
	return append(groups, all[:len(all)-1]) // not the operator's: a group of callers has none
}

func kinds() []kind {
	return []kind{
		{name: "reserve", given: ofNothing, want: storage.OutcomeAcquired, acquires: true,
			state: storage.InProgress, attempt: 1, version: 1, rival: storage.OutcomeInProgress},
		{name: "replay", given: ofCompleted, want: storage.OutcomeReplay, reads: true,
			state: storage.Completed, attempt: 1, version: 2, rival: storage.OutcomeReplay},
		{name: "repeated attempt", given: ofReserved(sameAttempt), want: storage.OutcomeAcquired, reads: true,
			state: storage.InProgress, attempt: 1, version: 1, rival: storage.OutcomeInProgress},
		{name: "takeover", given: ofAbandoned(anotherAttempt), want: storage.OutcomeAcquired, acquires: true,
			state: storage.InProgress, attempt: 2, version: 2, rival: storage.OutcomeInProgress},
		{name: "complete", given: ofReserved(settle), want: storage.OutcomeSettled,
			state: storage.Completed, attempt: 1, version: 2, rival: storage.OutcomeReplay},
		{name: "release", given: ofReserved(giveBack), want: storage.OutcomeReleased,
			state: storage.Released, attempt: 1, version: 2, rival: storage.OutcomeAcquired},
		{name: "heartbeat", given: ofReserved(beat), want: storage.OutcomeRenewed,
			state: storage.InProgress, attempt: 1, version: 2, rival: storage.OutcomeInProgress},
		{name: "lookup", given: ofReserved(find), want: storage.OutcomeFound, reads: true,
			state: storage.InProgress, attempt: 1, version: 1, rival: storage.OutcomeInProgress},
		{name: "resolve", given: ofAbandoned(resolve), want: storage.OutcomeResolved, repeated: storage.OutcomeVersionConflict,
			state: storage.Completed, attempt: 1, version: 2, rival: storage.OutcomeReplay},
	}
}

func ofNothing(_ *cutLab, n storage.Name) storage.Call { return attempt(n) }

func ofCompleted(l *cutLab, n storage.Name) storage.Call {
	r := attempt(n)
	l.direct(r, settle(r, nil))
	return attempt(n)
}

func ofReserved(then func(storage.Reserve, *storage.Record) storage.Call) func(*cutLab, storage.Name) storage.Call {
	return func(l *cutLab, n storage.Name) storage.Call {
		r := attempt(n)
		return then(r, l.direct(r)[0].Record)
	}
}

func ofAbandoned(then func(storage.Reserve, *storage.Record) storage.Call) func(*cutLab, storage.Name) storage.Call {
	return func(l *cutLab, n storage.Name) storage.Call {
		r := attempt(n)
		r.Lease = time.Millisecond
		record := l.direct(r)[0].Record
		eventually(l.t, "the lease never ran out", func() bool {
			a := l.direct(storage.Lookup{Name: n})[0]
			return a.Record.StateAt(a.Now) == storage.Abandoned
		})
		return then(r, record)
	}
}

// attempt is a reserve with an attempt id of its own.
func attempt(n storage.Name) storage.Reserve {
	r := reserve(n.Key)
	r.Name = n
	return r
}

// sameAttempt is the same reserve again, with the fresh token that every reserve comes with.
func sameAttempt(r storage.Reserve, _ *storage.Record) storage.Call {
	r.Token = storage.NewToken()
	return r
}

func anotherAttempt(r storage.Reserve, _ *storage.Record) storage.Call { return attempt(r.Name) }

func settle(r storage.Reserve, _ *storage.Record) storage.Call {
	c := complete(r)
	c.Response = firstResponse(r.Name)
	return c
}

// firstResponse is the one response that a name may ever give back.
func firstResponse(n storage.Name) *storage.Response {
	return &storage.Response{Status: 201, Headers: [][2]string{{"Location", "/" + n.Key}}, Body: []byte("made for " + n.Key)}
}

func giveBack(r storage.Reserve, _ *storage.Record) storage.Call {
	return storage.Release{Name: r.Name, Token: r.Token, Reason: "not now"}
}

func beat(r storage.Reserve, _ *storage.Record) storage.Call {
	return storage.Heartbeat{Name: r.Name, Token: r.Token, Hold: true, Checkpoint: &storage.Checkpoint{Seq: 1, Data: "so far"}}
}

func find(r storage.Reserve, _ *storage.Record) storage.Call { return storage.Lookup{Name: r.Name} }

func resolve(r storage.Reserve, stored *storage.Record) storage.Call {
	return storage.Resolve{Name: r.Name, To: storage.Completed, Version: stored.VersionText(), Response: firstResponse(r.Name),
		Token: storage.NewToken(), By: storage.Operator{ActID: uuid.NewString(), Actor: "operator", Reason: "seen to be done"}}
}

// again is the call as somebody sends it who had no answer.
func again(c storage.Call) storage.Call {
	if r, ok := c.(storage.Reserve); ok {
		return sameAttempt(r, nil)
	}
	return c
}
