package main

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/reprise-idempotency/reprise/client/wire"
)

// names are those that callers work on: a few that all of them fight for, and the many that were used before.
type names struct {
	mu   sync.Mutex
	made int
	hot  []wire.Name
	past []wire.Name
}

// rivalled is how many names all callers fight for. Fewer than callers, so that several meet on each.
const rivalled = 12

func newNames() *names {
	n := &names{}
	for range rivalled {
		n.hot = append(n.hot, n.make())
	}
	return n
}

// fresh makes a name that nobody used.
func (n *names) fresh() wire.Name {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.make()
}

func (n *names) make() wire.Name {
	n.made++
	name := wire.Name{Operation: "POST /v1/orders", Key: fmt.Sprintf("key-%d", n.made)}
	switch n.made % 5 { // names that only careful code keeps apart
	case 0:
		name.Subject = "ы"
	case 1:
		name.Subject = fmt.Sprintf("customer-%d", n.made%7)
	case 2:
		name.Key = fmt.Sprintf("a/b%%2F%d ", n.made)
	}
	n.past = append(n.past, name)
	return name
}

// rival gives one of the names that others work on too.
func (n *names) rival(rng *rand.Rand) wire.Name {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hot[rng.IntN(len(n.hot))]
}

// earlier gives a name that somebody used, more often a late one.
func (n *names) earlier(rng *rand.Rand) wire.Name {
	n.mu.Lock()
	defer n.mu.Unlock()
	most := len(n.past)
	if rng.IntN(2) == 0 {
		most = min(most, 50)
	}
	return n.past[len(n.past)-1-rng.IntN(most)]
}

// spent replaces a name that is settled, after a while, so that there is always something left to fight for.
func (n *names) spent(name wire.Name, rng *rand.Rand) {
	if rng.IntN(3) > 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, hot := range n.hot {
		if hot == name {
			n.hot[i] = n.make()
		}
	}
}

// fingerprintOf is what callers agree that the request of a name is.
func fingerprintOf(name wire.Name) string { return fmt.Sprintf("fp-%x", name.Key) }
