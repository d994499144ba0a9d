package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// The image whose server a container runs: the oldest version that the product supports, because what
// works there works in all newer ones.
const (
	imageRepository = "postgres"
	imageTag        = "15"
)

const (
	// enginePatience bounds the question whether an engine is there. One on this machine answers within
	// milliseconds, and where there is none no test process should wait for long.
	enginePatience = 500 * time.Millisecond

	// pullPatience bounds a pull. The image has some 150 MB; the rest of go test's ten minutes is for the
	// tests.
	pullPatience = 5 * time.Minute
)

// engine is a Docker engine that answers.
type engine struct {
	pool *dockertest.Pool
	at   *url.URL // where it listens
}

// openDocker starts a server in a container that nobody stops: its script does, when this process ends.
func openDocker() (string, error) {
	e, err := findEngine()
	if err != nil {
		return "", err
	}
	if err := e.removeLeftovers(); err != nil {
		return "", err
	}
	image, err := e.findImage(imageRepository, imageTag)
	if err != nil {
		return "", err
	}
	c, err := e.newContainer(image, nil)
	if err != nil {
		return "", err
	}
	return c.url("postgres"), nil
}

// findEngine returns the engine that DOCKER_HOST names, else the one at the usual place, or errAbsent if
// none answers.
func findEngine() (engine, error) {
	pool, err := dockertest.NewPool("")
	if err != nil {
		// Not errAbsent: what makes this fail is a mistake in the variables of Docker.
		return engine{}, fmt.Errorf("DOCKER_HOST: %w", err)
	}
	at, err := url.Parse(pool.Client.Endpoint())
	if err != nil {
		return engine{}, fmt.Errorf("DOCKER_HOST: %w", err)
	}
	limit := enginePatience
	if isChosen(chooseDocker) {
		limit = patience // there is one, so they say: a slow answer is an answer
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := pool.Client.PingWithContext(ctx); err != nil {
		return engine{}, fmt.Errorf("%w: no engine answers at %s: %v", errAbsent, at, err)
	}
	return engine{pool: pool, at: at}, nil
}

// findImage returns an image, which is pulled if the engine does not have it, or errAbsent if it cannot
// be pulled either.
func (e engine) findImage(repository, tag string) (*docker.Image, error) {
	name := repository + ":" + tag
	image, err := e.pool.Client.InspectImage(name)
	if !errors.Is(err, docker.ErrNoSuchImage) {
		return image, err
	}
	fmt.Fprintf(os.Stderr, "pgtest: pulling %s\n", name)
	ctx, cancel := context.WithTimeout(context.Background(), pullPatience)
	defer cancel()
	err = e.pool.Client.PullImage(docker.PullImageOptions{
		Repository:        repository,
		Tag:               tag,
		InactivityTimeout: patience,
		Context:           ctx,
	}, docker.AuthConfiguration{})
	if err != nil {
		return nil, fmt.Errorf("%w: the engine has no image %s and cannot pull it: %v", errAbsent, name, err)
	}
	return e.pool.Client.InspectImage(name)
}

// isLocal says whether the engine's ports are reached at the loopback.
func (e engine) isLocal() bool { return e.at.Scheme == "unix" }

// host is where the published ports of the engine's containers are reached.
func (e engine) host() string {
	if e.isLocal() {
		return "127.0.0.1"
	}
	return e.at.Hostname()
}

// remove ends a container and deletes its data.
func (e engine) remove(id string) error {
	err := e.pool.Client.RemoveContainer(docker.RemoveContainerOptions{ID: id, Force: true, RemoveVolumes: true})
	if isGone(err) {
		return nil
	}
	return err
}

// isGone recognises the answer that a container does not exist, or that it is being removed already.
func isGone(err error) bool {
	var none *docker.NoSuchContainer
	var refusal *docker.Error
	const conflict = 409
	return errors.As(err, &none) || errors.As(err, &refusal) && refusal.Status == conflict
}
