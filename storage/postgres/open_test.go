package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
)

// Ensure that a sweeper who is late, between any two of its steps, does not take a key off the list of open keys that was
// acquired anew and noted by another one meanwhile.
func TestALateSweeperForgetsNoOpenKey(t *testing.T) {
	conn := connect(t, migrated(t))
	name := storage.Name{Tenant: "tenant", Operation: "operation", Subject: "subject", Key: "key"}
	created := time.UnixMicro(1_800_000_000_000_000).UTC()
	const earlier, later = 1000, 2000
	noteEarlier, forgetEarlier := postgres.ListStatements(name, created, earlier)
	noteLater, forgetLater := postgres.ListStatements(name, created, later)
	steps := func(statements ...postgres.Statement) (fence int64) {
		t.Helper()
		exec(t, conn, `DELETE FROM reprise_open`)
		for _, s := range statements {
			exec(t, conn, s.SQL, s.Args...)
		}
		if err := conn.QueryRow(t.Context(), `SELECT fence FROM reprise_open`).Scan(&fence); err != nil && err != pgx.ErrNoRows {
			t.Fatal(err)
		}
		return fence
	}
	for what, got := range map[string][2]int64{
		"noted":                              {steps(noteEarlier), earlier},
		"noted and forgotten":                {steps(noteEarlier, forgetEarlier), 0},
		"noted anew before it was forgotten": {steps(noteEarlier, noteLater, forgetEarlier), later},
		"noted late, over a later note":      {steps(noteLater, noteEarlier, forgetEarlier), later},
		"forgotten for good":                 {steps(noteEarlier, noteLater, noteEarlier, forgetLater), 0},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: got the fence %d on the list, want %d", what, got[0], got[1])
		}
	}
}

// Ensure that a count of open keys stops at its bound, and says so.
func TestOpenKeysAreCountedAtLeast(t *testing.T) {
	const many = 12_000
	address := migrated(t)
	fill(t, connect(t, address), many) // all in progress
	s := open(t, address, patient)
	if err := s.TrackOpen(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	open, err := s.OpenKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c := open.Counts[storage.InProgress]; !c.AtLeast || c.N > many || c.N < many/2 || len(open.Counts) != 1 {
		t.Errorf("of %d keys in progress, %d are counted, at least: %v; %v", many, c.N, c.AtLeast, open.Counts)
	}
}
