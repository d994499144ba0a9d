package sqlite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

func reserve(key string) storage.Reserve {
	return storage.Reserve{Name: storage.Name{Tenant: "t", Operation: "op", Key: key}, Fingerprint: "fp",
		AttemptID: storage.NewToken().String(), Token: storage.NewToken(), Lease: time.Hour, Retention: 24 * time.Hour}
}

func complete(c storage.Reserve) storage.Complete {
	return storage.Complete{Name: c.Name, Token: c.Token, Result: storage.Completed, ResultHash: []byte("hash"),
		Response: &storage.Response{Status: 200, Body: []byte("done")}}
}

// apply sends one call, which has to come to an outcome.
func apply(t *testing.T, s storage.Store, want storage.Outcome, c storage.Call) *storage.Record {
	t.Helper()
	a := s.Apply(context.Background(), []storage.Call{c})[0]
	if a.Err != nil || a.Outcome != want {
		t.Fatalf("%T: got %v, %v; want %v", c, a.Outcome, a.Err, want)
	}
	return a.Record
}

func unavailable(t *testing.T, s storage.Store, c storage.Call) {
	t.Helper()
	if a := s.Apply(context.Background(), []storage.Call{c})[0]; !errors.Is(a.Err, storage.ErrUnavailable) {
		t.Fatalf("%T: got %v, %v; want ErrUnavailable", c, a.Outcome, a.Err)
	}
}
