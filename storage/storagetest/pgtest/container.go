package pgtest

import (
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

//go:embed container.sh
var containerScript string

const (
	// serverPort is where the server listens inside its container.
	serverPort = "5432/tcp"

	// sharedMemory is for queries that Postgres runs in parallel; the 64 MB that an engine gives are
	// little for them.
	sharedMemory = 256 << 20

	// outputLimit is for the story of a server that does not start, which is told in a few lines.
	outputLimit = 64 << 10
)

// A container is a Postgres server of ours in a container of its own.
type container struct {
	engine   engine
	id       string
	address  string // host and port, once the server accepts connections
	password string
	refusal  error // why the last attempt to connect failed
	output   *output
	ended    chan struct{} // closed when the container has ended, or has lost the stream to us
}

// newContainer makes a container and starts its server.
func (e engine) newContainer(image *docker.Image, extra []setting) (*container, error) {
	c := &container{engine: e, password: rand.Text(), output: &output{}, ended: make(chan struct{})}
	made, err := e.pool.Client.CreateContainer(c.plan(image, slices.Concat(defaults, extra)))
	if err != nil {
		return nil, fmt.Errorf("making a container of %s: %w", image.ID, err)
	}
	c.id = made.ID
	if err := c.start(made.Name); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a container: %w\n%s", err, c.output), c.remove())
	}
	return c, nil
}

// plan says what the container is: the image's own entry point, run by our script, with our settings.
func (c *container) plan(image *docker.Image, settings []setting) docker.CreateContainerOptions {
	born := time.Now()
	binding := docker.PortBinding{HostPort: ""} // any that is free
	if c.engine.isLocal() {
		binding.HostIP = "127.0.0.1" // nobody beyond this machine
	}
	return docker.CreateContainerOptions{
		Name: fmt.Sprintf("reprise-pgtest-%d-%s", born.Unix(), strings.ToLower(rand.Text())),
		Config: &docker.Config{
			Image:      image.ID,
			Entrypoint: slices.Concat([]string{"/bin/sh", "-c", containerScript, "container.sh"}, entrypoint(image)),
			Cmd:        arguments(settings),
			Env: []string{
				"POSTGRES_PASSWORD=" + c.password,
				"POSTGRES_INITDB_ARGS=--no-sync --encoding=UTF8 --locale=" + containerLocale,
				"TZ=UTC", // which initdb writes into the configuration
			},
			Labels:    map[string]string{bornLabel: strconv.FormatInt(born.Unix(), 10)},
			OpenStdin: true,
			StdinOnce: true, // its end is the end of our stream
			// A stop first asks and later kills. The first must have no effect: see start.
			StopSignal: "SIGWINCH",
		},
		HostConfig: &docker.HostConfig{
			AutoRemove:   true,
			ShmSize:      sharedMemory,
			PortBindings: map[docker.Port][]docker.PortBinding{serverPort: {binding}},
		},
	}
}

// containerLocale is locale for Linux, on which every container runs.
const containerLocale = "C.UTF-8"

func entrypoint(image *docker.Image) []string {
	if image.Config == nil {
		return nil
	}
	return image.Config.Entrypoint
}

// arguments sets the parameters on the command line of Postgres, where they beat those of its files.
func arguments(settings []setting) []string {
	var list []string
	for _, s := range settings {
		list = append(list, "-c", s.name+"="+s.value)
	}
	return list
}

// start returns when the server accepts connections.
func (c *container) start(name string) error {
	if err := c.attach(); err != nil {
		return err
	}
	if err := c.engine.pool.Client.StartContainer(c.id, nil); err != nil {
		return err
	}
	// The last resort, should the end of this process be lost on the engine: an engine that is restarted
	// and lets its containers run forgets the stream.
	if resource, ok := c.engine.pool.ContainerByName(name); ok {
		if err := resource.Expire(uint(staleAfter.Seconds())); err != nil {
			return err
		}
	}
	if err := until("postgres is ready", c.ready); err != nil {
		return errors.Join(err, c.refusal)
	}
	return nil
}

// attach opens the stream that keeps the container alive, before the container looks at it. The kernel
// closes it when this process ends, however that ends.
func (c *container) attach() error {
	silence, _ := io.Pipe()
	attached := make(chan struct{})
	stream, err := c.engine.pool.Client.AttachToContainerNonBlocking(docker.AttachToContainerOptions{
		Container:    c.id,
		InputStream:  silence,
		OutputStream: c.output,
		ErrorStream:  c.output,
		Success:      attached,
		Stream:       true,
		Stdin:        true,
		Stdout:       true,
		Stderr:       true,
	})
	if err != nil {
		return fmt.Errorf("attaching to the container: %w", err)
	}
	<-attached
	attached <- struct{}{}
	go func() {
		stream.Wait()
		close(c.ended)
	}()
	return nil
}

func (c *container) ready() (bool, error) {
	select {
	case <-c.ended:
		return false, errors.New("it ended")
	default:
	}
	if c.address == "" {
		found, err := c.engine.pool.Client.InspectContainer(c.id)
		if isGone(err) {
			return false, nil // c.ended will follow
		}
		if err != nil {
			return false, err
		}
		// Some engines publish the port a moment after the start.
		port := (&dockertest.Resource{Container: found}).GetPort(serverPort)
		if port == "" {
			return false, nil
		}
		c.address = net.JoinHostPort(c.engine.host(), port)
	}
	c.refusal = execute(c.url("postgres"))
	return c.refusal == nil, nil
}

// remove ends the server and deletes the data.
func (c *container) remove() error { return c.engine.remove(c.id) }

func (c *container) url(database string) string { return databaseURL(c.address, c.password, database) }

// output keeps the beginning of what a container says.
type output struct {
	mu   sync.Mutex
	text []byte
}

// Write takes everything, because a container whose output nobody reads comes to a halt.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := outputLimit - len(o.text)
	o.text = append(o.text, p[:min(room, len(p))]...)
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
