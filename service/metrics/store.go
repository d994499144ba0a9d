package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reprise-idempotency/reprise/storage"
)

// Store measures the groups that go to a store.
func (m *Metrics) Store(s storage.Store) storage.Store { return measured{s, m} }

type measured struct {
	storage.Store
	m *Metrics
}

// Apply measures a group of calls.
func (s measured) Apply(ctx context.Context, calls []storage.Call) []storage.Answer {
	began := time.Now()
	answers := s.Store.Apply(ctx, calls)
	s.m.storeCalls.Observe(time.Since(began).Seconds())
	s.m.groups.Observe(float64(len(calls)))
	for _, a := range answers {
		if a.Err == nil {
			continue
		}
		if kind := kindOf(a.Err); kind != kindUnavailable || ctx.Err() == nil { // a caller who hung up is no outage
			s.m.storeErrors.WithLabelValues(kind).Inc()
		}
	}
	return answers
}

// Waiters makes the number of those who wait a metric.
func Waiters(r prometheus.Registerer, now func() int) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "waiting", Help: "Reserves that wait now."},
		func() float64 { return float64(now()) }))
}

// Connections is how a pool of connections stands.
type Connections struct{ Acquired, Idle, Max int32 }

// Pool makes the connections to the database metrics.
func Pool(r prometheus.Registerer, now func() Connections) {
	gauge := func(name, help string, of func(Connections) int32) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + name, Help: help}, func() float64 { return float64(of(now())) })
	}
	r.MustRegister(
		gauge("store_connections_acquired", "Connections to Postgres in use now.", func(c Connections) int32 { return c.Acquired }),
		gauge("store_connections_idle", "Connections to Postgres that are open and unused.", func(c Connections) int32 { return c.Idle }),
		gauge("store_connections_max", "Most connections to Postgres that are ever opened.", func(c Connections) int32 { return c.Max }),
	)
}
