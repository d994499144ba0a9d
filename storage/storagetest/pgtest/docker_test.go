package pgtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ory/dockertest/v3/docker"
)

// requireDockerVariable makes the tests of the Docker engine fail where none is there.
const requireDockerVariable = "REPRISE_REQUIRE_DOCKER"

// announceNoDocker tells it on standard error too, because go test shows the reason of a skip only with -v.
var announceNoDocker = sync.OnceFunc(func() {
	fmt.Fprintln(os.Stderr, "pgtest: SKIPPING THE TESTS OF THE DOCKER ENGINE")
})

// dockerHere returns the engine of this machine and the image of Postgres, or skips the test.
func dockerHere(t *testing.T) (engine, *docker.Image) {
	t.Helper()
	if choice := os.Getenv(ChoiceVariable); choice != "" && !isChosen(chooseDocker) && !isSet(requireDockerVariable) {
		announceNoDocker()
		t.Skipf("pgtest: %s=%s: no container is wanted", ChoiceVariable, choice)
	}
	e, err := findEngine()
	var image *docker.Image
	if err == nil {
		image, err = e.findImage(imageRepository, imageTag)
	}
	switch {
	case err == nil:
	case !errors.Is(err, errAbsent):
		t.Fatal(err)
	case isSet(requireDockerVariable):
		t.Fatalf("pgtest: %s is set, but: %v", requireDockerVariable, err)
	default:
		announceNoDocker()
		t.Skipf("pgtest: no Docker engine for this test, which needs one that has or can pull %s:%s: %v",
			imageRepository, imageTag, err)
	}
	return e, image
}

// Ensure that an engine is enough for URL, and that its server has the settings of the others.
func TestDockerIsEnough(t *testing.T) {
	dockerHere(t)
	const tests = "TestSchemasAreIsolated|TestSchemaIsDroppedAtTheEnd|TestSharedServerSettings"
	for name, choice := range map[string]string{"chosen": chooseDocker, "found": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, code := runWithout(t, "("+tests+")", RequireVariable+"=1",
				ChoiceVariable+"="+choice, "DOCKER_HOST="+os.Getenv("DOCKER_HOST"))
			passed := code == 0
			for test := range strings.SplitSeq(tests, "|") {
				passed = passed && strings.Contains(out, "--- PASS: "+test) // not a skip
			}
			if !passed {
				t.Errorf("got exit code %d, want 0 and %s to pass:\n%s", code, tests, out)
			}
		})
	}
}

// Ensure that an engine comes before the programs.
func TestDockerComesBeforePrograms(t *testing.T) {
	dockerHere(t)
	for _, variable := range []string{DatabaseURLVariable, ChoiceVariable} {
		t.Setenv(variable, "")
	}
	database, err := openShared()
	if err != nil {
		t.Fatal(err)
	}
	ours := filepath.Join(os.TempDir(), "reprise-pgtest-")
	if got := query[string](t, connect(t, database), "SHOW data_directory"); strings.HasPrefix(got, ours) {
		t.Errorf("the server has its data in %s: it runs in no container", got)
	}
}

