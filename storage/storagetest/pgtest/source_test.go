package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// firstAdvice is the part of the advice that go test does not indent.
var firstAdvice, _, _ = strings.Cut(advice, "\n")

// Ensure that a machine without Postgres skips a test, and says how to get one.
func TestAbsenceSkips(t *testing.T) {
	for _, test := range []string{"TestEveryCallHasItsOwnSchema", "TestStopAndStart"} {
		out, code := runWithout(t, test)
		if code != 0 || !strings.Contains(out, "--- SKIP: "+test) || !strings.Contains(out, firstAdvice) {
			t.Errorf("%s: got exit code %d, want 0 and a skip with advice:\n%s", test, code, out)
		}
	}
}

// Ensure that such a skip cannot hide where Postgres is required.
func TestAbsenceFailsWhereRequired(t *testing.T) {
	for _, test := range []string{"TestEveryCallHasItsOwnSchema", "TestStopAndStart"} {
		out, code := runWithout(t, test, RequireVariable+"=1")
		if code != 1 || !strings.Contains(out, "--- FAIL: "+test) || !strings.Contains(out, firstAdvice) {
			t.Errorf("%s: got exit code %d, want 1 and a failure with advice:\n%s", test, code, out)
		}
	}
}

// Ensure that a source which is picked is not replaced by another, and its absence not hidden by a skip.
func TestChoiceFailsWhereAbsent(t *testing.T) {
	database := NewServer(t).URL("postgres")
	for choice, says := range map[string]string{
		chooseDocker:   "no engine answers",
		choosePrograms: "no folder with initdb",
		"podman":       `"podman"`, // nor is a slip of the pen taken for no choice
	} {
		const test = "TestEveryCallHasItsOwnSchema"
		out, code := runWithout(t, test, DatabaseURLVariable+"="+database, ChoiceVariable+"="+choice)
		if code != 1 || !strings.Contains(out, "--- FAIL: "+test) || !strings.Contains(out, says) {
			t.Errorf("%s: got exit code %d, want 1 and a failure that says %q:\n%s", choice, code, says, out)
		}
	}
	out, code := runWithout(t, "TestEveryCallHasItsOwnSchema", ChoiceVariable+"="+chooseURL)
	if code != 1 || !strings.Contains(out, DatabaseURLVariable) {
		t.Errorf("%s: got exit code %d, want 1 and the name of the variable:\n%s", chooseURL, code, out)
	}
}

// Ensure that a server of a test's own needs the programs where they are picked, and only there.
func TestChoiceAndServerOfItsOwn(t *testing.T) {
	for choice, want := range map[string]int{chooseURL: 0, chooseDocker: 0, choosePrograms: 1} {
		out, code := runWithout(t, "TestStopAndStart", ChoiceVariable+"="+choice)
		if code != want {
			t.Errorf("%s: got exit code %d, want %d:\n%s", choice, code, want, out)
		}
	}
}

// Ensure that a database from the environment is enough for URL.
func TestEnvironmentIsEnough(t *testing.T) {
	database := NewServer(t).URL("postgres")
	const test = "TestEveryCallHasItsOwnSchema"
	out, code := runWithout(t, test, RequireVariable+"=1", DatabaseURLVariable+"="+database)
	if code != 0 || !strings.Contains(out, "--- PASS: "+test) {
		t.Errorf("got exit code %d, want 0 and a pass:\n%s", code, out)
	}
}

// Ensure that a source which was chosen but does not work is a failure, not a skip.
func TestBrokenChoiceIsNotAbsence(t *testing.T) {
	for _, value := range []string{"host=localhost dbname=x", "http://localhost/", "postgres://%zz"} {
		t.Setenv(DatabaseURLVariable, value)
		if _, err := openEnvironment(); err == nil || errors.Is(err, errAbsent) {
			t.Errorf("%s=%s: got %v, want an error other than absence", DatabaseURLVariable, value, err)
		}
	}
	t.Setenv(ProgramsVariable, t.TempDir())
	if _, err := findPrograms(); err == nil || errors.Is(err, errAbsent) {
		t.Errorf("%s without programs: got %v, want an error other than absence", ProgramsVariable, err)
	}
}

// Ensure that schemas of killed test processes do not pile up in a lasting database, and that those of
// living ones, or of strangers, stay.
func TestStaleSchemasAreDropped(t *testing.T) {
	database := NewServer(t).URL("postgres")
	stale, young := schemaName(time.Now().Add(-staleAfter-time.Hour)), schemaName(time.Now())
	const stranger = "pgtest_of_somebody"
	conn := connect(t, database)
	for _, name := range []string{stale, young, stranger} {
		run(t, conn, "CREATE SCHEMA "+name)
		run(t, conn, "CREATE TABLE "+name+".t ()")
	}

	t.Setenv(DatabaseURLVariable, database)
	if _, err := openEnvironment(); err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]bool{stale: false, young: true, stranger: true} {
		if got := query[bool](t, conn, "SELECT to_regnamespace($1) IS NOT NULL", name); got != want {
			t.Errorf("schema %s exists: got %v, want %v", name, got, want)
		}
	}
}

// Ensure that the newest version wins, and that folders with half of the programs are passed over.
func TestNewestPrograms(t *testing.T) {
	old := fakePrograms(t, "postgres (PostgreSQL) 9.6.24")
	newer := fakePrograms(t, "postgres (PostgreSQL) 16.3 (Debian 16.3-1.pgdg120+1)")
	beta := fakePrograms(t, "postgres (PostgreSQL) 18beta1")
	half := fakePrograms(t, "postgres (PostgreSQL) 99.0")
	if err := os.Remove(filepath.Join(half, "initdb")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		folders []string
		want    string
	}{
		{[]string{old, newer, half}, newer},
		{[]string{newer, old}, newer},
		{[]string{beta, newer, "/nowhere", ""}, beta},
	} {
		got, err := newest(test.folders)
		if err != nil || got.folder != test.want {
			t.Errorf("newest(%q): got %q, %v, want %q", test.folders, got.folder, err, test.want)
		}
	}
	if _, err := newest([]string{half}); !errors.Is(err, errAbsent) {
		t.Errorf("half of the programs: got %v, want absence", err)
	}
}

func fakePrograms(t *testing.T, version string) string {
	t.Helper()
	folder := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho '%s'\n", version)
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
