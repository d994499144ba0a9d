// Package clienttest is a Reprise service in memory, for the tests of programs that use the SDK: no socket, no process,
// no database, and a clock that a test moves.
//
//	fake := clienttest.New()
//	c := fake.Client(t)
//	… run the code under test with c …
//	fake.Advance(time.Minute) // the lease of a holder that vanished runs out
//
// It keeps the whole life of a key as the service does: one suite of scenarios (testdata/scenarios, which other languages
// can read, too) passes against it and against the real service on both of its stores; see [RunScenarios]. It knows no
// scopes, no lists and no counts, and forgets everything when it goes. It may be used within testing/synctest.
package clienttest
