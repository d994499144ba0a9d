package main

import (
	"net"
	"strings"
	"testing"
)

// Ensure that healthcheck ends with 0 and says nothing when the service is ready, however it is told where that is: by
// --url, or by the address that the service listens on, be it one of the machine or all of them.
func TestHealthcheckOfAReadyService(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "0.0.0.0", "[::]", ""} {
		t.Run("on "+host, func(t *testing.T) {
			if host == "[::]" && !hasIPv6() {
				t.Skip("this machine has no IPv6")
			}
			s := serve(t, nil, "--data-dir", dataDir(t), "--listen", host+":0")
			_, port, err := net.SplitHostPort(strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			listen := host + ":" + port
			for name, c := range map[string]struct{ env, args []string }{
				"a variable":         {[]string{"REPRISE_LISTEN=" + listen}, nil},
				"a flag":             {nil, []string{"--listen", listen}},
				"--url":              {nil, []string{"--url", "http://localhost:" + port}},
				"--url with a slash": {[]string{"REPRISE_LISTEN=127.0.0.1:1"}, []string{"--url", "http://localhost:" + port + "/"}},
			} {
				if o := runProgram(t, c.env, append([]string{"healthcheck"}, c.args...)...); o != (outcome{}) {
					t.Errorf("%s: got %d %q %q, want 0 and silence", name, o.code, o.stdout, o.stderr)
				}
			}
		})
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// Ensure that healthcheck ends with 1 and says why when nobody listens, when the service is there and not ready, and when
// something else is there.
func TestHealthcheckOfWhatIsNotReady(t *testing.T) {
	const nowhere = "127.0.0.1:1"
	unready := serve(t, []string{secretVar, "REPRISE_DATABASE_URL=postgres://u:p@" + nowhere + "/db"})
	metrics := serve(t, nil, "--data-dir", dataDir(t), "--admin-listen", "127.0.0.1:0")
	for name, c := range map[string]struct{ url, want string }{
		"nobody listens": {"http://" + nowhere, "connection refused"},
		"not ready":      {unready.url, "503"},
		"something else": {"http://" + metrics.adminAddress(t), "404"},
	} {
		t.Run(name, func(t *testing.T) {
			o := runProgram(t, nil, "healthcheck", "--url", c.url)
			if o.code != exitFailure || o.stdout != "" || !strings.Contains(o.stderr, c.want) {
				t.Errorf("got %d %q %q, want a failure that says %q", o.code, o.stdout, o.stderr, c.want)
			}
		})
	}
	if o := runProgram(t, []string{"REPRISE_LISTEN=" + nowhere}, "healthcheck"); o.code != exitFailure {
		t.Errorf("by the configuration: got %d %q, want a failure", o.code, o.stderr)
	}
}

// Ensure that healthcheck refuses what makes no sense as a wrong use.
func TestHealthcheckRefuses(t *testing.T) {
	for _, args := range [][]string{{"now"}, {"--url", "http://127.0.0.1:80:80"}, {"--url", "http://"}, {"--sweep-interval", "soon"}} {
		if o := runProgram(t, nil, append([]string{"healthcheck"}, args...)...); o.code != exitUsage || o.stderr == "" {
			t.Errorf("%v: got %d %q, want a wrong use", args, o.code, o.stderr)
		}
	}
}

// Ensure that an address without http:// or https:// is refused as a wrong use that says what is missing, by every command
// that calls a service.
func TestAddressesWithoutAScheme(t *testing.T) {
	for _, command := range []string{"healthcheck", "try"} {
		for _, address := range []string{"localhost:8080", "127.0.0.1:8080", "127.0.0.1", "ftp://localhost", "//localhost"} {
			o := runProgram(t, []string{secretVar}, command, "--url", address)
			want := `--url: "` + address + `" must begin with http:// or https://`
			if o.code != exitUsage || o.stdout != "" || !strings.Contains(o.stderr, want) {
				t.Errorf("%s %s: got %d %q %q, want a wrong use that says %q", command, address, o.code, o.stdout, o.stderr, want)
			}
		}
	}
}

// Ensure that an address to listen on is turned into one to call.
func TestReachable(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080", "10.1.2.3:80": "10.1.2.3:80", "db.internal:80": "db.internal:80", "[2001:db8::1]:80": "[2001:db8::1]:80",
		"0.0.0.0:8080": "127.0.0.1:8080", ":8080": "127.0.0.1:8080", "[::]:8080": "[::1]:8080", "[::ffff:0.0.0.0]:8080": "127.0.0.1:8080",
	} {
		if got := reachable(listen); got != want {
			t.Errorf("%s: got %s, want %s", listen, got, want)
		}
	}
}
