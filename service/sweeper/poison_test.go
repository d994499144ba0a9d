package sweeper_test

import (
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// Ensure that a row which the database refuses to delete fails alone: all others go, it is counted and told once, without
// its key, and the next passes work and take it when it can be taken.
func TestARowThatCannotBeDeletedFailsAlone(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		f.completeAll("settled", 600)
		poisoned := reserve(storage.Name{Tenant: "acme", Operation: "settled", Key: "secret-poison"})
		f.apply(poisoned, complete(poisoned, storage.Completed))
		f.completeAll("others", 500)
		f.age("settled", 5)
		f.age("others", 5)
		for _, statement := range f.dialect.refuse {
			f.exec(statement)
		}

		if got, want := countedIn(f.sweep()), (counted{Due: 1101, Deleted: 1100, Failed: 1}); got != want {
			t.Errorf("the first pass: got %+v, want %+v", got, want)
		}
		if settled, others := f.rows("settled"), f.rows("others"); settled != 1 || others != 0 {
			t.Errorf("got %d and %d rows, want the refused one alone", settled, others)
		}
		checkPoisonLog(t, f.log.String())

		f.completeAll("later", 5)
		f.age("later", 5)
		if got, want := countedIn(f.sweep()), (counted{Due: 6, Deleted: 5, Failed: 1}); got != want {
			t.Errorf("the next pass: got %+v, want %+v", got, want)
		}
		f.exec(f.dialect.accept)
		if got, want := countedIn(f.sweep()), (counted{Due: 1, Deleted: 1}); got != want {
			t.Errorf("once it can be deleted: got %+v, want %+v", got, want)
		}
	})
}

func checkPoisonLog(t *testing.T, log string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(log), "\n")
	if len(lines) != 1 {
		t.Fatalf("got %d lines, want one: %s", len(lines), log)
	}
	for _, want := range []string{`"level":"ERROR"`, "cannot be deleted now", "not this one", `"tenant":"acme"`, `"operation":"settled"`, `"fence":`} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("the line lacks %s: %s", want, lines[0])
		}
	}
	if strings.Contains(lines[0], "secret-") {
		t.Errorf("the line has the key: %s", lines[0])
	}
}
