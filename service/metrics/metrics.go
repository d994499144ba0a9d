// Package metrics counts what the service does, for Prometheus. The metrics are one struct, registered where the caller
// says; docs/metrics.md lists them. No label is made of what callers send: tenants, operations and keys have no number.
package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reprise-idempotency/reprise/service/sweeper"
	"github.com/reprise-idempotency/reprise/service/waiting"
	"github.com/reprise-idempotency/reprise/storage"
)

// Metrics are all of them. It is the observer of the API, the waiting room and the sweeper, and measures a store.
type Metrics struct {
	calls       *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	inFlight    prometheus.Gauge
	groups      prometheus.Histogram
	storeCalls  prometheus.Histogram
	storeErrors *prometheus.CounterVec

	waits       *prometheus.CounterVec
	waitSeconds prometheus.Histogram
	polls       *prometheus.CounterVec
	pollSeconds prometheus.Histogram

	sweeps      *prometheus.CounterVec
	swept       prometheus.Counter
	sweepFailed prometheus.Counter
	sweepDue    prometheus.Gauge
	sweepKept   prometheus.Gauge
	sweepLag    prometheus.Gauge
	sweepTime   prometheus.Histogram
	lastSweep   prometheus.Gauge
	openKeys    *prometheus.GaugeVec
	oldest      prometheus.Gauge
}

var _ waiting.Observer = (*Metrics)(nil)
var _ sweeper.Observer = (*Metrics)(nil)

// seconds are the bounds of durations: from a read in memory to what a store may take at most.
var seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25}

// New registers the metrics. version is that of the service.
func New(r prometheus.Registerer, version string) *Metrics {
	m := &Metrics{
		calls:     counters("calls_total", "Calls by how they ended: what reserve says, ok, or the code of a problem; those of a batch one by one.", "call", "outcome"),
		durations: histograms("request_duration_seconds", "Time from the headers of a request to its answer, waiting included.", "call"),
		inFlight:  gauge("requests_in_flight", "Requests that are being answered now, those that wait included."),
		groups: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "reprise_store_group_calls", Help: "Calls that went to the store as one group.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}}),
		storeCalls:  histogram("store_apply_duration_seconds", "Time that the store took for a group of calls."),
		storeErrors: counters("store_errors_total", "Calls that the store did not answer, by kind: unavailable, outcome_unknown or refused; not those whose callers hung up.", "kind"),

		waits:       counters("waits_total", "Reserves that asked to wait while another attempt was in progress, by how the wait ended.", "end"),
		waitSeconds: histogram("wait_duration_seconds", "Time that reserves waited; the refused ones did not."),
		polls:       counters("wait_polls_total", "Looks of the waiting room into the store, by result.", "result"),
		pollSeconds: histogram("wait_poll_duration_seconds", "Time that a look of the waiting room took."),

		sweeps:      counters("sweeps_total", "Sweeps, by result.", "result"),
		swept:       counter("swept_keys_total", "Expired keys that this process deleted."),
		sweepFailed: counter("sweep_failed_keys_total", "Times that an expired key could not be deleted for its own sake; the log names it."),
		sweepDue:    gauge("sweep_due_keys", "Keys that were due when the last sweep came to them."),
		sweepKept:   gauge("sweep_kept_keys", "Keys past their hour that the last sweep had to keep: uncertain ones."),
		sweepLag:    gauge("sweep_lag_seconds", "For how long the oldest key had been due that the last sweep found."),
		sweepTime:   histogram("sweep_duration_seconds", "Time that a sweep took."),
		lastSweep:   gauge("sweep_last_success_timestamp_seconds", "When the last sweep ended that was not broken off, by the clock of this process; zero when none has."),
		openKeys:    gauges("open_keys", "Keys of all tenants that have been in progress for a minute or longer, by state, as of the last sweep; counting stops at 10,000.", "state"),
		oldest:      gauge("oldest_in_progress_seconds", "Age of the oldest of those keys whose lease is live, as of the last sweep; zero when there is none."),
	}
	info := gauges("build_info", "Always 1; the label says which version runs.", "version")
	info.WithLabelValues(version).Set(1)
	r.MustRegister(m.calls, m.durations, m.inFlight, m.groups, m.storeCalls, m.storeErrors, m.waits, m.waitSeconds, m.polls, m.pollSeconds,
		m.sweeps, m.swept, m.sweepFailed, m.sweepDue, m.sweepKept, m.sweepLag, m.sweepTime, m.lastSweep, m.openKeys, m.oldest, info)
	m.begin()
	return m
}

