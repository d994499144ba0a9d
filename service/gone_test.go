package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
)

// gone is the context of a caller who has hung up.
func gone() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Ensure that what a caller has said to be done, or given up, is stored although they have hung up: by itself, in a batch, and
// by an operator; and that nothing else is.
func TestWhatIsSaidToBeDoneOutlivesItsCaller(t *testing.T) {
	p, err := auth.NewPrincipal("acme", auth.Scopes()...)
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(openSQLite(t), service.DefaultLimits(), nil)
	mine := "fingerprint"
	reserve := func(key string) service.ReserveRequest {
		return service.ReserveRequest{Name: service.Name{Operation: "o", Key: key}, Fingerprint: &mine}
	}
	held := func(key string) (name service.Name, token, version string) {
		got, err := s.Reserve(context.Background(), p, reserve(key))
		if err != nil {
			t.Fatal(err)
		}
		return service.Name{Operation: "o", Key: key}, got.Token.String(), got.VersionText()
	}
	state := func(key string) string {
		rec, err := s.Lookup(context.Background(), p, service.LookupRequest{Name: service.Name{Operation: "o", Key: key}})
		if err != nil {
			return string(code(err))
		}
		return rec.DerivedState().String()
	}
	for key, do := range map[string]func(name service.Name, token, version string) error{
		"completed": func(n service.Name, token, _ string) error {
			_, err := s.Complete(gone(), p, service.CompleteRequest{Name: n, LeaseToken: token})
			return err
		},
		"released": func(n service.Name, token, _ string) error {
			_, err := s.Release(gone(), p, service.ReleaseRequest{Name: n, LeaseToken: token})
			return err
		},
		"failed": func(n service.Name, _, version string) error {
			_, err := s.Resolve(gone(), p, service.ResolveRequest{Name: n, To: "failed", Version: version, Reason: "a test", Force: true})
			return err
		},
	} {
		name, token, version := held(key)
		if err := do(name, token, version); err != nil || state(key) != key {
			t.Errorf("%s: %v, and the key is %s", key, err, state(key))
		}
	}

	name, token, _ := held("in a batch")
	results := s.Batch(gone(), p, []service.Request{reserve("beside it"), service.CompleteRequest{Name: name, LeaseToken: token}})
	if results[1].Err != nil || state("in a batch") != "completed" {
		t.Errorf("in a batch: %v, and the key is %s", results[1].Err, state("in a batch"))
	}
	results = s.Batch(gone(), p, []service.Request{reserve("alone"), service.LookupRequest{Name: name}})
	for i, r := range results {
		if code(r.Err) != service.CodeStoreUnavailable {
			t.Errorf("call %d for somebody who has gone: %v", i, r.Err)
		}
	}
	if got := state("alone"); got != "not_found" {
		t.Errorf("a key was granted to somebody who has gone: it is %s", got)
	}
}

// Ensure that a caller who hangs up while they wait is granted nothing, and that this is told as what it is and not as an
// outage of the store, of which an operator would be told.
func TestHangingUpIsNoOutage(t *testing.T) {
	p := principal(t)
	s := service.New(openSQLite(t), service.DefaultLimits(), nil)
	mine, wait := "fingerprint", 20*time.Second
	r := service.ReserveRequest{Name: service.Name{Operation: "o", Key: "k"}, Fingerprint: &mine, Wait: &wait}
	if _, err := s.Reserve(context.Background(), p, r); err != nil {
		t.Fatal(err)
	}
	_, waiting, err := s.ReserveOrWait(context.Background(), p, r)
	if err != nil || waiting == nil {
		t.Fatalf("got %v %v, want a wait", waiting, err)
	}
	waiting.Await(gone())
	if _, err := waiting.Reservation(gone()); code(err) != service.CodeInProgress {
		t.Errorf("got %v, want %s", err, service.CodeInProgress)
	}
	if s.Waiters() != 0 {
		t.Errorf("%d wait", s.Waiters())
	}
}
