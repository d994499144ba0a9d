package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/reprise-idempotency/reprise"
	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/apidocs"
	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/service/httpapi"
	"github.com/reprise-idempotency/reprise/service/metrics"
	"github.com/reprise-idempotency/reprise/service/sweeper"
	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/postgres"
)

// shutdownTimeout bounds the wait for requests that are under way; one that waits longer for its store is cut off, as by
// a crash, and can be repeated.
const shutdownTimeout = 25 * time.Second

// running is a service and its parts.
type running struct {
	store         storage.Store
	api           *httpapi.API
	sweeper       *sweeper.Sweeper
	sweepInterval time.Duration // zero: it does not sweep
	metrics       http.Handler
	drainDelay    time.Duration
	log           *slog.Logger
}

// build puts the parts of the service together.
func (p *program) build(ctx context.Context, c config, log *slog.Logger) (*running, error) {
	tokens, err := c.tokenConfig()
	if err != nil {
		return nil, err
	}
	verifier, err := auth.NewVerifier(tokens)
	if err != nil {
		return nil, err
	}
	docs, err := apidocs.New(reprise.OpenAPI, buildVersion())
	if err != nil {
		return nil, err
	}
	store, err := openStore(ctx, c, log)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := metrics.New(registry, buildVersion())
	if pg, ok := store.(*postgres.Store); ok {
		metrics.Pool(registry, func() metrics.Connections {
			acquired, idle, most := pg.Connections()
			return metrics.Connections{Acquired: acquired, Idle: idle, Max: most}
		})
	}
	svc := service.New(m.Store(store), c.limits, m)
	metrics.Waiters(registry, svc.Waiters)
	s := &running{store: store, log: log, drainDelay: c.drainDelay, sweepInterval: c.sweepInterval,
		sweeper: &sweeper.Sweeper{Store: store, Log: log, Observer: m},
		metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError)})}
	api := httpapi.Config{Service: svc, Verifier: verifier, OpenAPI: reprise.OpenAPI, Docs: docs, Observer: m, Version: buildVersion(),
		Log: log, MaxBody: int64(c.maxBody), MaxBatch: int64(c.maxBatch)}
	if c.adminListen == "" {
		api.Metrics = s.metrics
	}
	s.api = httpapi.New(api)
	return s, nil
}

// serveMetrics serves the metrics on a listener of their own, until it is closed.
func (s *running) serveMetrics(l net.Listener) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics)
	server := s.api.Server()
	server.Handler = mux
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			s.log.Error("the metrics are not served any more", "err", err)
		}
	}()
}

// run serves until ctx ends, and then goes down in order: unready, no new connections, requests finish, sweeper stops.
func (s *running) run(ctx context.Context, listener net.Listener) error {
	var background sync.WaitGroup
	defer background.Wait()
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorking()
	background.Go(func() { boundGarbage(working) })
	if s.sweepInterval > 0 {
		background.Go(func() { s.sweeper.Run(working, s.sweepInterval) })
	}
	server := s.api.Server()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		s.api.Drain()
		return err
	case <-ctx.Done():
	}
	s.api.Drain()
	s.log.Info("going down", "drain_delay", s.drainDelay)
	time.Sleep(s.drainDelay) // so that a load balancer sees it before connections are refused
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(stop)
	if err == nil { // no call can be parked any more
		err = s.api.AwaitParked(stop)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("some requests did not finish within %s: %w", shutdownTimeout, err), server.Close())
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	s.log.Info("stopped")
	return nil
}

func (s *running) close() error {
	s.api.Service.Close()
	return s.store.Close()
}
