package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tracer is a running strace.
type tracer struct {
	cmd    *exec.Cmd
	output string
	ended  chan error
}

// errNoTrace says that this machine does not let us watch system calls.
var errNoTrace = errors.New("system calls cannot be watched here")

// watched are the system calls that write to the log of a database, flush it, or send an answer.
const watched = "trace=fdatasync,fsync,write,pwrite64,writev,pwritev,sendto,sendmsg"

// attach watches processes and their future children; it returns when all are watched.
func attach(ctx context.Context, folder string, pids ...int) (*tracer, error) {
	program, err := exec.LookPath("strace")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoTrace, err)
	}
	t := &tracer{output: filepath.Join(folder, fmt.Sprintf("strace-%d", time.Now().UnixNano())), ended: make(chan error, 1)}
	args := []string{"-f", "-y", "-ttt", "-s", "400", "-e", watched, "-e", "signal=none", "-o", t.output}
	for _, pid := range pids {
		args = append(args, "-p", strconv.Itoa(pid))
	}
	t.cmd = exec.Command(program, args...)
	t.cmd.SysProcAttr = die()
	stderr, err := t.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoTrace, err)
	}
	attached := make(chan struct{})
	go t.follow(stderr, pids, attached)
	select {
	case <-attached:
		return t, nil
	case err := <-t.ended:
		return nil, fmt.Errorf("%w: %w", errNoTrace, err)
	case <-time.After(patience):
		return nil, errors.Join(errors.New("strace does not attach"), t.cmd.Process.Kill())
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), t.cmd.Process.Kill())
	}
}

// attachedLine is what strace says for each process, our own and the children that come later.
var attachedLine = regexp.MustCompile(`Process (\d+) attached`)

// follow reads what strace says of itself, and tells when it has attached to all that it was given.
func (t *tracer) follow(stderr io.Reader, pids []int, attached chan<- struct{}) {
	missing := map[string]bool{}
	for _, pid := range pids {
		missing[strconv.Itoa(pid)] = true
	}
	lines := bufio.NewScanner(stderr)
	said := ""
	for lines.Scan() {
		said += lines.Text() + "\n"
		if m := attachedLine.FindStringSubmatch(lines.Text()); m != nil && missing[m[1]] {
			if delete(missing, m[1]); len(missing) == 0 {
				close(attached)
			}
		}
	}
	if err := t.cmd.Wait(); err != nil {
		t.ended <- fmt.Errorf("strace: %w: %s", err, said)
		return
	}
	t.ended <- nil
}

// detach lets the processes go on alone, and gives what was seen.
func (t *tracer) detach() ([]event, error) {
	if err := t.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return nil, err
	}
	select {
	case <-t.ended: // by our signal
	case <-time.After(patience):
		return nil, errors.Join(errors.New("strace does not end"), t.cmd.Process.Kill())
	}
	file, err := os.Open(t.output)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return parseTrace(file)
}

// event is one system call. Its place in the output tells the order: begun and over are lines.
type event struct {
	pid         int
	at          string // seconds since 1970
	name        string
	args        string
	begun, over int // over is 0 when it was not seen to return
}

// parseTrace reads the output of strace -f -ttt. A call that another one interrupts comes in two lines.
func parseTrace(r io.Reader) (events []event, err error) {
	open := map[int]int{} // by process: the index of the call that has not returned
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		pidText, rest, ok1 := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		at, rest, ok2 := strings.Cut(strings.TrimSpace(rest), " ")
		pid, err := strconv.Atoi(pidText)
		if !ok1 || !ok2 || err != nil {
			return nil, fmt.Errorf("line %d of the trace: %q", n, lines.Text())
		}
		if strings.HasPrefix(rest, "<... ") {
			if i, ok := open[pid]; ok {
				events[i].over = n
				delete(open, pid)
			}
			continue
		}
		name, args, ok := strings.Cut(rest, "(")
		if !ok {
			continue // a process that ended
		}
		e := event{pid: pid, at: at, name: name, args: args, begun: n, over: n}
		if strings.HasSuffix(args, "<unfinished ...>") {
			e.over = 0
			open[pid] = len(events)
		}
		events = append(events, e)
	}
	return events, lines.Err()
}
