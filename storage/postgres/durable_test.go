package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// with adds a parameter to a URL.
func with(t *testing.T, base, name, value string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // pgx takes a plus sign for itself
	return u.String()
}

// With synchronous_commit off the database acknowledges what it has not written. Wherever the setting comes from, the
// store does not serve, and says what to do; done as it says, the store serves.
func TestADatabaseThatAcknowledgesTooEarlyIsRefused(t *testing.T) {
	server := pgtest.NewServer(t)
	base := server.URL("postgres")
	migrate(t, base)
	admin := connect(t, base)
	for name, sql := range map[string]string{
		"of the role":                 `ALTER ROLE CURRENT_USER SET synchronous_commit = off`,
		"of the database":             `ALTER DATABASE postgres SET synchronous_commit = off`,
		"of the role in the database": `ALTER ROLE CURRENT_USER IN DATABASE postgres SET synchronous_commit = off`,
	} {
		t.Run(name, func(t *testing.T) {
			exec(t, admin, sql)
			message := refusal(t, base)
			_, mend, ok := strings.Cut(message, "mend it with: ")
			if !ok {
				t.Fatalf("no word of how to mend it: %s", message)
			}
			exec(t, connect(t, base), strings.TrimRight(mend, ")"))
			serves(t, base)
			exec(t, admin, `ALTER ROLE CURRENT_USER RESET synchronous_commit`)
			exec(t, admin, `ALTER DATABASE postgres RESET synchronous_commit`)
			exec(t, admin, `ALTER ROLE CURRENT_USER IN DATABASE postgres RESET synchronous_commit`)
		})
	}
	for name, address := range map[string]string{
		"in the URL":            with(t, base, "synchronous_commit", "off"),
		"in the URL's options":  with(t, base, "options", "-c synchronous_commit=off"),
		"in the URL, otherwise": with(t, base, "synchronous_commit", "false"),
	} {
		t.Run(name, func(t *testing.T) {
			if message := refusal(t, address); !strings.Contains(message, "URL") {
				t.Errorf("no word of the URL: %s", message)
			}
		})
	}
	serves(t, base)
	serves(t, with(t, base, "synchronous_commit", "local"))
}

// refusal gives the message with which a store refuses to serve.
func refusal(t *testing.T, address string) string {
	t.Helper()
	s := open(t, address, postgres.Options{})
	fails(t, one(t, s, reserve("k")), storage.ErrUnavailable)
	err := s.Ready(t.Context())
	if !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "synchronous_commit") {
		t.Fatalf("got %v; want a refusal that names the setting", err)
	}
	return err.Error()
}

func serves(t *testing.T, address string) {
	t.Helper()
	s := open(t, address, postgres.Options{})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatalf("not ready: %v", err)
	}
	apply(t, s, storage.OutcomeAcquired, reserve(storage.NewToken().String()))
}

// Ensure that serve can say what the database promises of an acknowledged call.
func TestDurabilityIsReported(t *testing.T) {
	d, err := open(t, with(t, migrated(t), "synchronous_commit", "local"), postgres.Options{}).Durability(t.Context())
	if err != nil || d.SynchronousCommit != "local" || d.Fsync == "" || d.FullPageWrites == "" {
		t.Errorf("got %+v, %v", d, err)
	}
}
