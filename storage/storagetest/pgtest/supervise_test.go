package pgtest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Ensure that no server outlives its test process, running or paused, however the process ends.
func TestServersEndWithTheirProcess(t *testing.T) {
	if _, err := findPrograms(); err != nil {
		giveUp(t, err)
	}
	for name, end := range map[string]func(*exec.Cmd, io.Closer) error{
		"exit":   func(_ *exec.Cmd, stdin io.Closer) error { return stdin.Close() },
		"killed": func(child *exec.Cmd, _ io.Closer) error { return child.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child, stdin, report := startHolder(t, childHoldsClusters)
			if len(living(t, report.PIDs)) == 0 {
				t.Fatal("no server runs: nothing to look at")
			}

			if err := end(child, stdin); err != nil {
				t.Fatal(err)
			}
			child.Wait() // its error is the signal

			err := until("the servers end and their folders go", func() (bool, error) {
				for _, path := range report.Folders {
					if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
						return false, nil
					}
				}
				return len(living(t, report.PIDs)) == 0, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Ensure that the next start removes what is left when the supervisor was killed as well, and touches
// nothing that is in use.
func TestLeftoversAreRemoved(t *testing.T) {
	inUse := NewServer(t)
	leftover, err := newCluster(nil)
	if err != nil {
		t.Fatal(err)
	}
	members, err := family(leftover.postgres.pid)
	if err != nil {
		t.Fatal(err)
	}
	abandon(t, leftover)
	if len(living(t, pidsOf(members))) == 0 {
		t.Fatal("the server ended with its supervisor: nothing is left over to look at")
	}
	release(t, leftover)

	next, err := newFolder(leftover.account)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.remove(); err != nil {
		t.Fatal(err)
	}

	if alive := living(t, pidsOf(members)); len(alive) > 0 {
		t.Errorf("still alive: %v", alive)
	}
	if _, err := os.Stat(leftover.folder.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder %s: got %v, want %v", leftover.folder.path, err, os.ErrNotExist)
	}
	run(t, connect(t, inUse.URL("postgres")), "SELECT 1")
}

// abandon kills the supervisor of a cluster, as somebody in a hurry would.
func abandon(t *testing.T, c *cluster) {
	t.Helper()
	all, err := listProcesses()
	if err != nil {
		t.Fatal(err)
	}
	shells := slices.DeleteFunc(all, func(p process) bool {
		return !strings.HasPrefix(p.command, "/bin/sh") || !strings.Contains(p.command, c.folder.path)
	})
	if len(shells) != 2 {
		t.Fatalf("shells of the supervisor: got %v, want two", shells)
	}
	// Both stop before either dies: the death of one closes the pipe, on which the other would act.
	if err := errors.Join(signalAll(shells, syscall.SIGSTOP), signalAll(shells, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	if err := until("the supervisor lets go of its lock", func() (bool, error) {
		return len(living(t, pidsOf(shells))) == 0, nil
	}); err != nil {
		t.Fatal(err)
	}
}

// release gives up this process's share of the lock, as its death would.
func release(t *testing.T, c *cluster) {
	t.Helper()
	if err := c.folder.lock.Close(); err != nil {
		t.Fatal(err)
	}
}

func pidsOf(processes []process) []int {
	var pids []int
	for _, p := range processes {
		pids = append(pids, p.pid)
	}
	return pids
}

// living returns those that have not ended.
func living(t *testing.T, pids []int) []int {
	t.Helper()
	all, err := listProcesses()
	if err != nil {
		t.Fatal(err)
	}
	var alive []int
	for _, p := range all {
		if slices.Contains(pids, p.pid) && !p.zombie() {
			alive = append(alive, p.pid)
		}
	}
	return alive
}
