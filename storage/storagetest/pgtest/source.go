package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
)

// A source is one way to come by the server that all tests of the process share.
type source struct {
	choice string // what ChoiceVariable calls it
	name   string

	// open returns the URL of a database in which schemas can be created. An error that wraps
	// errAbsent means that this machine does not offer the source, and the next one is asked; any
	// other means that it does and is broken, which must not be papered over by the next one.
	open func() (string, error)
}

// The values of ChoiceVariable.
const (
	chooseURL      = "url"
	chooseDocker   = "docker"
	choosePrograms = "programs"
)

// sources in the order of preference: what the user named, then what lies around.
var sources = []source{
	{choice: chooseURL, name: DatabaseURLVariable, open: openEnvironment},
	{choice: chooseDocker, name: "Docker engine", open: openDocker},
	{choice: choosePrograms, name: "programs of this machine", open: openPrograms},
}

// errAbsent is wrapped by the error of a source that is not there, as opposed to broken.
var errAbsent = errors.New("not available")

func openShared() (string, error) {
	candidates, err := candidateSources()
	if err != nil {
		return "", err
	}
	var absences []error
	for _, s := range candidates {
		database, err := s.open()
		if err == nil {
			return database, nil
		}
		err = insist(s.choice, fmt.Errorf("%s: %w", s.name, err))
		if !errors.Is(err, errAbsent) {
			return "", err
		}
		absences = append(absences, err)
	}
	return "", errors.Join(absences...)
}

// candidateSources are all of them, or the one that the user chose.
func candidateSources() ([]source, error) {
	choice := os.Getenv(ChoiceVariable)
	if choice == "" {
		return sources, nil
	}
	for i, s := range sources {
		if s.choice == choice {
			return sources[i : i+1], nil
		}
	}
	return nil, fmt.Errorf("%s: got %q, want %s, %s or %s",
		ChoiceVariable, choice, chooseURL, chooseDocker, choosePrograms)
}

func isChosen(choice string) bool { return os.Getenv(ChoiceVariable) == choice }

// insist makes the absence of a source that the user chose a failure.
func insist(choice string, err error) error {
	if !isChosen(choice) {
		return err
	}
	return fmt.Errorf("%s=%s: %v", ChoiceVariable, choice, err) // not wrapped: no errAbsent any more
}

// openEnvironment takes the database that the user named, and tidies up after earlier test processes
// that did not live to do it.
func openEnvironment() (string, error) {
	database := os.Getenv(DatabaseURLVariable)
	if database == "" {
		return "", fmt.Errorf("%w: the variable is not set", errAbsent)
	}
	parsed, err := url.Parse(database)
	if err != nil || (parsed.Scheme != "postgres" && parsed.Scheme != "postgresql") {
		// The value may hold a password, and url.Parse's error would repeat it.
		return "", errors.New("the value is not a postgres:// URL")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := dropStaleSchemas(ctx, database); err != nil {
		return "", fmt.Errorf("dropping schemas of earlier runs: %w", err)
	}
	return database, nil
}

// openPrograms starts a cluster that nobody stops: its supervisor does, when this process ends.
func openPrograms() (string, error) {
	c, err := newCluster(nil)
	if err != nil {
		return "", err
	}
	return c.url("postgres"), nil
}

const advice = `no Postgres for this test; get one in one of these ways:
  - install the server programs (Debian: apt-get install postgresql; macOS: brew install postgresql)
  - set ` + ProgramsVariable + ` to the folder that holds initdb and postgres
  - start a Docker engine that has or can pull ` + imageRepository + ":" + imageTag + `, at its usual place or at DOCKER_HOST (not
    enough for tests that stop and start a server)
  - set ` + DatabaseURLVariable + ` to the postgres:// URL of a database for tests (not enough for
    tests that stop and start a server)`

// announce tells it once on standard error too, because go test shows the reason of a skip only with -v.
var announce = sync.OnceFunc(func() {
	fmt.Fprintf(os.Stderr, "pgtest: SKIPPING TESTS: %s\n", advice)
})

// giveUp ends a test that cannot have its server: by a skip if there is none on this machine and none
// is required, else by a failure.
func giveUp(tb testing.TB, err error) {
	tb.Helper()
	if !errors.Is(err, errAbsent) {
		tb.Fatalf("pgtest: %v", err)
	}
	if required() {
		tb.Fatalf("pgtest: %s is set, but there is %s\n%v", RequireVariable, advice, err)
	}
	announce()
	tb.Skipf("pgtest: %s\n%v", advice, err)
}

func required() bool { return isSet(RequireVariable) }

// isSet errs on the loud side: a mistyped "yes" counts.
func isSet(variable string) bool {
	value := os.Getenv(variable)
	return value != "" && value != "0"
}
