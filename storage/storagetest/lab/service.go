package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// Patience is for hangs alone: nothing that waits so long takes a tenth of it on a busy machine.
const Patience = 30 * time.Second

// Service is one life of `reprise serve`, as a process.
type Service struct {
	cmd     *exec.Cmd
	serving chan struct{} // closed when it serves
	ended   chan struct{} // closed when it is gone
	tail    tail          // what it said last
}

// Start starts a service and does not wait for it. The command is one of [Lab.Command] that serves; its log is read until
// it is gone. Where the service is, it says when it serves: use is called with that URL once, from another goroutine, and
// neither after [Service.Await] has returned nil nor after the end.
func Start(cmd *exec.Cmd, use func(url string)) (*Service, error) {
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	s := &Service{cmd: cmd, serving: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.follow(log, use)
		_ = cmd.Wait() // how it ended is known: by our signal, or told by its log
	}()
	return s, nil
}

// follow reads the log until the process is gone.
func (s *Service) follow(log io.Reader, use func(url string)) {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		s.tail.add(line)
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
			use("http://" + entry.Address)
			close(s.serving)
		}
	}
}

// PID is the process id.
func (s *Service) PID() int { return s.cmd.Process.Pid }

// Await waits until the service serves. It is an error when it ends before, or lets us wait for longer than [Patience].
func (s *Service) Await(ctx context.Context) error {
	select {
	case <-s.serving:
		return nil
	case <-s.ended:
		return fmt.Errorf("the service ended at its start:\n%s", s.tail.String())
	case <-time.After(Patience):
		return fmt.Errorf("the service does not serve after %v:\n%s", Patience, s.tail.String())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Ended says whether the process is gone.
func (s *Service) Ended() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// Kill ends the service as a crash does, and waits until it is gone. It is an error if it had ended by itself.
func (s *Service) Kill() error { return s.end(syscall.SIGKILL) }

// Stop lets the service finish what it does, and waits until it is gone. One that does not end in time is killed, and one
// that had ended by itself is an error.
func (s *Service) Stop() error {
	err := s.end(syscall.SIGTERM)
	if !s.Ended() {
		err = errors.Join(err, s.Kill())
	}
	return err
}

func (s *Service) end(signal syscall.Signal) error {
	if err := s.cmd.Process.Signal(signal); err != nil {
		select {
		case <-s.ended: // by itself, which is a fault
			return fmt.Errorf("the service had ended by itself:\n%s", s.tail.String())
		case <-time.After(Patience):
			return fmt.Errorf("sending %v to the service: %w", signal, err)
		}
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(Patience):
		return fmt.Errorf("the service did not end %v after %v", Patience, signal)
	}
}
