// Package storage is where keys are kept: the contract that every backend fulfils. The comments of [Store] are the
// specification; the suite in storagetest holds every backend to each of them.
//
// What a call comes to is decided in package life, once for all backends; how a decision meets a row that others
// change at the same time is in package cas; a backend reads rows, and writes them if they are unchanged.
package storage

import (
	"context"
	"errors"
	"time"
)

// Store keeps records. It is safe for concurrent use, by many processes at once where the backend is a server.
type Store interface {
	Applier
	Watcher
	Browser
	Sweeper

	// Ready tells whether calls can be served now: the database answers, takes writes, and has the schema that this
	// version needs. It is quick to fail, and its error says how to mend it.
	Ready(ctx context.Context) error

	// Close waits for the calls that are under way and frees what the store holds. Calls after it get ErrUnavailable.
	Close() error
}

// Applier answers calls on keys.
type Applier interface {
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
	// Only the store's clock decides. No row is changed but by the table of package life. What an operator does is in the
	// audit log if, and only if, it is done.
	Apply(ctx context.Context, calls []Call) []Answer
}

// Watcher tells what those who wait for a name have to know.
type Watcher interface {
	// Held tells for each name whether a live lease is on it, in one query whatever their number; held[i] belongs to
	// names[i]. The names are distinct. An error is ErrUnavailable.
	Held(ctx context.Context, names []Name) (held []bool, err error)
}

// Browser reads many records at once, for people. It examines a bounded number of rows however many there are, and never
// shows an expired record. An error is ErrUnavailable, or else a row cannot be read.
type Browser interface {
	// List gives a page of records that fit, newest first by (creation, name): at most q.Limit of them, and fewer when the
	// bound was met first. With Next the list goes on; without it this was the last page. Going on from page to page gives
	// each record that fits and is there all the while exactly once. A search for open records (see State.IsOpen) need not
	// go through the settled ones; it may miss a record that was acquired in the last two minutes and is not among the
	// tenant's newest thousand.
	List(ctx context.Context, q ListQuery) (Page, error)

	// Stats counts the records of a tenant, of one operation if it is not empty. A count is exact unless it says AtLeast;
	// it says so too when there may be open records that List would miss.
	Stats(ctx context.Context, tenant, operation string) (Stats, error)

	// Acts gives the acts of operators on a tenant's records that fit, newest first. For a filter that few fit it looks
	// through all acts on the tenant's records, which are as many as people made.
	Acts(ctx context.Context, q ActQuery) ([]Act, error)
}

// Sweeper deletes what has expired, and keeps count of what stays open. Any number of processes may do so at once. Each
// statement is bounded by the limit that the caller gives, so that none holds up a call for long. An error is
// ErrUnavailable, or else at least one of the rows is to blame: it cannot be deleted, or somebody holds it too long. After an
// error rows may have been deleted that are not in the count.
type Sweeper interface {
	// Expired gives up to limit rows after a row (nil: from the beginning) whose hour to be swept has come, in the order of
	// (hour, fence, name), whether they are due or not. now is the store's clock.
	Expired(ctx context.Context, after *Sweepable, limit int) (rows []Sweepable, now time.Time, err error)

	// Delete deletes those of the rows that are still as they were read, and still due by the store's clock, in one
	// transaction; a row that was acquired or renewed meanwhile stays. It tells how many it deleted.
	Delete(ctx context.Context, rows []Sweepable) (deleted int, err error)

	// TrackOpen brings the list of open keys up to date, in statements of up to limit rows: after it, List, Stats and
	// OpenKeys know every key that has been in progress for OpenAfter. When ctx ends it early, the next one goes on.
	TrackOpen(ctx context.Context, limit int) error

	// OpenKeys counts the open keys of all tenants, up to a bound.
	OpenKeys(ctx context.Context) (OpenKeys, error)
}

var (
	// ErrUnavailable says that the store could not be asked, or refused: nothing was changed.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrOutcomeUnknown says that the answer to a change was lost: it may have been stored. The same call, repeated
	// with the same ids, tells.
	ErrOutcomeUnknown = errors.New("the store did not confirm the change")
)
