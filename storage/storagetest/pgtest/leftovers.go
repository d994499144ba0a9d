package pgtest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/ory/dockertest/v3/docker"
)

// bornLabel marks our containers. Its value is the time of birth in Unix seconds by this machine's clock.
const bornLabel = "reprise.pgtest.born"

// removeLeftovers removes the containers that nobody needs any more.
//
// A container that runs has an owner, or else it would have ended. What can be left over is one whose
// owner was killed before the start, or whose engine was killed before the removal; and one that runs on
// after its engine was restarted, which only its age betrays.
func (e engine) removeLeftovers() error {
	ours, err := e.pool.Client.ListContainers(docker.ListContainersOptions{
		All:     true,
		Filters: map[string][]string{"label": {bornLabel}},
	})
	if err != nil {
		return fmt.Errorf("listing containers: %w", err)
	}
	for _, c := range ours {
		if !isLeftover(c.State, c.Labels[bornLabel], time.Now()) {
			continue
		}
		if err := e.remove(c.ID); err != nil {
			return fmt.Errorf("removing the leftover container %s: %w", c.ID, err)
		}
	}
	return nil
}

// isLeftover judges a container by its state, in the words of the engine, and by its label.
func isLeftover(state, label string, now time.Time) bool {
	born, err := strconv.ParseInt(label, 10, 64)
	if err != nil {
		return false // somebody else's
	}
	age := now.Sub(time.Unix(born, 0))
	switch state {
	case "created", "exited", "dead":
		return age > patience // its owner may be about to start it
	default:
		return age > staleAfter
	}
}
