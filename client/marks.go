package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// mark is a word of the work about its own failure, which an error carries up to where the key is settled or given back.
type mark struct {
	error
	notDone, forget, unsure bool
	final                   *Failure
	unlessHeld              *Lease // notDone holds only if this was never put on hold
}

func (m *mark) Unwrap() error { return m.error }

// word is what the marks of an error say together. A mark overrules what it is put around; of errors that are joined the
// more careful one counts: a failure for good, then doubt, then that nothing was done.
func word(err error) (w mark) {
	switch e := err.(type) {
	case nil:
		return mark{}
	case *mark:
		if e.unlessHeld != nil && e.unlessHeld.isHeld() {
			return mark{unsure: true}
		}
		return *e
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			w = w.with(word(one))
		}
		return w
	case interface{ Unwrap() error }:
		w = word(e.Unwrap())
	}
	said := w.final != nil || w.unsure || w.notDone
	if !said && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		w.unsure = true
	}
	return w
}

// with is what two words say together.
func (m mark) with(other mark) mark {
	switch {
	case m.final != nil:
		return m
	case other.final != nil:
		return other
	case m.unsure || other.unsure:
		return mark{unsure: true}
	}
	return mark{notDone: m.notDone || other.notDone, forget: m.forget || other.forget}
}

// spent is an error whose marks have had their effect: around another piece of work they would speak for that.
type spent struct{ err error }

func unmarked(err error) error {
	var m *mark
	if !errors.As(err, &m) {
		return err
	}
	return &spent{err}
}

// Error is that of the error.
func (s *spent) Error() string { return s.err.Error() }

// Is finds what the error is.
func (s *spent) Is(target error) bool { return errors.Is(s.err, target) }

// As finds everything but marks.
func (s *spent) As(target any) bool {
	if _, ok := target.(**mark); ok {
		return false
	}
	return errors.As(s.err, target)
}

// NotDone says that the work surely had no effect, whatever else the error is: the key is given back at once, also under
// [HoldOnLapse] and after [Lease.PointOfNoReturn]. nil stays nil.
func NotDone(err error) error { return marked(err, mark{notDone: true}) }

// Forget is [NotDone] for a request that was wrong: fingerprint and checkpoint are blanked too, so that a corrected
// request may use the same key. nil stays nil.
func Forget(err error) error { return marked(err, mark{notDone: true, forget: true}) }

// Unsure says that nobody knows whether the work had its effect, such as after a timeout of a provider: the key is not
// given back, and its lease runs out. Under [HoldOnLapse] an operator then has to look; under [RetryOnLapse] the next attempt
// takes over. An error that is context.Canceled or context.DeadlineExceeded is unsure by itself. nil stays nil.
func Unsure(err error) error { return marked(err, mark{unsure: true}) }

// Final says that the work failed for good, such as a card that was declined: the failure is recorded, and every retry
// gets it. An err that is a [*Failure] is recorded with its code and data, any other with its text, which must therefore be
// fit for whoever retries. The caller gets a *Failure, as later ones will. nil stays nil.
func Final(err error) error {
	if err == nil {
		return nil
	}
	f := &Failure{Message: err.Error()}
	var own *Failure
	if errors.As(err, &own) {
		f = &Failure{Code: own.Code, Message: own.Message, Data: own.Data}
	}
	return marked(err, mark{final: f})
}

func marked(err error, m mark) error {
	if err == nil {
		return nil
	}
	m.error = err
	return &m
}

// Failure is a recorded failure: what [Final] was given, or what is stored of it.
type Failure struct {
	Code     string          `json:"code,omitempty"` // for programs, such as "card_declined"
	Message  string          `json:"message"`        // for people
	Data     json.RawMessage `json:"data,omitempty"` // whatever else programs need
	Replayed bool            `json:"-"`              // it was recorded by an earlier attempt
}

// Error gives code and message.
func (f *Failure) Error() string {
	switch {
	case f.Code == "":
		return f.Message
	case f.Message == "":
		return f.Code
	}
	return fmt.Sprintf("%s: %s", f.Code, f.Message)
}
