// Package storage is where keys are kept: the contract that every backend fulfils. The comments of [Store] are the
// specification; the suite in storagetest holds every backend to each of them.
//
// What a call comes to is decided in package life, once for all backends; how a decision meets a row that others
// change at the same time is in package cas; a backend reads rows, and writes them if they are unchanged.
package storage

import (
	"context"
	"errors"
)

// Store keeps records. It is safe for concurrent use, by many processes at once where the backend is a server.
type Store interface {
	// Apply answers each call of a group by itself; answers[i] belongs to calls[i]. A single call is a group of one.
	//
	// Each call is atomic: it is decided by the record as it is at one instant of the store's clock, and either all of
	// its change is stored or nothing. The calls of a group are independent: one that fails must not fail another. A
	// name may occur several times; its calls then happen one after the other in the order given. Calls on different
	// names have no order.
	//
	// An outcome must only be returned when the change behind it is on disk (see the backend for what it asks of the
	// database). An error is one of
	//   - ErrUnavailable: nothing was changed by this call;
	//   - ErrOutcomeUnknown: the change was sent, and may or may not be stored, now or a little later;
	//   - any other: the backend cannot store this very call; nothing was changed by it.
	//
	// ctx bounds what happens before a change is sent. A change that was sent is not cancelled: it is waited for, under
	// the backend's own time limit, because a cancelled commit may still be stored.
	//
	// Only the store's clock decides. No row is changed but by the table of package life.
	Apply(ctx context.Context, calls []Call) []Answer

	// Ready tells whether calls can be served now: the database answers, takes writes, and has the schema that this
	// version needs. It is quick to fail, and its error says how to mend it.
	Ready(ctx context.Context) error

	// Close waits for the calls that are under way and frees what the store holds. Calls after it get ErrUnavailable.
	Close() error
}

var (
	// ErrUnavailable says that the store could not be asked, or refused: nothing was changed.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrOutcomeUnknown says that the answer to a change was lost: it may have been stored. The same call, repeated
	// with the same ids, tells.
	ErrOutcomeUnknown = errors.New("the store did not confirm the change")
)
