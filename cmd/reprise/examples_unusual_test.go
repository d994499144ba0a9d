package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// name is how the examples name a key.
func (s *shop) name(key string) string {
	return fmt.Sprintf(`"operation":"POST /v1/charges","key":%q`, key)
}

// as makes a call of its own, and gives the answer.
func (s *shop) as(t *testing.T, call, body string) string {
	t.Helper()
	status, answer := post(t, s.url+call, s.token, body)
	if status/100 != 2 {
		t.Errorf("%s: got %d %s", call, status, answer)
	}
	return answer
}

// between puts a server between an example and the service. It may answer a call by itself, or give another body to pass on.
func (s *shop) between(t *testing.T, change func(w http.ResponseWriter, call, body string) (passOn string)) {
	l := &losing{service: s.url}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		on := change(w, r.URL.Path, string(body))
		if on == "" {
			return
		}
		status, answer := l.pass(r, []byte(on))
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
}

// Ensure that an example whose response is too large completes the key without it, so that nobody charges again.
func TestExamplesTooLarge(t *testing.T) {
	eachExample(t, func(t *testing.T, s *shop) {
		s.between(t, func(w http.ResponseWriter, call, body string) string {
			if strings.HasSuffix(call, "/complete") && !strings.Contains(body, `"response_dropped"`) {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return ""
			}
			return body
		})
		s.wantRun(t, "order", "100", `done 201 {"charged":100}`)
		s.wantRun(t, "order", "100", "refused: response_unavailable: ")
		s.wantCharged(t, 1)
	})
}

// Ensure that an example whose complete is told lease_lost reports it, and neither reserves nor charges again.
func TestExamplesLoseTheLeaseAtTheEnd(t *testing.T) {
	eachExample(t, func(t *testing.T, s *shop) {
		direct := *s
		var reserves atomic.Int32
		s.between(t, func(_ http.ResponseWriter, call, body string) string {
			switch call {
			case "/v1/keys/reserve":
				reserves.Add(1)
			case "/v1/keys/complete": // an operator gives the key back before it comes
				var found struct{ Record struct{ Version string } }
				if err := json.Unmarshal([]byte(direct.as(t, "/v1/keys/lookup", "{"+s.name("order")+"}")), &found); err != nil {
					t.Error(err)
				}
				direct.as(t, "/v1/admin/keys/resolve", fmt.Sprintf(`{%s,"to":"released","version":%q,"reason":"a test","force":true}`,
					s.name("order"), found.Record.Version))
			}
			return body
		})
		s.wantRun(t, "order", "100", "it happened, but is not recorded: lease_lost: ")
		s.wantCharged(t, 1)
		if got := reserves.Load(); got != 1 {
			t.Errorf("got %d reserves, want 1", got)
		}
	})
}

// Ensure that an example does not charge when its turn to hold was answered with 200, and the key is not held.
func TestExamplesAreNotHeld(t *testing.T) {
	eachExample(t, func(t *testing.T, s *shop) {
		s.between(t, func(_ http.ResponseWriter, _, body string) string {
			return strings.Replace(body, `"on_lapse"`, `"on_laps"`, 1) // as if it were mistyped
		})
		s.wantRun(t, "order", "100", "refused: unexpected answer")
		s.wantCharged(t, 0)
	})
}

// Ensure that an example has an answer where nobody stored a response.
func TestExamplesReplayWithoutAResponse(t *testing.T) {
	eachExample(t, func(t *testing.T, s *shop) {
		for _, c := range []struct{ key, settled, want string }{
			{"named", `"resource_id":"ch_7"`, `replayed 200 {"resource_id":"ch_7"}`},
			{"bare", `"result":"completed"`, `replayed 200 {"resource_id":null}`},
			{"declined", `"result":"failed"`, `replayed 402 {"resource_id":null}`},
			{"no body", `"response":{"status":204}`, `replayed 204`},
		} {
			token := lease(s.as(t, "/v1/keys/reserve", `{`+s.name(c.key)+`,"request":{"method":"POST","target":"/v1/charges",
				"content_type":"application/json","body":"{\"amount\":100}"}}`))
			s.as(t, "/v1/keys/complete", `{`+s.name(c.key)+`,"lease_token":"`+token+`",`+c.settled+`}`)
			if got := s.output(t, c.key, "100"); got != c.want {
				t.Errorf("%s: got %q, want %q", c.key, got, c.want)
			}
		}
		s.wantCharged(t, 0)
	})
}

// Ensure that a provider is given the same key by each example, also for a name that is not ASCII.
func TestExamplesShareTheKeyOfTheProvider(t *testing.T) {
	const want = "12d6c56ecec1" // of the SHA-256 of ["POST /v1/charges","заказ \"1\""]
	eachExample(t, func(t *testing.T, s *shop) {
		s.wantRun(t, `заказ "1"`, "100", `done 201 {"charged":100}`)
		log, err := os.ReadFile(s.charges)
		if err != nil || !strings.HasPrefix(string(log), want) || !strings.HasSuffix(string(log), " 100\n") {
			t.Errorf("got %q, %v, want a line with the key %s…", log, err, want)
		}
	})
}

// Ensure that an example which is called wrongly says how to call it, and nothing else.
func TestExamplesCalledWrongly(t *testing.T) {
	eachExample(t, func(t *testing.T, s *shop) {
		usage := regexp.MustCompile(`^usage: [^\n]* KEY AMOUNT\n$`)
		for name, cmd := range map[string]*exec.Cmd{
			"no address": s.command(t.Context(), "order", "100", "KEYS_URL="),
			"no number":  s.command(t.Context(), "order", "ten"),
			"no words":   s.command(t.Context(), "", ""),
		} {
			if name == "no words" {
				cmd.Args = cmd.Args[:len(cmd.Args)-2]
			}
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitUsage || stdout.Len() > 0 || !usage.MatchString(stderr.String()) {
				t.Errorf("%s: got %v, %q, %q, want 2 and how to call it", name, err, &stdout, &stderr)
			}
		}
		s.wantCharged(t, 0)
	})
}

// Ensure that the lines which docs/http.md has for a test suite serve it, and leave nothing behind when a test fails.
func TestPageForTestSuites(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	lines := ""
	for _, block := range blocks(pages(t)[filepath.Join("docs", "http.md")], "sh") {
		if strings.Contains(block, "--ephemeral") {
			lines += block
		}
	}
	tests := regexp.MustCompile(`(?m)^  echo "here your tests run.*$`)
	if len(tests.FindAllString(lines, -1)) != 1 {
		t.Fatalf("the page has no place for the tests:\n%s", lines)
	}
	temporary := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", tests.ReplaceAllLiteralString(lines,
		`curl -s -w '%{http_code}\n' "$KEYS_URL/v1/keys" -H "Authorization: Bearer $KEYS_TOKEN"; exit 7`))
	cmd.Env = append(os.Environ(), "PATH="+programsOfPages(t)+":"+os.Getenv("PATH"), asProgram+"=1", "TMPDIR="+temporary)
	out, err := cmd.CombinedOutput() // which ends when the service has
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(string(out), `}200`) {
		t.Errorf("got %v, want the 7 of the tests, which have a service:\n%s", err, out)
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
