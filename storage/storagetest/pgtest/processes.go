package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// process is a line of ps, which Linux and macOS both have.
type process struct {
	pid, parent int
	state       string // "S", "T" for stopped, "Z" for ended but not yet collected, and more
	command     string // with arguments
}

func (p process) stopped() bool { return strings.HasPrefix(p.state, "T") }
func (p process) zombie() bool  { return strings.HasPrefix(p.state, "Z") }

func listProcesses() ([]process, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-A", "-ww",
		"-o", "pid=", "-o", "ppid=", "-o", "stat=", "-o", "args=").Output()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var list []process
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		parent, err2 := strconv.Atoi(fields[1])
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("listing processes: %w", err)
		}
		list = append(list, process{pid, parent, fields[2], strings.Join(fields[3:], " ")})
	}
	return list, nil
}

// family is a server's first process and its children, which do all the work. Every process of a
// Postgres server is a child of the first.
func family(pid int) ([]process, error) {
	all, err := listProcesses()
	if err != nil {
		return nil, err
	}
	var members []process
	for _, p := range all {
		if (p.pid == pid || p.parent == pid) && !p.zombie() {
			members = append(members, p)
		}
	}
	return members, nil
}

// signalAll does not mind that some of them are gone by now.
func signalAll(targets []process, s syscall.Signal) error {
	for _, target := range targets {
		if err := syscall.Kill(target.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("sending %v to process %d: %w", s, target.pid, err)
		}
	}
	return nil
}

// endOrphans ends the programs that run in a folder whose supervisor was killed. They are recognised by
// the folder among their arguments, never by a remembered process id, which may be another's by now.
func endOrphans(path string) error {
	return until("orphans in "+path+" end", func() (bool, error) {
		all, err := listProcesses()
		if err != nil {
			return false, err
		}
		var orphans []process
		for _, p := range all {
			if strings.Contains(p.command, path+"/") && !p.zombie() {
				orphans = append(orphans, p)
			}
		}
		for _, orphan := range orphans {
			if err := endFamily(orphan); err != nil {
				return false, err
			}
		}
		return len(orphans) == 0, nil
	})
}

// endFamily asks a server to end at once. It ends its children itself and gives its shared memory back,
// for which all of them must be awake.
func endFamily(first process) error {
	members, err := family(first.pid)
	if err != nil {
		return err
	}
	return errors.Join(signalAll([]process{first}, syscall.SIGQUIT), signalAll(members, syscall.SIGCONT))
}
