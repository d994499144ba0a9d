package lab

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

func newLab(t *testing.T) *Lab {
	t.Helper()
	l, err := New(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// serve starts a service on a database in the lab's folder, and gives a channel with its URL.
func serve(t *testing.T, l *Lab, more ...string) (*Service, <-chan string) {
	t.Helper()
	urls := make(chan string, 1)
	database := "sqlite:" + filepath.Join(l.Folder, "lab.db")
	cmd := l.Command(t.Context(), append([]string{"serve", "--listen", "127.0.0.1:0", "--database-url", database}, more...)...)
	s, err := Start(cmd, func(url string) { urls <- url })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill() })
	return s, urls
}

// Ensure that a service that serves takes the lab's tokens at the address that it told, and is gone when it was stopped.
func TestServiceServesAndStops(t *testing.T) {
	l := newLab(t)
	token, err := l.Token(t.Context(), "lab", "keys:admin")
	if err != nil {
		t.Fatal(err)
	}
	s, urls := serve(t, l)
	if err := s.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, <-urls+"/v1/admin/audit", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Timeout: Patience}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("audit with the lab's token: got status %d, want %d", answer.StatusCode, http.StatusOK)
	}
	if s.Ended() {
		t.Error("the service has ended before it was stopped")
	}
	if err := s.Stop(); err != nil || !s.Ended() {
		t.Errorf("stopping: got %v, ended %v, want no error and an end", err, s.Ended())
	}
	if got := s.cmd.ProcessState.ExitCode(); got != 0 {
		t.Errorf("exit code of a service that was stopped: got %d, want 0", got)
	}
}

// Ensure that a service that cannot start is an error that tells what it said.
func TestServiceThatCannotStart(t *testing.T) {
	s, urls := serve(t, newLab(t), "--log-format", "nonsense")
	if err := s.Await(t.Context()); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("awaiting: got %v, want what the service said about nonsense", err)
	}
	if len(urls) > 0 {
		t.Errorf("a service that cannot start told an address: %s", <-urls)
	}
}

// Ensure that a kill is no error, and that the second one finds a service that has ended by itself, however it is ended.
func TestServiceThatEndedByItself(t *testing.T) {
	s, _ := serve(t, newLab(t))
	if err := errors.Join(s.Await(t.Context()), s.Kill()); err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func() error{"Kill": s.Kill, "Stop": s.Stop} {
		if err := end(); err == nil || !strings.Contains(err.Error(), "ended by itself") || !strings.Contains(err.Error(), `"serving"`) {
			t.Errorf("%s of a dead service: got %v, want that it had ended by itself, with its log", name, err)
		}
	}
}

// Ensure that the program sees our settings, and none of the surroundings'.
func TestCommandIsOnItsOwn(t *testing.T) {
	t.Setenv("REPRISE_LISTEN", "nowhere")
	t.Setenv("PGHOST", "nowhere")
	t.Setenv("LAB_NEUTRAL", "kept")
	l := &Lab{Folder: t.TempDir(), binary: "none", secret: "ours"}
	cmd := l.Command(t.Context(), "serve")
	if !slices.Contains(cmd.Env, "LAB_NEUTRAL=kept") || !slices.Contains(cmd.Env, "REPRISE_AUTH_HS256_SECRET=ours") {
		t.Errorf("environment: got %q, want LAB_NEUTRAL and our secret in it", cmd.Env)
	}
	for _, variable := range cmd.Env {
		if strings.HasSuffix(variable, "=nowhere") {
			t.Errorf("environment: got %s, want none of it", variable)
		}
	}
	if cmd.Dir != l.Folder {
		t.Errorf("folder: got %s, want %s", cmd.Dir, l.Folder)
	}
}

// Ensure that nothing is left of a lab.
func TestCloseRemovesTheFolder(t *testing.T) {
	l := newLab(t)
	l.Close()
	if _, err := os.Stat(l.Folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder after Close: got %v, want %v", err, os.ErrNotExist)
	}
}

// Ensure that what a server of pgtest would end its test with is an error, in the goroutine where it happens, and that the
// server is gone afterwards.
func TestAsTestHoldsAServer(t *testing.T) {
	pgtest.NewServer(t) // skips where there is none
	l := newLab(t)
	var pid int
	err := AsTest(func(tb testing.TB) error {
		cluster, err := l.Postgres(t.Context(), tb, pgtest.Setting("cluster_name", "lab"))
		if err != nil {
			return err
		}
		elsewhere := make(chan error)
		go func() { elsewhere <- AsTest(func(testing.TB) error { cluster.Start(); return nil }) }()
		if err := <-elsewhere; err == nil || !strings.Contains(err.Error(), "runs already") {
			t.Errorf("starting a server that runs, in another goroutine: got %v, want that it runs already", err)
		}
		cluster.Stop()
		cluster.Start()
		pid = cluster.PID()
		cluster.Resume()
		return errors.New("reached")
	})
	if err == nil || !strings.Contains(err.Error(), "not paused") {
		t.Errorf("resuming a server that runs: got %v, want that it is not paused", err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the server, process %d, outlives AsTest: got %v, want %v", pid, err, syscall.ESRCH)
	}
}

// Ensure that what was started is ended in the opposite order, also when the test would have ended early.
func TestAsTestCleansUpTheLastFirst(t *testing.T) {
	var got []int
	err := AsTest(func(tb testing.TB) error {
		for n := range 3 {
			tb.Cleanup(func() { got = append(got, n) })
		}
		tb.Fatal("no ", "more")
		return nil
	})
	if err == nil || err.Error() != "no more" {
		t.Errorf("error: got %v, want no more", err)
	}
	if want := []int{2, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("order of the clean-ups: got %v, want %v", got, want)
	}
}
