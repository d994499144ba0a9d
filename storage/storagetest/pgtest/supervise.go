package pgtest

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed supervise.sh
var superviseScript string

const (
	// patience is for hangs alone: nothing here takes a tenth of it on a busy machine. It is well below
	// the ten minutes of go test, so that the message names what hung.
	patience = time.Minute

	// pollEvery is the pause between two looks at a condition that announces itself to nobody.
	pollEvery = 5 * time.Millisecond
)

// supervised is a program that ends with this process, even if that is killed.
type supervised struct {
	pid    int           // of the program, not of the shell that watches it
	exited chan struct{} // closed when the program has ended
	err    error         // how it ended; to be read after exited is closed
}

// supervise starts a program in the folder. When this process dies, the program is stopped and the
// folder removed.
func supervise(f *folder, as account, log *os.File, program ...string) (*supervised, error) {
	script := f.join("supervise.sh")
	if err := os.WriteFile(script, []byte(superviseScript), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", slices.Concat([]string{script, f.path}, program)...)
	cmd.Dir = f.path // the account may not be allowed into ours
	cmd.Env = environment()
	cmd.Stderr = log // never ours: go test waits for everybody who holds that
	cmd.ExtraFiles = []*os.File{f.lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: as.credential,
		Setsid:     true, // Ctrl-C is for the test process; the supervisor learns of it by the pipe
	}
	if _, err := cmd.StdinPipe(); err != nil { // closed by cmd.Wait, or by the end of this process
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a shell as user %d in %s: %w", as.uid, f.path, err)
	}
	pid, err := readPID(stdout)
	if err != nil {
		return nil, errors.Join(err, cmd.Wait())
	}
	p := &supervised{pid: pid, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

func readPID(r io.Reader) (int, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("reading the process id from the supervisor: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(line))
}

// environment is ours, without what would steer Postgres behind our back, and with what makes it the
// same everywhere.
func environment() []string {
	inherited := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "PG")
	})
	return append(inherited, "LC_ALL=C", "TZ=UTC")
}

func (p *supervised) signal(s syscall.Signal) error {
	if p.hasExited() {
		return os.ErrProcessDone
	}
	return syscall.Kill(p.pid, s)
}

func (p *supervised) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// wait returns when the program has ended, with an error only if it does not.
func (p *supervised) wait() error {
	select {
	case <-p.exited:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("process %d still runs after %v", p.pid, patience)
	}
}

// until polls a condition. It returns the condition's error, or one of its own after a hang.
func until(what string, holds func() (bool, error)) error {
	deadline := time.Now().Add(patience)
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v in vain: %s", patience, what)
		}
		time.Sleep(pollEvery)
	}
}
