package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// Ensure that a database whose encoding cannot hold every key, and a role that may not write, are not ready, and that the
// error says how to mend it.
func TestReadyAsksForEncodingAndRights(t *testing.T) {
	server := pgtest.NewServer(t)
	address := server.URL("postgres")
	migrate(t, address)
	owner := connect(t, address)
	exec(t, owner, `CREATE DATABASE other ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0`)
	migrate(t, server.URL("other"))
	exec(t, owner, `CREATE ROLE "a stranger"`)
	exec(t, owner, `CREATE ROLE reader`)
	exec(t, owner, `GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`)
	for name, c := range map[string]struct{ address, want string }{
		"encoding": {server.URL("other"), "ENCODING 'UTF8'"},
		"rights":   {with(t, address, "role", "reader"), "GRANT SELECT, INSERT, UPDATE"},
		"no right": {with(t, address, "role", "a stranger"), `TO "a stranger"`},
	} {
		err := open(t, c.address, patient).Ready(t.Context())
		if !errors.Is(err, postgres.ErrSchema) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error that says %s", name, err, c.want)
		}
		if _, grant, ok := strings.Cut(fmt.Sprint(err), "mend it with: GRANT"); ok { // and it does
			exec(t, owner, "GRANT"+grant)
			if err := open(t, c.address, patient).Ready(t.Context()); err != nil {
				t.Errorf("%s: after what was said: %v", name, err)
			}
		}
	}
}
