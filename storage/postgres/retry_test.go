package postgres_test

import (
	"fmt"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
)

// The database may choose any transaction to give way to another one. Nobody is to hear of it, and above all nobody is
// to be told that something was stored when the refusal came with the commit.
func TestATransactionThatGivesWayIsRepeated(t *testing.T) {
	for _, code := range []string{"40001", "40P01"} {
		for _, moment := range []string{"statement", "commit"} {
			t.Run(code+" at the "+moment, func(t *testing.T) {
				address := migrated(t)
				s := open(t, address, postgres.Options{})
				refuseWrites(t, address, code, moment, 3)
				c := reserve("k")
				apply(t, s, storage.OutcomeAcquired, c)
				refuseWrites(t, address, code, moment, 3)
				apply(t, s, storage.OutcomeSettled, complete(c))
				apply(t, s, storage.OutcomeReplay, reserve("k"))
			})
		}
	}
}

// Any other refusal at the commit is an outage: nothing was stored, and nothing may be acknowledged.
func TestARefusedCommitIsNotAcknowledged(t *testing.T) {
	for _, code := range []string{"53100", "57014", "XX000"} { // disk full, cancelled, internal error
		address := migrated(t)
		s := open(t, address, postgres.Options{})
		refuseWrites(t, address, code, "commit", 1)
		c := reserve("k")
		fails(t, one(t, s, c), storage.ErrUnavailable)
		apply(t, s, storage.OutcomeNotFound, lookup(c))
		apply(t, s, storage.OutcomeAcquired, c)
	}
}

// refuseWrites makes the database refuse the next writes. They are counted by a sequence, which no rollback takes back.
func refuseWrites(t *testing.T, address, code, moment string, times int) {
	t.Helper()
	conn := connect(t, address)
	exec(t, conn, `DROP SEQUENCE IF EXISTS refusals; DROP FUNCTION IF EXISTS refuse CASCADE`)
	exec(t, conn, `CREATE SEQUENCE refusals`)
	exec(t, conn, fmt.Sprintf(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('refusals') <= %d THEN RAISE EXCEPTION 'refused' USING ERRCODE = '%s'; END IF;
		RETURN NEW; END $$`, times, code))
	kind := map[string]string{"statement": "TRIGGER refuse BEFORE", "commit": "CONSTRAINT TRIGGER refuse AFTER"}[moment]
	when := map[string]string{"commit": "DEFERRABLE INITIALLY DEFERRED"}[moment]
	exec(t, conn, "CREATE "+kind+" INSERT OR UPDATE ON reprise_keys "+when+" FOR EACH ROW EXECUTE FUNCTION refuse()")
}

// A real deadlock: the group holds the first row and waits for the second, the stranger the other way round. Whichever
// of them the server picks, the group's calls are all answered.
func TestARealDeadlockIsSurvived(t *testing.T) {
	address := migrated(t)
	s, stranger, observer := open(t, address, postgres.Options{}), connect(t, address), connect(t, address)
	first, second := reserve("1"), reserve("2")
	apply(t, s, storage.OutcomeAcquired, first)
	apply(t, s, storage.OutcomeAcquired, second)
	exec(t, stranger, "BEGIN")
	lockToo(t, stranger, second.Name)
	answered := begin(t, s, complete(first), complete(second))
	waiter(t, observer, stranger)
	_, err := stranger.Exec(t.Context(), `SELECT FROM reprise_keys WHERE key = '1' FOR UPDATE`)
	t.Logf("the stranger got: %v", err)
	exec(t, stranger, "ROLLBACK")
	for i, a := range <-answered {
		if a.Err != nil || a.Outcome != storage.OutcomeSettled {
			t.Errorf("call %d: got %v, %v", i, a.Outcome, a.Err)
		}
	}
}
