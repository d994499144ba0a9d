package lab

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
)

// AsTest does something that needs a test, such as using the servers of package pgtest: their supervisor ends Postgres
// even when we are killed. What would end or skip the test is returned as an error, from the goroutine of do alone; what
// is registered for cleaning up is done before AsTest returns, the last first. Of tb nothing else may be used but Helper
// and Errorf, which writes to the standard error.
//
// Calls in another goroutine have to be in an AsTest of their own; whose tb the server was made with does not matter.
func AsTest(do func(tb testing.TB) error) (err error) {
	s := &standIn{}
	defer s.cleanUp()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case gaveUp:
			err = r.error
		default:
			panic(r)
		}
	}()
	return do(s)
}

// standIn stands in for a test.
type standIn struct {
	testing.TB // nil: only what is below is ever called
	cleanups   []func()
}

// gaveUp is the panic of what a test would end with.
type gaveUp struct{ error }

func (s *standIn) Helper()                   {}
func (s *standIn) Cleanup(f func())          { s.cleanups = append(s.cleanups, f) }
func (s *standIn) Errorf(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
func (s *standIn) Fatal(a ...any)            { panic(gaveUp{errors.New(fmt.Sprint(a...))}) }
func (s *standIn) Fatalf(f string, a ...any) { panic(gaveUp{fmt.Errorf(f, a...)}) }
func (s *standIn) Skipf(f string, a ...any)  { panic(gaveUp{fmt.Errorf(f, a...)}) }

func (s *standIn) cleanUp() {
	for _, f := range slices.Backward(s.cleanups) {
		f()
	}
}
