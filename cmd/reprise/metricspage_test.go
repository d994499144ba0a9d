package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/reprise-idempotency/reprise/service/httpapi"
)

// metric is what the page and the service say of one, its values apart: type, and names of labels.
type metric struct{ kind, labels string }

const metricsPage = "../../docs/metrics.md"

var (
	rowOfMetric = regexp.MustCompile("(?m)^\\| `(reprise_\\w+)` \\| (\\w+) \\|([^|]*)\\| ([^|]+) \\| [^|]+ \\|$")
	inBackticks = regexp.MustCompile("`([^`]+)`")
)

// metricsOnPage reads the tables of the page, with the row of each metric.
func metricsOnPage(t *testing.T) (all map[string]metric, rows map[string]string, page string) {
	t.Helper()
	text, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	all, rows = map[string]metric{}, map[string]string{}
	for _, m := range rowOfMetric.FindAllStringSubmatch(string(text), -1) {
		var labels []string
		for _, label := range inBackticks.FindAllStringSubmatch(m[3], -1) {
			labels = append(labels, label[1])
		}
		if _, twice := all[m[1]]; twice {
			t.Errorf("%s has two rows", m[1])
		}
		all[m[1]], rows[m[1]] = metric{m[2], strings.Join(labels, " ")}, m[0]
	}
	return all, rows, string(text)
}

// metricsOf scrapes a service, and gives the values of labels too.
func metricsOf(t *testing.T, url string) (all map[string]metric, values map[string][]string) {
	t.Helper()
	status, text := get(t, url+"/metrics")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil || status != 200 {
		t.Fatalf("/metrics: got %d, %v", status, err)
	}
	all, values = map[string]metric{}, map[string][]string{}
	for name, family := range families {
		if strings.HasPrefix(name, "reprise_") {
			all[name] = metric{strings.ToLower(family.GetType().String()), labelsOf(family)}
			for _, m := range family.Metric {
				for _, l := range m.Label {
					values[name] = append(values[name], l.GetValue())
				}
			}
		} else if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			t.Errorf("the page says nothing of metrics like %s", name)
		}
	}
	return all, values
}

func labelsOf(family *dto.MetricFamily) string {
	var names []string
	for _, l := range family.Metric[0].Label {
		names = append(names, l.GetName())
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// Ensure that docs/metrics.md has every metric of a running service, with its type, its labels and their values, and none
// that the service does not have; but for SQLite, which has no connections.
func TestThePageOfTheMetricsIsTrue(t *testing.T) {
	page, rows, text := metricsOnPage(t)
	for store, configured := range stores(t) {
		t.Run(store, func(t *testing.T) {
			env := configured(t)
			s := serve(t, env)
			settle(t, s.url, token(t, env), "o", 1)
			got, values := metricsOf(t, s.url)
			want := maps.Clone(page)
			if store == "sqlite" {
				maps.DeleteFunc(want, func(name string, _ metric) bool { return strings.HasPrefix(name, "reprise_store_connections_") })
			}
			for _, name := range slices.Sorted(maps.Keys(got)) {
				if want[name] != got[name] {
					t.Errorf("%s: the service has %+v, the page %+v", name, got[name], want[name])
				}
			}
			for name := range want {
				if _, ok := got[name]; !ok {
					t.Errorf("the page has %s, the service has not", name)
				}
			}
			checkValues(t, values, rows, text)
		})
	}
}

// checkValues looks for the values of labels in the row of their metric or, where many metrics share them, on the page.
func checkValues(t *testing.T, values map[string][]string, rows map[string]string, page string) {
	t.Helper()
	for name, all := range values {
		where := rows[name]
		switch name {
		case "reprise_calls_total", "reprise_request_duration_seconds":
			where = page
		case "reprise_build_info":
			continue
		}
		for _, value := range all {
			if !strings.Contains(where, "`"+value+"`") {
				t.Errorf("%s: the page says nothing of the value %s", name, value)
			}
		}
	}
}

// Ensure that docs/metrics.md names every outcome that a call can have.
func TestThePageOfTheMetricsHasAllOutcomes(t *testing.T) {
	_, _, page := metricsOnPage(t)
	_, section, ok := strings.Cut(page, "## Calls and outcomes")
	if !ok {
		t.Fatal("the page has no section on outcomes")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, outcome := range httpapi.Outcomes() {
		if !strings.Contains(section, fmt.Sprintf("`%s`", outcome)) {
			t.Errorf("the page says nothing of the outcome %s", outcome)
		}
	}
	for _, m := range inBackticks.FindAllStringSubmatch(section, -1) {
		if word := m[1]; strings.Contains(word, "_") && !slices.Contains(httpapi.Outcomes(), word) {
			t.Errorf("the page has the outcome %s, the API has not", word)
		}
	}
}
