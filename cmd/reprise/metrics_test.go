package main

import (
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"testing"
)

// scraped reads the value of a series; zero when there is none.
func scraped(t *testing.T, url, series string) float64 {
	t.Helper()
	status, text := get(t, url+"/metrics")
	if status != 200 {
		t.Fatalf("/metrics: got %d %s", status, text)
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), series+" "); ok {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	return 0
}

// adminAddress is where the service says that it serves metrics.
func (s *served) adminAddress(t *testing.T) string {
	t.Helper()
	for line := range strings.Lines(s.stderr.String()) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving metrics" {
			return entry.Address
		}
	}
	t.Fatalf("the log does not say where the metrics are: %s", s.stderr)
	return ""
}

// freeAddress gives an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Ensure that metrics are served with the API, without a token, when no other place was asked for.
func TestMetricsWithTheAPI(t *testing.T) {
	s := serve(t, nil, "--data-dir", dataDir(t))
	status, text := get(t, s.url+"/metrics")
	if status != 200 {
		t.Fatalf("got %d %s", status, text)
	}
	for _, want := range []string{"\nreprise_build_info{version=", "\nreprise_requests_in_flight 0\n", "\ngo_goroutines ", "\nprocess_open_fds "} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(s.stderr.String(), "serving metrics") {
		t.Errorf("the log tells of another listener: %s", s.stderr)
	}
}

// Ensure that with admin_listen the metrics are there and only there, nothing else is, and that both count the same calls.
func TestMetricsOnAListenerOfTheirOwn(t *testing.T) {
	env := []string{secretVar, "REPRISE_DATA_DIR=" + dataDir(t), "REPRISE_ADMIN_LISTEN=127.0.0.1:0"}
	s := serve(t, env)
	admin := "http://" + s.adminAddress(t)
	if admin == s.url {
		t.Fatalf("both are at %s", admin)
	}
	if status, body := get(t, s.url+"/metrics"); status != 404 {
		t.Errorf("the listener of the API: got %d %s, want 404", status, body)
	}
	for _, path := range []string{"/", "/livez", "/readyz", "/v1/keys", "/openapi.yaml", "/docs", "/metrics/"} {
		if status, body := get(t, admin+path); status != 404 {
			t.Errorf("%s on the listener of the metrics: got %d %s, want 404", path, status, body)
		}
	}
	if status, _ := post(t, admin+"/v1/keys/reserve", token(t, env), `{}`); status != 404 {
		t.Errorf("a call on the listener of the metrics: got %d, want 404", status)
	}
	settle(t, s.url, token(t, env), "o", 3)
	if got := scraped(t, admin, `reprise_calls_total{call="reserve",outcome="acquired"}`); got != 3 {
		t.Errorf("got %v reservations, want 3", got)
	}
	if o := s.stop(); o.code != exitOK {
		t.Errorf("stop: got %d %s", o.code, o.stderr)
	}
	if l, err := net.Listen("tcp", strings.TrimPrefix(admin, "http://")); err != nil {
		t.Errorf("the listener of the metrics outlives the service: %v", err)
	} else {
		l.Close()
	}
}

// Ensure that an address for the metrics that is taken, or none, stops the start and is named by its setting.
func TestMetricsOnABadAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, want := range map[string]struct {
		code    int
		setting string
	}{taken.Addr().String(): {exitFailure, "--admin-listen"}, "localhost": {exitUsage, "admin_listen: "}} {
		o := runProgram(t, nil, "serve", "--listen", "127.0.0.1:0", "--data-dir", dataDir(t), "--admin-listen", address)
		if o.code != want.code || !strings.Contains(o.stderr, want.setting) || !strings.Contains(o.stderr, address) {
			t.Errorf("%s: got %d %q, want %d and %q", address, o.code, o.stderr, want.code, want.setting)
		}
	}
}
