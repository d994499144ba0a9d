// Package pgtest gives a test a real Postgres.
//
//	func TestSomething(t *testing.T) {
//		pool, err := pgxpool.New(t.Context(), pgtest.URL(t))
//		...
//	}
//
// [URL] answers with an empty schema of a server that all tests of the process share; tests may run
// in parallel. [NewServer] starts a server for one test alone, which may stop, freeze and restart it.
// Neither needs a TestMain.
//
// # Where the server comes from
//
// The first of these that exists:
//
//  1. REPRISE_TEST_DATABASE_URL, the postgres:// URL of a database in which we may create schemas.
//     It must reach Postgres itself: a pooler such as PgBouncer may refuse or lose the search_path.
//  2. A Docker engine, the one that DOCKER_HOST names or that listens at the usual place. A container
//     of the image postgres:15 serves the process, by way of dockertest, which pulls the image if the
//     engine does not have it. An engine that can neither find nor pull it counts as none.
//  3. The programs initdb and postgres of this machine, the newest version of all that are found
//     (pg_config --bindir, PATH, the usual folders). REPRISE_TEST_POSTGRES_BIN names the folder to
//     take instead.
//
// REPRISE_TEST_POSTGRES picks one of them, by the names url, docker and programs: without it the test
// fails, and no other is asked. NewServer has only the programs, whatever is picked: it stops, freezes
// and kills processes.
//
// With none, the test is skipped and says so. REPRISE_REQUIRE_POSTGRES=1 turns the skip into a failure;
// CI sets it, so that no suite can fall silent there. REPRISE_REQUIRE_DOCKER=1 does the same for the
// tests of this package that need an engine. A source that exists but does not work is always a failure.
//
// # What is left behind
//
// An empty folder in the temporary folder. A server ends with the test process, however that ends: a
// small supervisor (supervise.sh, and container.sh in a container) holds a pipe to us, stops the server
// when the pipe closes and removes its data. Should the supervisor be killed too, the next test process
// finds the folder without an owner and removes both. The next one to use the engine removes containers
// that were made and never started, or that are a day old, when the engine stops them by itself.
// In a database that others gave us, schemas of killed test processes are dropped by a later one when
// they are a day old. A pulled image stays.
//
// # What it does not do
//
// It applies no migrations, and it does not run on Windows. Root runs the programs as the user postgres,
// who must be able to enter TMPDIR. It asks no context of the Docker client for its engine. The servers
// write without fsync, so they say nothing about the speed of real commits unless the test asks for
// Setting("fsync", "on").
package pgtest

import (
	"sync"
	"testing"
)

// The environment variables that steer the package; its comment says how.
const (
	DatabaseURLVariable = "REPRISE_TEST_DATABASE_URL"
	ChoiceVariable      = "REPRISE_TEST_POSTGRES"
	ProgramsVariable    = "REPRISE_TEST_POSTGRES_BIN"
	RequireVariable     = "REPRISE_REQUIRE_POSTGRES"
)

// shared finds the common database when the first test asks for it, and only then, so that a run of
// other tests pays nothing.
var shared = sync.OnceValues(openShared)

// URL returns a connection URL whose search_path is a schema of this test alone, empty now and dropped
// when the test ends. Unqualified names therefore never meet those of another test.
//
// Close connections before the test ends (a tb.Cleanup registered after this call runs in time): one
// with an open transaction would block the drop, and the test fails.
func URL(tb testing.TB) string {
	tb.Helper()
	database, err := shared()
	if err != nil {
		giveUp(tb, err)
	}
	return freshSchema(tb, database)
}
