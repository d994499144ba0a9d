package pgtest

import (
	"sync"
	"syscall"
	"testing"
)

// Server is a Postgres server that belongs to one test, for tests of what happens when it goes away.
//
// Every method returns when what it says has become true, and fails the test if it does not, or if it
// makes no sense in the present state, such as Start on a running server. Call them where tb.Fatal may
// be called: in the test's own goroutine.
type Server struct {
	tb testing.TB

	mu      sync.Mutex
	cluster *cluster
	paused  bool
}

// Option changes a server that is about to be made.
type Option func(*[]setting)

// Setting sets a parameter of postgresql.conf, such as "fsync" or "log_statement". It beats the defaults
// of this package.
func Setting(name, value string) Option {
	return func(settings *[]setting) { *settings = append(*settings, setting{name, value}) }
}

// NewServer starts a server that is stopped and removed when the test ends. It takes about a second. It
// runs the programs of this machine, wherever [URL] takes its server from.
func NewServer(tb testing.TB, options ...Option) *Server {
	tb.Helper()
	var settings []setting
	for _, option := range options {
		option(&settings)
	}
	c, err := newCluster(settings)
	if err != nil {
		giveUp(tb, insist(choosePrograms, err))
	}
	s := &Server{tb: tb, cluster: c}
	tb.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := c.remove(); err != nil {
			tb.Errorf("pgtest: removing the server: %v", err)
		}
	})
	return s
}

// URL returns the connection URL of a database, which stays the same when the server is restarted. The
// database "postgres" exists from the start.
func (s *Server) URL(database string) string { return s.cluster.url(database) }

// PID returns the process id of the running server's first process, the parent of all others.
func (s *Server) PID() int {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustRun("PID")
	return s.cluster.postgres.pid
}

// Log returns everything that the server has written to its log, over all starts.
func (s *Server) Log() string { return s.cluster.log() }

// Stop shuts the server down in the fast mode: open transactions are rolled back, clients disconnected
// and data written out.
func (s *Server) Stop() {
	s.tb.Helper()
	s.stop("Stop", syscall.SIGINT)
}

// StopImmediate aborts the server without writing anything out, as a crash of the server would. The next
// Start recovers from the write-ahead log.
func (s *Server) StopImmediate() {
	s.tb.Helper()
	s.stop("StopImmediate", syscall.SIGQUIT)
}

// Start starts a stopped server at the same address, and returns when it accepts connections.
func (s *Server) Start() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster.postgres != nil {
		s.tb.Fatal("pgtest: Start: the server runs already")
	}
	if err := s.cluster.start(); err != nil {
		s.tb.Fatalf("pgtest: %v", err)
	}
}

// Pause freezes all processes of the server, as an overloaded or partitioned machine would: connections
// stay open and new ones are accepted by the kernel, but nothing answers.
func (s *Server) Pause() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustRun("Pause")
	if err := s.cluster.pause(); err != nil {
		s.tb.Fatalf("pgtest: Pause: %v", err)
	}
	s.paused = true
}

// Resume lets a paused server go on where it was.
func (s *Server) Resume() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.paused {
		s.tb.Fatal("pgtest: Resume: the server is not paused")
	}
	if err := s.cluster.resume(); err != nil {
		s.tb.Fatalf("pgtest: Resume: %v", err)
	}
	s.paused = false
}

func (s *Server) stop(method string, signal syscall.Signal) {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustRun(method)
	if err := s.cluster.stop(signal); err != nil {
		s.tb.Fatalf("pgtest: %s: %v", method, err)
	}
}

// mustRun needs s.mu.
func (s *Server) mustRun(method string) {
	s.tb.Helper()
	switch {
	case s.cluster.postgres == nil:
		s.tb.Fatalf("pgtest: %s: the server is stopped", method)
	case s.paused:
		s.tb.Fatalf("pgtest: %s: the server is paused", method)
	}
}
