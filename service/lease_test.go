package service_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/sqlite"
)

// late is a store that confirms reservations too late: when the answer comes, the lease may be over.
type late struct {
	storage.Store
	confirmations int                      // how many more answers come too late
	instead       func(storage.Call)       // what happens before each extension
	extensions    int                      // how many were asked for
	fail          func(storage.Call) error // answers a call with an error
}

func (l *late) Apply(ctx context.Context, calls []storage.Call) []storage.Answer {
	if beat, ok := calls[0].(storage.Heartbeat); ok {
		l.extensions++
		if l.instead != nil {
			l.instead(beat)
		}
	}
	if l.fail != nil {
		if err := l.fail(calls[0]); err != nil {
			return []storage.Answer{{Err: err}}
		}
	}
	answers := l.Store.Apply(ctx, calls)
	if o := answers[0].Outcome; l.confirmations > 0 && (o == storage.OutcomeAcquired || o == storage.OutcomeRenewed) {
		l.confirmations--
		answers[0].GoodUntil = time.Now()
	}
	return answers
}

func openSQLite(t *testing.T) storage.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "reprise.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func principal(t *testing.T) auth.Principal {
	t.Helper()
	p, err := auth.NewPrincipal("acme", auth.KeysWrite)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(attemptID string, lease time.Duration) service.ReserveRequest {
	fingerprint := "f"
	return service.ReserveRequest{Name: service.Name{Operation: "o", Key: "k"}, Fingerprint: &fingerprint, AttemptID: &attemptID, Lease: &lease}
}