// begin makes the series that will occur, so that a rate over the first of them is right.
func (m *Metrics) begin() {
	for _, end := range waiting.Ends {
		m.waits.WithLabelValues(string(end))
	}
	for _, kind := range []string{kindUnavailable, kindUnknown, kindRefused} {
		m.storeErrors.WithLabelValues(kind)
	}
	for _, result := range []string{resultOK, resultError} {
		m.polls.WithLabelValues(result)
		m.sweeps.WithLabelValues(result)
	}
	for _, state := range openStates {
		m.openKeys.WithLabelValues(state.String())
	}
}

// Called counts a call; see httpapi.Observer. One of a batch took no time of its own.
func (m *Metrics) Called(name, outcome string, took time.Duration) {
	if name == "" {
		name = "unknown"
	}
	m.calls.WithLabelValues(name, outcome).Inc()
	if took > 0 {
		m.durations.WithLabelValues(name).Observe(took.Seconds())
	}
}

// Began counts a request in.
func (m *Metrics) Began() { m.inFlight.Inc() }

// Ended counts a request out.
func (m *Metrics) Ended() { m.inFlight.Dec() }

// WaitEnded counts a wait; see waiting.Observer.
func (m *Metrics) WaitEnded(end waiting.End, after time.Duration) {
	m.waits.WithLabelValues(string(end)).Inc()
	if end != waiting.Refused {
		m.waitSeconds.Observe(after.Seconds())
	}
}

// Polled counts a look of the waiting room; see waiting.Observer.
func (m *Metrics) Polled(_ int, took time.Duration, err error) {
	m.polls.WithLabelValues(resultOf(err)).Inc()
	m.pollSeconds.Observe(took.Seconds())
}

var openStates = []storage.State{storage.InProgress, storage.Abandoned, storage.Uncertain}

// Swept counts a sweep; see sweeper.Observer.
func (m *Metrics) Swept(r sweeper.Report, err error) {
	m.sweeps.WithLabelValues(resultOf(err)).Inc()
	m.swept.Add(float64(r.Deleted))
	m.sweepFailed.Add(float64(r.Failed))
	m.sweepTime.Observe(r.Took.Seconds())
	if err != nil {
		return // it did not see everything
	}
	m.sweepDue.Set(float64(r.Due))
	m.sweepKept.Set(float64(r.Kept))
	m.sweepLag.Set(r.Lag.Seconds())
	m.lastSweep.SetToCurrentTime()
	for _, state := range openStates {
		m.openKeys.WithLabelValues(state.String()).Set(float64(r.Open.Counts[state].N))
	}
	m.oldest.Set(0)
	if !r.Open.Oldest.IsZero() {
		m.oldest.Set(r.Open.Now.Sub(r.Open.Oldest).Seconds())
	}
}

const (
	resultOK    = "ok"
	resultError = "error"

	kindUnavailable = "unavailable"
	kindUnknown     = "outcome_unknown"
	kindRefused     = "refused"
)

func resultOf(err error) string {
	if err != nil {
		return resultError
	}
	return resultOK
}

func kindOf(err error) string {
	switch {
	case errors.Is(err, storage.ErrOutcomeUnknown):
		return kindUnknown
	case errors.Is(err, storage.ErrUnavailable):
		return kindUnavailable
	}
	return kindRefused
}
