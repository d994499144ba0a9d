package faultstore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/reprise-idempotency/reprise/storage"
)

// Kind is a kind of call on a store.
type Kind int

// The kinds of calls: the first seven go through Apply, the others are methods of their own.
const (
	Any Kind = iota
	Reserve
	Complete
	Release
	Heartbeat
	Lookup
	Resolve
	Expire
	Held
	List
	Stats
	Acts
	Expired
	Delete
	TrackOpen
	OpenKeys
	Ready
)

func kindOf(c storage.Call) Kind {
	switch c.(type) {
	case storage.Reserve:
		return Reserve
	case storage.Complete:
		return Complete
	case storage.Release:
		return Release
	case storage.Heartbeat:
		return Heartbeat
	case storage.Lookup:
		return Lookup
	case storage.Resolve:
		return Resolve
	case storage.Expire:
		return Expire
	}
	panic(fmt.Sprintf("faultstore: no kind for a %T", c))
}

// Effect is what a fault does.
type Effect int

const (
	// Refuse answers ErrUnavailable, and nothing is done.
	Refuse Effect = iota
	// Hold keeps the call from the store until Armed.Release. A caller who gives up meanwhile gets ErrUnavailable, and
	// nothing is done.
	Hold
	// HoldAnswer lets the call be done, and keeps the answer until Armed.Release, however long the caller's patience is.
	HoldAnswer
	// LoseAnswer lets the call be done, and answers a call on a key by ErrOutcomeUnknown, any other by ErrUnavailable. An
	// error of the store's own is not replaced.
	LoseAnswer
)

// Fault is what happens to a call. The zero value refuses the next call of any kind.
type Fault struct {
	Kind Kind         // Any: all of them count
	Name storage.Name // zero: calls on all names count; else those that name it, Held and Delete among others too
	// Nth says which of the calls that count, from Arm on, meets the fault: 1, or 0, the next.
	Nth int
	// Always lets every later one meet it too, until Disarm.
	Always bool
	Effect Effect
}

// Armed is a fault that waits for its call, or has met it.
type Armed struct {
	fault    Fault
	store    *Store
	counted  int // calls that counted
	once     sync.Once
	fired    chan struct{}
	release  sync.Once
	released chan struct{}
}

// Arm counts calls from now on, and makes the fault happen at its call. Several faults may be armed; each counts for
// itself. Where several meet one call, it is held before it is refused.
func (s *Store) Arm(f Fault) *Armed {
	a := &Armed{fault: f, store: s, fired: make(chan struct{}), released: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = append(s.armed, a)
	return a
}

// Fired is closed when the fault has happened for the first time: a call was refused, is held, was done and its answer is
// held, or was lost.
func (a *Armed) Fired() <-chan struct{} { return a.fired }

// Release lets go what is held, or would be.
func (a *Armed) Release() { a.release.Do(func() { close(a.released) }) }

// Disarm takes the fault back. What is held stays so until it is released.
func (a *Armed) Disarm() {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	a.store.armed = slices.DeleteFunc(a.store.armed, func(other *Armed) bool { return other == a })
}

// meet counts a call, and gives the faults that it meets.
func (s *Store) meet(k Kind, names ...storage.Name) (met []*Armed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = slices.DeleteFunc(s.armed, func(a *Armed) bool {
		f := a.fault
		if f.Kind != Any && f.Kind != k || f.Name != (storage.Name{}) && !slices.Contains(names, f.Name) {
			return false
		}
		if a.counted++; a.counted < f.Nth {
			return false
		}
		met = append(met, a)
		return !f.Always
	})
	return met
}

var (
	errRefused = fmt.Errorf("%w: a fault refuses it", storage.ErrUnavailable)
	errLost    = fmt.Errorf("%w: a fault lost the answer", storage.ErrOutcomeUnknown)
	errClosed  = fmt.Errorf("%w: it is closed", storage.ErrUnavailable)
	errNoReply = fmt.Errorf("%w: a fault lost the answer", storage.ErrUnavailable)
)

// ask is what becomes of a call that is no call on a key. forget drops what the store within gave, when it is not to be
// told.
func (s *Store) ask(ctx context.Context, k Kind, names []storage.Name, do func() error, forget func()) error {
	met := s.meet(k, names...)
	if err := s.hold(ctx, met); err != nil {
		return err
	}
	defer s.holdAnswer(met)
	defer fired(met, Refuse, LoseAnswer)
	if has(met, Refuse) {
		return errRefused
	}
	err := do()
	if err == nil && has(met, LoseAnswer) {
		err = errNoReply
	}
	if err != nil {
		forget()
	}
	return err
}

// hold waits until whatever holds a call lets it go, or nobody waits for it any more.
func (s *Store) hold(ctx context.Context, met []*Armed) error {
	fired(met, Hold)
	for _, a := range met {
		if a.fault.Effect != Hold {
			continue
		}
		select {
		case <-a.released:
		case <-s.closing:
			return errClosed
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", storage.ErrUnavailable, ctx.Err())
		}
	}
	return nil
}

// holdAnswer waits until whatever holds an answer lets it go.
func (s *Store) holdAnswer(met []*Armed) {
	fired(met, HoldAnswer)
	for _, a := range met {
		if a.fault.Effect != HoldAnswer {
			continue
		}
		select {
		case <-a.released:
		case <-s.closing:
		}
	}
}

// fired signals the faults with these effects.
func fired(met []*Armed, effects ...Effect) {
	for _, a := range met {
		if slices.Contains(effects, a.fault.Effect) {
			a.once.Do(func() { close(a.fired) })
		}
	}
}

func has(met []*Armed, e Effect) bool {
	return slices.ContainsFunc(met, func(a *Armed) bool { return a.fault.Effect == e })
}
