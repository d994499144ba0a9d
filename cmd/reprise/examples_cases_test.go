package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Ensure that each example charges at the first run, and that later ones replay what it came to, be it a failure; that
// another request is told so; and that the examples take the same request for the same, in whatever language they are.
func TestExamplesChargeOnce(t *testing.T) {
	eachExample(t, func(t *testing.T, s *shop) {
		s.wantRun(t, "paid", "100", `done 201 {"charged":100}`)
		s.wantRun(t, "paid", "100", `replayed 201 {"charged":100}`)
		s.wantRun(t, "paid", "999", "refused: fingerprint_mismatch: ")
		s.wantCharged(t, 1)
		s.wantRun(t, "declined", "5000", `done 402 {"declined":5000}`)
		s.wantRun(t, "declined", "5000", `replayed 402 {"declined":5000}`)
		reference := *s
		reference.example = examples[0]
		if s.language != reference.language {
			reference.wantRun(t, "paid", "100", `replayed 201 {"charged":100}`)
		}
		s.wantCharged(t, 1)
	})
}

// Ensure that of two runs at once one charges and the other gets its result, although the charge takes far longer than the
// lease: heartbeats keep it.
func TestExamplesAtOnce(t *testing.T) {
	eachExample(t, func(t *testing.T, s *shop) {
		first := s.start(t, "order", "100", "KEYS_LEASE=1s", "CHARGE_SECONDS=4")
		s.wantRun(t, "order", "100", `replayed 201 {"charged":100}`, "KEYS_LEASE=1s")
		if err := first.Wait(); err != nil || !strings.HasPrefix(first.Stdout.(*bytes.Buffer).String(), `done 201 {"charged":100}`) {
			t.Errorf("the first run: got %v, %q", err, first.Stdout)
		}
		s.wantCharged(t, 1)
	})
}

// Ensure that a run that dies after the point of no return is not run again: it may have charged, and here it did.
func TestExamplesDie(t *testing.T) {
	eachExample(t, func(t *testing.T, s *shop) {
		first := s.start(t, "order", "100", "KEYS_LEASE=1s", "CHARGE_SECONDS=600")
		if err := first.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = first.Wait() // "signal: killed"
		s.wantRun(t, "order", "100", "refused: uncertain: ")
		s.wantCharged(t, 1)
	})
}

// Ensure that a run that surely did not charge gives the key back, so that the next one does.
func TestExamplesGiveBack(t *testing.T) {
	eachExample(t, func(t *testing.T, s *shop) {
		folder := filepath.Join(t.TempDir(), "provider")
		s.charges = filepath.Join(folder, "charges.log")
		s.wantRun(t, "order", "100", "not charged: the provider cannot be reached: ")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		s.wantRun(t, "order", "100", `done 201 {"charged":100}`)
		s.wantCharged(t, 1)
	})
}

// Ensure that each example charges once and has its result although the first answer to every call is lost, and the second
// one is that of something in between, which says when to come back.
func TestExamplesLoseAnswers(t *testing.T) {
	eachExample(t, func(t *testing.T, s *shop) {
		l := &losing{service: s.url, seen: map[string]*request{}, answered: map[string]int{}}
		between := httptest.NewServer(l)
		s.url = between.URL
		s.wantRun(t, "order", "100", `done 201 {"charged":100}`)
		s.wantRun(t, "order", "100", `replayed 201 {"charged":100}`)
		s.wantCharged(t, 1)
		between.Close() // waits for what is under way
		for _, call := range []string{"reserve", "heartbeat", "complete"} {
			if l.answered[call] == 0 {
				t.Errorf("%s was never answered", call)
			}
		}
		for _, call := range l.early {
			t.Errorf("%s was sent again before the time that its caller was told", call)
		}
	})
}

// losing stands between an example and the service. It passes on the first of equal requests and loses its answer; it
// answers the second one by itself; and from then on it only passes on.
type losing struct {
	service  string
	mu       sync.Mutex
	seen     map[string]*request // by call and body
	answered map[string]int      // by call
	early    []string            // calls that came back too early
}

type request struct {
	times int
	again time.Time // when the caller may come back
}

// comeBack is what the second one is told to wait.
const comeBack = time.Second

func (l *losing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	call := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch l.count(call, string(body)) {
	case 1:
		l.pass(r, body)
		panic(http.ErrAbortHandler) // which closes the connection
	case 2:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "<html>no upstream</html>", http.StatusServiceUnavailable)
	default:
		status, answer := l.pass(r, body)
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	}
}

// count tells for the how many-th time a request comes, and notes one that comes too early.
func (l *losing) count(call, body string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, q := time.Now(), l.seen[call+body]
	if q == nil {
		q = &request{}
		l.seen[call+body] = q
	}
	switch q.times++; q.times {
	case 2:
		q.again = now.Add(comeBack)
	case 3:
		if now.Before(q.again) {
			l.early = append(l.early, call)
		}
		l.answered[call]++
	}
	return q.times
}

// pass passes a request on.
func (l *losing) pass(r *http.Request, body []byte) (status int, answer []byte) {
	on, err := http.NewRequest(r.Method, l.service+r.URL.Path, bytes.NewReader(body)) // whoever sent it may be gone
	if err != nil {
		panic(err)
	}
	on.Header = r.Header.Clone()
	got, err := http.DefaultClient.Do(on)
	if err != nil {
		panic(err)
	}
	defer got.Body.Close()
	if answer, err = io.ReadAll(got.Body); err != nil {
		panic(err)
	}
	return got.StatusCode, answer
}

// Ensure that what docs/http.md shows of each example is what the example is.
func TestExcerptsOfExamples(t *testing.T) {
	page := pages(t)[filepath.Join("docs", "http.md")]
	for _, e := range examples {
		program, err := os.ReadFile(filepath.Join(root, "docs", e.file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, "]("+e.file+")") {
			t.Errorf("the page does not lead to %s", e.file)
		}
		shown := blocks(page, e.language)
		if len(shown) == 0 {
			t.Errorf("the page shows nothing of %s", e.file)
		}
		for _, block := range shown {
			if !strings.Contains(string(program), "\n"+block) {
				t.Errorf("%s does not have what the page shows of it:\n%s", e.file, block)
			}
		}
	}
}
