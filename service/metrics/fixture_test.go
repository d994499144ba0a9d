package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/service/httpapi"
	"github.com/reprise-idempotency/reprise/service/metrics"
	"github.com/reprise-idempotency/reprise/service/sweeper"
	"github.com/reprise-idempotency/reprise/storage/postgres"
	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// hang bounds a wait that only ends so late when something is broken.
const hang = time.Minute

var secret = auth.Config{HS256Secret: []byte("0123456789abcdef0123456789abcdef")}

// running is a service on Postgres with its metrics, put together as cmd/reprise does it.
type running struct {
	t        *testing.T
	url      string
	registry *prometheus.Registry
	metrics  *metrics.Metrics
	service  *service.Service
	store    *postgres.Store
	sweeper  *sweeper.Sweeper
	db       *pgx.Conn // past the store
}

// run starts a service in which one reserve of a tenant may wait at a time.
func run(t *testing.T) *running {
	t.Helper()
	address := pgtest.URL(t)
	s := &running{t: t, registry: prometheus.NewRegistry(), store: openStore(t, address)}
	var err error
	if s.db, err = pgx.Connect(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewVerifier(secret)
	if err != nil {
		t.Fatal(err)
	}
	limits := service.DefaultLimits()
	limits.WaitersPerTenant = 1
	s.metrics = metrics.New(s.registry, "v1.2.3")
	metrics.Pool(s.registry, func() metrics.Connections {
		acquired, idle, most := s.store.Connections()
		return metrics.Connections{Acquired: acquired, Idle: idle, Max: most}
	})
	s.service = service.New(s.metrics.Store(s.store), limits, s.metrics)
	metrics.Waiters(s.registry, s.service.Waiters)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	s.sweeper = &sweeper.Sweeper{Store: s.store, Log: log, Observer: s.metrics}
	server := httptest.NewServer(httpapi.New(httpapi.Config{Service: s.service, Verifier: verifier, Observer: s.metrics, Log: log,
		Metrics: promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{})}))
	s.url = server.URL
	t.Cleanup(func() {
		_ = s.db.Close(context.Background())
		s.service.StopWaiting()
		server.Close()
		_ = s.store.Close()
	})
	return s
}

func openStore(t *testing.T, address string) *postgres.Store {
	t.Helper()
	migrator, err := postgres.Migrator(address)
	if err != nil {
		t.Fatal(err)
	}
	defer migrator.Close()
	if _, err := migrator.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(context.Background(), address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// fields are those of a request or an answer.
type fields map[string]any

// caller is a tenant who calls with all rights, unless the token says otherwise.
type caller struct {
	s     *running
	token string
}

func (s *running) as(tenant string, scopes ...auth.Scope) caller {
	s.t.Helper()
	if len(scopes) == 0 {
		scopes = auth.Scopes()
	}
	signer, err := auth.NewSigner(secret)
	if err != nil {
		s.t.Fatal(err)
	}
	token, err := signer.Sign(tenant, scopes, time.Hour)
	if err != nil {
		s.t.Fatal(err)
	}
	return caller{s: s, token: token}
}

// send makes a request and gives its status and answer.
func (c caller) send(ctx context.Context, method, path string, body any) (int, fields, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.s.url+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+c.token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	answer := fields{}
	_ = json.Unmarshal(raw, &answer) // pages are no JSON
	return response.StatusCode, answer, err
}

// call makes a call, which must have this status.
func (c caller) call(want int, method, path string, body any) fields {
	c.s.t.Helper()
	status, answer, err := c.send(c.s.t.Context(), method, path, body)
	if err != nil || status != want {
		c.s.t.Fatalf("%s %s %v: got %d %v (%v), want %d", method, path, body, status, answer, err, want)
	}
	return answer
}

// post calls one of the calls on keys.
func (c caller) post(want int, call string, body fields) fields {
	c.s.t.Helper()
	return c.call(want, http.MethodPost, "/v1/keys/"+call, body)
}

// reserve acquires a key and gives the token of its lease.
func (c caller) reserve(key string, more ...fields) (lease string) {
	c.s.t.Helper()
	return c.post(201, "reserve", reserveOf(key, more...))["lease"].(map[string]any)["token"].(string)
}

func named(key string, more ...fields) fields {
	f := fields{"operation": "POST /v1/orders", "key": key}
	for _, m := range more {
		for name, value := range m {
			f[name] = value
		}
	}
	return f
}

func reserveOf(key string, more ...fields) fields {
	return named(key, append([]fields{{"fingerprint": "f"}}, more...)...)
}

func (s *running) exec(statement string, args ...any) {
	s.t.Helper()
	if _, err := s.db.Exec(s.t.Context(), statement, args...); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

// age makes a key what it would be, had all of it happened some hours earlier.
func (s *running) age(key string, hours int) {
	s.t.Helper()
	s.exec(fmt.Sprintf(`UPDATE reprise_keys SET created_at = created_at - h, lease_expires_at = lease_expires_at - h,
		expires_at = expires_at - h, fence = fence - %[1]d * 3600000000, sweep_hour = sweep_hour - %[1]d
		FROM (SELECT interval '%[1]d hours' AS h) AS past WHERE key = $1`, hours), key)
}
