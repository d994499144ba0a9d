package main

import (
	"context"
	"sync"

	"github.com/reprise-idempotency/reprise/storage/storagetest/lab"
)

// patience is for hangs alone.
const patience = lab.Patience

// service is one `reprise serve` after another, on the same database.
type service struct {
	lab         *lab.Lab
	databaseURL string
	where       *address
	more        []string // arguments

	process *lab.Service // the running one, or nil
	starts  int
}

// launch starts the service and does not wait for it. Each life has a port of its own, so that none can be missing.
func (s *service) launch() error {
	// No context: the child is ended by kill or stop, and never otherwise.
	cmd := s.lab.Command(context.Background(), append([]string{"serve", "--listen", "127.0.0.1:0",
		"--database-url", s.databaseURL, "--data-dir", s.lab.Folder}, s.more...)...)
	cmd.SysProcAttr = die()
	process, err := lab.Start(cmd, s.where.set)
	if err != nil {
		return err
	}
	s.process, s.starts = process, s.starts+1
	return nil
}

// start launches the service and waits until it serves.
func (s *service) start(ctx context.Context) error {
	if err := s.launch(); err != nil {
		return err
	}
	return s.await(ctx)
}

// await waits until a launched service serves.
func (s *service) await(ctx context.Context) error { return s.process.Await(ctx) }

// kill ends the service as a crash does.
func (s *service) kill() error { return s.end((*lab.Service).Kill) }

// stop lets the service finish what it does.
func (s *service) stop() error { return s.end((*lab.Service).Stop) }

func (s *service) end(how func(*lab.Service) error) error {
	if s.process == nil {
		return nil
	}
	err := how(s.process)
	if s.process.Ended() {
		s.process = nil
		s.where.set("")
	}
	return err
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
