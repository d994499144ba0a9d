package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience is for hangs alone: nothing here takes a tenth of it on a busy machine.
const patience = 30 * time.Second

// service is one `reprise serve` after another, on the same database.
type service struct {
	lab         *lab
	databaseURL string
	where       *address
	more        []string // arguments

	process *process // the running one, or nil
	starts  int
}

// process is one life of the service.
type process struct {
	cmd       *exec.Cmd
	listening chan struct{} // closed when it serves
	ended     chan struct{} // closed when it is gone
	tail      tail          // what it said last
}

// launch starts the service and does not wait for it. Each life has a port of its own, so that none can be missing.
func (s *service) launch() error {
	// No context: the child is ended by kill or stop, and never otherwise.
	cmd := s.lab.command(context.Background(), append([]string{"serve", "--listen", "127.0.0.1:0",
		"--database-url", s.databaseURL, "--data-dir", s.lab.folder}, s.more...)...)
	cmd.SysProcAttr = die()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the service: %w", err)
	}
	p := &process{cmd: cmd, listening: make(chan struct{}), ended: make(chan struct{})}
	s.process, s.starts = p, s.starts+1
	go func() {
		defer close(p.ended)
		p.follow(stderr, s.where)
		_ = cmd.Wait() // how it ended is known: by our signal, or told by its log
	}()
	return nil
}

// follow reads the log until the process is gone.
func (p *process) follow(log io.Reader, where *address) {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		p.tail.add(line)
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
			where.set("http://" + entry.Address)
			close(p.listening)
		}
	}
}

// start launches the service and waits until it serves.
func (s *service) start(ctx context.Context) error {
	if err := s.launch(); err != nil {
		return err
	}
	return s.await(ctx)
}

// await waits until a launched service serves.
func (s *service) await(ctx context.Context) error {
	select {
	case <-s.process.listening:
		return nil
	case <-s.process.ended:
		return fmt.Errorf("the service ended at its start:\n%s", s.process.tail.String())
	case <-time.After(patience):
		return fmt.Errorf("the service does not serve after %v:\n%s", patience, s.process.tail.String())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// kill ends the service as a crash does.
func (s *service) kill() error { return s.end(syscall.SIGKILL) }

// stop lets the service finish what it does.
func (s *service) stop() error {
	if s.process == nil {
		return nil
	}
	return errors.Join(s.end(syscall.SIGTERM), s.kill())
}

func (s *service) end(signal syscall.Signal) error {
	p := s.process
	if p == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(signal); err != nil {
		select {
		case <-p.ended: // by itself, which is a fault
			s.process = nil
			s.where.set("")
			return fmt.Errorf("the service had ended by itself:\n%s", p.tail.String())
		case <-time.After(patience):
			return fmt.Errorf("sending %v to the service: %w", signal, err)
		}
	}
	select {
	case <-p.ended:
		s.process = nil
		s.where.set("")
		return nil
	case <-time.After(patience):
		return fmt.Errorf("the service did not end %v after %v", patience, signal)
	}
}

// address is where the service is at the moment.
type address struct {
	mu      sync.Mutex
	url     string // empty: nowhere
	changed chan struct{}
}

func newAddress() *address { return &address{changed: make(chan struct{})} }

func (a *address) set(url string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.url = url
	close(a.changed)
	a.changed = make(chan struct{})
}

// get waits for an address; it gives none when ctx ends first.
func (a *address) get(ctx context.Context) string {
	for {
		a.mu.Lock()
		url, changed := a.url, a.changed
		a.mu.Unlock()
		if url != "" {
			return url
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ""
		}
	}
}

// tail keeps the last lines of a log, for a report of what went wrong.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	const most = 20
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	t.lines = t.lines[max(0, len(t.lines)-most):]
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "")
}
