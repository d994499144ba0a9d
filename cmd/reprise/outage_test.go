package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// outage is a way in which Postgres goes away and comes back.
type outage struct {
	name          string
	leave, comeUp func(*pgtest.Server)
}

var outages = []outage{
	{"shut down", (*pgtest.Server).Stop, (*pgtest.Server).Start},
	{"crashed", (*pgtest.Server).StopImmediate, (*pgtest.Server).Start},
	{"frozen", (*pgtest.Server).Pause, (*pgtest.Server).Resume},
}

// Ensure that an outage of Postgres is answered as one, with nothing granted, and that the same process serves again
// when Postgres is back. (docs/crash.md has how long each takes.)
func TestOutageOfPostgres(t *testing.T) {
	server := pgtest.NewServer(t)
	env := []string{secretVar, "REPRISE_DATABASE_URL=" + server.URL("postgres")}
	if o := runProgram(t, env, "migrate", "up"); o.code != exitOK {
		t.Fatalf("migrate up: %s", o.stderr)
	}
	s := serve(t, env)
	jwt := token(t, env)
	reserve := func(key string) (int, string) {
		return post(t, s.url+"/v1/keys/reserve", jwt, fmt.Sprintf(`{"operation":"o","key":%q,"fingerprint":"f","attempt_id":"attempt-1"}`, key))
	}
	for _, o := range outages { // one after the other, on the same service
		before, during := o.name+", before", o.name+", during"
		status, granted := reserve(before)
		if status != 201 {
			t.Fatalf("%s: got %d %s", before, status, granted)
		}
		o.leave(server)
		for range 3 { // the first meets connections that were good, the others have to make new ones
			if status, body := reserve(during); status != 503 || !strings.Contains(body, `"store_unavailable"`) {
				t.Errorf("%s: got %d %s, want 503 store_unavailable", during, status, body)
			}
		}
		if status, body := get(t, s.url+"/readyz"); status != 503 {
			t.Errorf("%s: /readyz: got %d %s, want 503", o.name, status, body)
		}
		if status, body := get(t, s.url+"/livez"); status != 200 {
			t.Errorf("%s: /livez: got %d %s, want 200", o.name, status, body)
		}
		o.comeUp(server)
		untilServed(t, func() (int, string) { return reserve(during) })
		if status, body := get(t, s.url+"/readyz"); status != 200 {
			t.Errorf("%s: /readyz afterwards: got %d %s, want 200", o.name, status, body)
		}
		if status, body := reserve(before); status != 201 || lease(body) != lease(granted) {
			t.Errorf("%s, repeated afterwards: got %d %s, want the lease of %s", before, status, body, granted)
		}
	}
}

// untilServed repeats a call that may still meet the outage, as callers do.
func untilServed(t *testing.T, call func() (int, string)) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; {
		status, body := call()
		switch {
		case status == 201:
			return
		case status != 503:
			t.Fatalf("afterwards: got %d %s, want 201, or 503 for a while", status, body)
		case time.Now().After(deadline):
			t.Fatalf("still after %v: got %d %s, want 201", hang, status, body)
		}
	}
}