// code gives the code of a refusal, or nothing.
func code(err error) service.Code {
	var e *service.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Ensure that a lease of which too little is left is extended before it is answered as acquired, and keeps its token.
func TestALateConfirmationIsExtended(t *testing.T) {
	for _, confirmations := range []int{1, 2, 3} {
		store := &late{Store: openSQLite(t), confirmations: confirmations}
		got, err := service.New(store, service.DefaultLimits(), nil).Reserve(t.Context(), principal(t), request("attempt-1", time.Hour))
		if err != nil || !got.Acquired || got.Attempt != 1 || time.Until(got.GoodUntil) < time.Hour/2 {
			t.Errorf("%d late: got %+v %v, want attempt 1 with half of its lease left", confirmations, got, err)
		}
		if store.extensions != confirmations {
			t.Errorf("%d late: got %d extensions", confirmations, store.extensions)
		}
	}
}

// Ensure that a lease which cannot be confirmed in time is not answered as acquired: the caller repeats its attempt.
func TestALeaseThatCannotBeConfirmedInTime(t *testing.T) {
	store := &late{Store: openSQLite(t), confirmations: 1000}
	s := service.New(store, service.DefaultLimits(), nil)
	_, err := s.Reserve(t.Context(), principal(t), request("attempt-1", time.Hour))
	if code(err) != service.CodeOutcomeUnknown {
		t.Errorf("got %v, want %s", err, service.CodeOutcomeUnknown)
	}
	store.confirmations = 0
	got, err := s.Reserve(t.Context(), principal(t), request("attempt-1", time.Hour))
	if err != nil || !got.Acquired || got.Attempt != 1 {
		t.Errorf("the repeated attempt: got %+v %v, want its own lease", got, err)
	}
}

// Ensure that an attempt which was overtaken while its lease was extended is told so.
func TestOvertakenWhileExtending(t *testing.T) {
	store := &late{Store: openSQLite(t), confirmations: 1}
	store.instead = func(c storage.Call) {
		store.Store.Apply(t.Context(), []storage.Call{
			storage.Release{Name: c.On(), Token: c.(storage.Heartbeat).Token},
			storage.Reserve{Name: c.On(), Fingerprint: "f", Token: storage.NewToken(), AttemptID: "rival", Lease: time.Hour, Retention: time.Hour},
		})
	}
	_, err := service.New(store, service.DefaultLimits(), nil).Reserve(t.Context(), principal(t), request("attempt-1", time.Hour))
	if code(err) != service.CodeInProgress {
		t.Errorf("got %v, want %s", err, service.CodeInProgress)
	}
}

// Ensure that a failure to extend a lease grants nothing, and is not told as if nothing had been stored.
func TestOutageWhileExtending(t *testing.T) {
	for _, kind := range []error{storage.ErrUnavailable, storage.ErrOutcomeUnknown, errors.New("poisoned")} {
		store := &late{Store: openSQLite(t), confirmations: 1, fail: func(c storage.Call) error {
			if _, ok := c.(storage.Heartbeat); ok {
				return kind
			}
			return nil
		}}
		_, err := service.New(store, service.DefaultLimits(), nil).Reserve(t.Context(), principal(t), request("attempt-1", time.Hour))
		if code(err) != service.CodeOutcomeUnknown || !errors.Is(err, kind) {
			t.Errorf("%v: got %v, want %s", kind, err, service.CodeOutcomeUnknown)
		}
	}
}

// Ensure that what holds for the lease of a single reserve holds for those of a batch: one that cannot be confirmed in time,
// or whose extension fails in whatever way, is told as unknown and never as if nothing had been stored.
func TestALateConfirmationInABatch(t *testing.T) {
	batch := func(store storage.Store) service.Result {
		s := service.New(store, service.DefaultLimits(), nil)
		return s.Batch(t.Context(), principal(t), []service.Request{request("attempt-1", time.Hour)})[0]
	}
	if got := batch(&late{Store: openSQLite(t), confirmations: 3}); got.Err != nil || !got.Reservation.Acquired || time.Until(got.Reservation.GoodUntil) < time.Hour/2 {
		t.Errorf("three late: got %+v, want half of the lease left", got)
	}
	if got := batch(&late{Store: openSQLite(t), confirmations: 1000}); code(got.Err) != service.CodeOutcomeUnknown {
		t.Errorf("always late: got %v, want %s", got.Err, service.CodeOutcomeUnknown)
	}
	for _, kind := range []error{storage.ErrUnavailable, storage.ErrOutcomeUnknown, errors.New("poisoned")} {
		got := batch(&late{Store: openSQLite(t), confirmations: 1, fail: func(c storage.Call) error {
			if _, ok := c.(storage.Heartbeat); ok {
				return kind
			}
			return nil
		}})
		if code(got.Err) != service.CodeOutcomeUnknown || !errors.Is(got.Err, kind) {
			t.Errorf("%v: got %v, want %s", kind, got.Err, service.CodeOutcomeUnknown)
		}
	}
	store := &late{Store: openSQLite(t), confirmations: 1}
	store.instead = func(c storage.Call) {
		store.Store.Apply(t.Context(), []storage.Call{storage.Release{Name: c.On(), Token: c.(storage.Heartbeat).Token}})
	}
	if got := batch(store); code(got.Err) != service.CodeOutcomeUnknown {
		t.Errorf("given up meanwhile: got %v, want %s", got.Err, service.CodeOutcomeUnknown)
	}
}

// Ensure that a batch extends a lease of which too little is left as a single call does, gives out none that it cannot
// confirm, and answers its other calls all the same.
func TestABatchConfirmsItsLeases(t *testing.T) {
	other := "another"
	for _, c := range []struct {
		confirmations, extensions int
		want                      service.Code
	}{{0, 0, ""}, {1, 1, ""}, {3, 3, ""}, {1000, 3, service.CodeOutcomeUnknown}} {
		store := &late{Store: openSQLite(t), confirmations: c.confirmations}
		second := request("attempt-2", time.Hour)
		second.Fingerprint = &other
		results := service.New(store, service.DefaultLimits(), nil).Batch(t.Context(), principal(t), []service.Request{request("attempt-1", time.Hour), second})
		first := results[0]
		if code(first.Err) != c.want || c.want == "" && (!first.Reservation.Acquired || time.Until(first.Reservation.GoodUntil) < time.Hour/2) {
			t.Errorf("%d late: got %+v %v, want %q", c.confirmations, first.Reservation, first.Err, c.want)
		}
		if code(results[1].Err) != service.CodeFingerprintMismatch || store.extensions != c.extensions {
			t.Errorf("%d late: the other call got %v, with %d extensions; want %d", c.confirmations, results[1].Err, store.extensions, c.extensions)
		}
	}
}
