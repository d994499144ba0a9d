package metrics_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/reprise-idempotency/reprise/service/httpapi"
)

// marked is in everything that the random callers send.
const marked = "zq7"

// Ensure that 10,000 calls of 100 tenants with as many operations and keys, among them ones that look like labels, calls
// that do not exist and requests that are no calls, make no series but those of known calls and outcomes, and that
// nothing that a caller sent is to be seen.
func TestCallersMakeNoSeries(t *testing.T) {
	w := &watch{running: run(t), moved: map[string]bool{}}
	const tenants = 100
	tenant := func(i int) string { return fmt.Sprintf("%s-tenant-%d", marked, i) }
	w.storm(tenant(0), 0) // which makes the series that there are
	before := w.scrape()
	var calling sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := 1; i <= tenants; i++ {
		places <- struct{}{}
		calling.Go(func() {
			defer func() { <-places }()
			w.storm(tenant(i), uint64(i))
		})
	}
	calling.Wait()
	w.shows(t, "all is answered", deltas{"reprise_requests_in_flight": 0})
	after := w.scrape()
	for name := range after.values {
		if _, ok := before.values[name]; !ok {
			t.Errorf("the callers made the series %s", name)
		}
	}
	acquired := `reprise_calls_total{call="reserve",outcome="acquired"}`
	if got := after.values[acquired] - before.values[acquired]; got != tenants*stormed {
		t.Errorf("got %v reservations, want %d", got, tenants*stormed)
	}
	if text := w.text(); strings.Contains(text, marked) {
		t.Errorf("a caller's words are in the metrics:\n%s", text)
	}
	w.checkLabels(t, after)
}

// stormed is how many keys a storm reserves.
const stormed = 100

// storm makes all kinds of calls, with random names.
func (w *watch) storm(tenant string, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	word := func() string {
		return fmt.Sprintf([]string{"%s-%d", `%s"} %d`, "%s{a=\"b\"} ы %d", "reprise_%s_total %d"}[rng.IntN(4)], marked, rng.Int64())
	}
	name := func() fields {
		return fields{"operation": word(), "subject": word(), "key": word(), "fingerprint": marked}
	}
	c := w.as(tenant)
	var calls []fields
	for range stormed - 1 {
		call := name()
		call["call"] = "reserve"
		calls = append(calls, call)
	}
	calls = append(calls, fields{"call": word()}, fields{word(): word()})
	for _, r := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, "/v1/keys/batch", fields{"calls": calls}},
		{http.MethodPost, "/v1/keys/reserve", name()},
		{http.MethodPost, "/v1/keys/lookup", fields{"operation": word(), "key": word()}},
		{http.MethodPost, "/v1/keys/" + marked, name()},
		{http.MethodGet, "/" + marked + fmt.Sprint(rng.Int64()), nil},
		{marked, "/v1/keys/reserve", nil},
		{http.MethodGet, "/v1/keys?operation=" + marked + "&state=" + marked, nil},
		{http.MethodGet, "/v1/stats?" + marked + "=1", nil},
	} {
		if _, _, err := c.send(context.Background(), r.method, r.path, r.body); err != nil {
			w.t.Errorf("%s %s: %v", r.method, r.path, err)
		}
	}
	_, _, _ = caller{w.running, marked + word()}.send(context.Background(), http.MethodPost, "/v1/keys/reserve", name())
}

// text is the page as it is.
func (w *watch) text() string {
	w.t.Helper()
	r, err := http.Get(w.url + "/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// checkLabels wants no label but those that have a bounded number of values, and no outcome that the API does not have.
func (w *watch) checkLabels(t *testing.T, s scrape) {
	t.Helper()
	for name, family := range s.families {
		for _, m := range family.Metric {
			for _, l := range m.Label {
				switch l.GetName() {
				case "outcome":
					if !slices.Contains(httpapi.Outcomes(), l.GetValue()) {
						t.Errorf("%s: there is no outcome %q", name, l.GetValue())
					}
				case "call", "end", "kind", "result", "state", "version":
				default:
					t.Errorf("%s has a label %s", name, l.GetName())
				}
			}
		}
	}
}

// Ensure that names, units and help texts are what Prometheus asks for, as promtool check metrics does.
func TestMetricsPassTheLint(t *testing.T) {
	w := &watch{running: run(t), moved: map[string]bool{}}
	w.storm("acme", 1)
	problems, err := testutil.GatherAndLint(w.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Ensure that the histograms of times tell apart what takes less than a millisecond and what takes as long as a reserve
// may wait.
func TestHistogramsHoldTheFastAndTheSlow(t *testing.T) {
	w := &watch{running: run(t), moved: map[string]bool{}}
	w.storm("acme", 1)
	times := 0
	families := w.scrape().families
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if !strings.HasSuffix(name, "_duration_seconds") {
			continue
		}
		times++
		buckets := families[name].Metric[0].GetHistogram().GetBucket()
		fast, slow := buckets[0].GetUpperBound(), buckets[len(buckets)-2].GetUpperBound() // the last is +Inf
		if longest := w.service.Limits().Wait.Seconds(); fast >= 0.001 || slow <= longest {
			t.Errorf("%s: got buckets from %v to %v s, want from below 1 ms to over %v s", name, fast, slow, longest)
		}
	}
	if times != 5 {
		t.Errorf("got %d histograms of times, want 5", times)
	}
}