// Ensure that no container outlives its test process, nor its data, however the process ends.
func TestContainersEndWithTheirProcess(t *testing.T) {
	e, _ := dockerHere(t)
	for name, end := range map[string]func(*exec.Cmd, io.Closer) error{
		"exit":   func(_ *exec.Cmd, stdin io.Closer) error { return stdin.Close() },
		"killed": func(child *exec.Cmd, _ io.Closer) error { return child.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child, stdin, report := startHolder(t, childHoldsContainer)
			running, err := e.pool.Client.InspectContainer(report.Container)
			if err != nil {
				t.Fatal(err)
			}
			if !running.State.Running {
				t.Fatalf("the container is %s: nothing to look at", running.State.Status)
			}

			if err := end(child, stdin); err != nil {
				t.Fatal(err)
			}
			child.Wait() // its error is the signal

			if err := until("the container and its volumes go", func() (bool, error) {
				return !exists(t, e, report.Container) && !anyVolumeExists(t, e, running.Mounts), nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Ensure that the next start removes what is left when an end came at a bad moment, and touches nothing
// that is in use or of others.
func TestLeftoverContainersAreRemoved(t *testing.T) {
	e, image := dockerHere(t)
	long, ancient := time.Now().Add(-2*patience), time.Now().Add(-staleAfter-time.Hour)
	cases := []struct {
		name    string
		label   string
		started bool
		stays   bool
	}{
		{"never started", unixSeconds(long), false, false},
		{"about to be started", unixSeconds(time.Now()), false, true},
		{"running for an age", unixSeconds(ancient), true, false},
		{"running", unixSeconds(long), true, true},
		{"of somebody else", "", false, true},
		{"of somebody else with such a label", "theirs", false, true},
	}
	made := make([]*docker.Container, len(cases))
	for i, test := range cases {
		made[i] = makeBystander(t, e, image, test.label, test.started)
	}

	if err := e.removeLeftovers(); err != nil {
		t.Fatal(err)
	}

	for i, test := range cases {
		if got := exists(t, e, made[i].ID); got != test.stays {
			t.Errorf("a container %s exists: got %v, want %v", test.name, got, test.stays)
		}
		if got := anyVolumeExists(t, e, made[i].Mounts); got && !test.stays {
			t.Errorf("a container %s left a volume behind", test.name)
		}
	}
}

// Ensure that an image which is neither there nor to be had makes the engine count as absent.
func TestImageThatCannotBePulled(t *testing.T) {
	e, _ := dockerHere(t)
	const nowhere = "127.0.0.1:1/nobody/nothing" // a registry at a port where nobody listens
	_, err := e.findImage(nowhere, "1")
	if !errors.Is(err, errAbsent) || !strings.Contains(err.Error(), nowhere+":1") {
		t.Errorf("got %v, want an absence that names the image", err)
	}
}

// Ensure that a server which does not start is a failure with the server's own words.
func TestContainerThatDoesNotStart(t *testing.T) {
	e, image := dockerHere(t)
	c, err := e.newContainer(image, []setting{{"no_such_setting", "1"}})
	if err == nil {
		c.remove()
	}
	if err == nil || errors.Is(err, errAbsent) || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("got %v, want an error that names the setting", err)
	}
	if err != nil && !strings.Contains(err.Error(), "it ended") {
		t.Errorf("got %v, which is not about the end of the container: was it waited for in vain?", err)
	}
}

// Ensure that a place where no engine answers counts as absent: nobody listens, or somebody who is silent.
func TestNoEngineIsAbsence(t *testing.T) {
	silent := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", silent)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Setenv(ChoiceVariable, "")
	for _, place := range []string{"unix://" + filepath.Join(t.TempDir(), "none"), "unix://" + silent, "tcp://127.0.0.1:1"} {
		t.Setenv("DOCKER_HOST", place)
		if _, err := findEngine(); !errors.Is(err, errAbsent) {
			t.Errorf("%s: got %v, want an absence", place, err)
		}
	}
}

// Ensure that what we say of an engine's place is where its ports are.
func TestHostOfEngine(t *testing.T) {
	for endpoint, want := range map[string]string{
		"unix:///var/run/docker.sock": "127.0.0.1",
		"tcp://engine.internal:2375":  "engine.internal",
		"https://[::1]:2376":          "::1",
	} {
		at, err := url.Parse(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		if got := (engine{at: at}).host(); got != want {
			t.Errorf("%s: got %s, want %s", endpoint, got, want)
		}
	}
}

func unixSeconds(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// makeBystander makes a container that waits, with a label of ours or, if that is empty, without.
func makeBystander(t *testing.T, e engine, image *docker.Image, label string, started bool) *docker.Container {
	t.Helper()
	config := &docker.Config{Image: image.ID, Entrypoint: []string{"/bin/sh", "-c", "read -r _"}, OpenStdin: true}
	if label != "" {
		config.Labels = map[string]string{bornLabel: label}
	}
	made, err := e.pool.Client.CreateContainer(docker.CreateContainerOptions{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.remove(made.ID); err != nil {
			t.Error(err)
		}
	})
	if started {
		if err := e.pool.Client.StartContainer(made.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
	found, err := e.pool.Client.InspectContainer(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func exists(t *testing.T, e engine, container string) bool {
	t.Helper()
	_, err := e.pool.Client.InspectContainer(container)
	if err != nil && !isGone(err) {
		t.Fatal(err)
	}
	return err == nil
}

func anyVolumeExists(t *testing.T, e engine, mounts []docker.Mount) bool {
	t.Helper()
	for _, mount := range mounts {
		_, err := e.pool.Client.InspectVolume(mount.Name)
		if err == nil {
			return true
		}
		if !errors.Is(err, docker.ErrNoSuchVolume) {
			t.Fatal(err)
		}
	}
	return false
}
