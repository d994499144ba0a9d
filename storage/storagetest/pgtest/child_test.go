package pgtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Some promises are about a whole test process: how it ends, what its machine offers. For those the
// tests run this test binary again, as a child that childVariable turns into one of these.
const (
	childVariable = "PGTEST_CHILD"
	childWithout  = "programs" // runs tests as on a machine without the programs of Postgres

	// These start servers, report them and wait for the end of their input.
	childHoldsClusters  = "holds clusters"
	childHoldsContainer = "holds a container"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case childHoldsClusters:
		hold(startClusters())
	case childHoldsContainer:
		hold(startContainer())
	case childWithout:
		os.Setenv("PATH", "")
		usualFolders = nil
	}
	os.Exit(m.Run())
}

// held is what a child that holds servers reports.
type held struct {
	Folders   []string
	PIDs      []int
	Container string
}

// hold cleans up nothing.
func hold(report held) {
	exitOn(json.NewEncoder(os.Stdout).Encode(report))
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// startClusters starts one cluster that runs and one that is paused.
func startClusters() (report held) {
	for _, paused := range []bool{false, true} {
		c, err := newCluster(nil)
		exitOn(err)
		if paused {
			exitOn(c.pause())
		}
		members, err := family(c.postgres.pid)
		exitOn(err)
		report.Folders = append(report.Folders, c.folder.path)
		for _, member := range members {
			report.PIDs = append(report.PIDs, member.pid)
		}
	}
	return report
}

func startContainer() held {
	e, err := findEngine()
	exitOn(err)
	image, err := e.findImage(imageRepository, imageTag)
	exitOn(err)
	c, err := e.newContainer(image, nil)
	exitOn(err)
	return held{Container: c.id}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// startHolder starts a child that holds servers, and returns it with its input and its report.
func startHolder(t *testing.T, kind string) (*exec.Cmd, io.Closer, held) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+kind)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Process.Kill() })

	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("reading the child's report: %v", err)
	}
	var report held
	if err := json.Unmarshal(line, &report); err != nil {
		t.Fatal(err)
	}
	return child, stdin, report
}

// runWithout runs tests in a child that finds neither programs nor a Docker engine, and returns its output
// and exit code.
func runWithout(t *testing.T, test string, environment ...string) (string, int) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	child.Env = append(os.Environ(), childVariable+"="+childWithout,
		DatabaseURLVariable+"=", ProgramsVariable+"=", RequireVariable+"=", ChoiceVariable+"=",
		"DOCKER_HOST=unix://"+filepath.Join(t.TempDir(), "none"))
	child.Env = append(child.Env, environment...)
	out, err := child.CombinedOutput()
	if child.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), child.ProcessState.ExitCode()
}
