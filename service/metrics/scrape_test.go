package metrics_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrape is what /metrics says.
type scrape struct {
	families map[string]*dto.MetricFamily
	values   map[string]float64 // by series; a histogram has that of its count
}

func (s *running) scrape() scrape {
	s.t.Helper()
	r, err := http.Get(s.url + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(r.Body)
	if err != nil || r.StatusCode != 200 {
		s.t.Fatalf("/metrics: %d, %v", r.StatusCode, err)
	}
	got := scrape{families: families, values: map[string]float64{}}
	for name, family := range families {
		for _, m := range family.Metric {
			switch family.GetType() {
			case dto.MetricType_COUNTER:
				got.values[series(name, m)] = m.GetCounter().GetValue()
			case dto.MetricType_GAUGE:
				got.values[series(name, m)] = m.GetGauge().GetValue()
			case dto.MetricType_HISTOGRAM:
				got.values[series(name+"_count", m)] = float64(m.GetHistogram().GetSampleCount())
			default:
				s.t.Fatalf("%s is a %v", name, family.GetType())
			}
		}
	}
	return got
}

// series writes a series as Prometheus does.
func series(name string, m *dto.Metric) string {
	var labels []string
	for _, l := range m.Label {
		labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	if len(labels) == 0 {
		return name
	}
	return name + "{" + strings.Join(labels, ",") + "}"
}

// deltas are by how much series have to change.
type deltas map[string]float64

// watch looks at the metrics before and after something.
type watch struct {
	*running
	moved map[string]bool // series that changed
}

// moves does something, and waits until each of the series has changed by so much: a call is counted after it was
// answered.
func (w *watch) moves(t *testing.T, what string, do func(), want deltas) {
	t.Helper()
	before := w.scrape()
	do()
	w.reach(t, what, func(after scrape) (wrong string) {
		for name, delta := range want {
			if _, ok := after.values[name]; !ok && delta != 0 {
				return fmt.Sprintf("there is no %s", name)
			}
			if got := after.values[name] - before.values[name]; got != delta {
				return fmt.Sprintf("%s changed by %v, want %v", name, got, delta)
			}
		}
		for name, value := range after.values {
			if value != before.values[name] {
				w.moved[name] = true
			}
		}
		return ""
	})
}

// reach scrapes until nothing is wrong.
func (w *watch) reach(t *testing.T, what string, wrong func(scrape) string) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; {
		found := wrong(w.scrape())
		switch {
		case found == "":
			return
		case time.Now().After(deadline):
			t.Fatalf("%s: %s", what, found)
		}
	}
}

// shows waits until gauges have these values.
func (w *watch) shows(t *testing.T, what string, want deltas) {
	t.Helper()
	w.reach(t, what, func(now scrape) string {
		for name, value := range want {
			if got, ok := now.values[name]; !ok || got != value {
				return fmt.Sprintf("%s is %v, want %v", name, got, value)
			}
			w.moved[name] = w.moved[name] || value != 0
		}
		return ""
	})
}
