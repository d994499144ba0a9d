package postgres_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/storage/storagetest/faultproxy"
)

// The variables that make the run longer, and repeat one.
const (
	cutsVariable     = "REPRISE_CUTS"      // how many cuts; usualCuts when it is not set
	cutsSeedVariable = "REPRISE_CUTS_SEED" // what the offsets and the choice come from; printed by every run
)

const (
	usualCuts = 1000
	usualSeed = 1 // so that two runs of the tests do the same; a longer run has another one each time

	// cutters work at the same time, each with a schema, a proxy and a store of its own: most of the time goes by while a
	// server process begins or ends.
	cutters = 4

	// manyFailures is when there is no more to learn.
	manyFailures = 10
)

// Ensure that a connection to the database may be cut before, inside and after every message of every call, in either
// direction: the answer is right, or says that nothing was changed, or that nobody knows; the repeated call puts all
// right, with nothing granted or written twice; and the pool has no broken connection.
func TestCutsAtEveryMessage(t *testing.T) {
	cuts, seed := atoi(t, cutsVariable, usualCuts), usualSeed
	if cuts != usualCuts {
		seed = int(time.Now().UnixNano() % 1e9)
	}
	seed = atoi(t, cutsSeedVariable, seed)
	t.Logf("%s=%d %s=%d", cutsVariable, cuts, cutsSeedVariable, seed)
	every := newCutLab(t, rand.New(rand.NewPCG(uint64(seed), cutters))).everyCut()
	all := tally{}
	var together sync.Mutex
	t.Run("cuts", func(t *testing.T) {
		for first := range cutters {
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				l := newCutLab(t, rand.New(rand.NewPCG(uint64(seed), uint64(first))))
				l.cut(every, first, cuts)
				together.Lock()
				defer together.Unlock()
				all.add(l.tally)
			})
		}
	})
	t.Logf("%d cuts of %d that there are: %v", cuts, len(every), all)
	if all["fired"] < cuts*98/100 {
		t.Errorf("only %d of %d cuts happened", all["fired"], cuts)
	}
}

// cut makes every cut whose turn it is, until there were enough: one of many cutters, from the first on.
func (l *cutLab) cut(every []cutPlan, first, cuts int) {
	for i := first; i < cuts && l.failures < manyFailures; i += cutters {
		l.run(every[i%len(every)])
	}
}

func atoi(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: want a number above 0", variable, value)
	}
	return n
}

// cutPlan is one cut: where in which calls.
type cutPlan struct {
	calls []kind
	cold  bool // on a new connection, which has prepared nothing yet
	fault faultproxy.Fault
	bytes int // length of the message in a run without faults
}

func (c cutPlan) String() string {
	names := make([]string, len(c.calls))
	for i, k := range c.calls {
		names[i] = k.name
	}
	f := c.fault
	return fmt.Sprintf("%s, cold %v, cut %v (offset %d) %v message %d, reset %v", strings.Join(names, "+"), c.cold, f.At, f.Offset,
		f.Direction, f.Message, f.Reset)
}

// everyCut gives all cuts that there are, and counts them. Those on a warm connection come first: they are fewer, so that
// the shortest run makes all of them, and some of the others.
func (l *cutLab) everyCut() (every []cutPlan) {
	l.t.Helper()
	for _, cold := range []bool{false, true} {
		var some []cutPlan
		for _, calls := range groups() {
			for _, m := range l.measure(calls, cold) {
				for _, at := range []faultproxy.Position{faultproxy.Before, faultproxy.Inside, faultproxy.After} {
					f := faultproxy.Fault{Direction: m.Direction, Message: m.number, At: at}
					some = append(some, cutPlan{calls: calls, cold: cold, fault: f, bytes: m.Length})
				}
			}
		}
		l.random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		l.t.Logf("cold %v: %d cuts", cold, len(some))
		every = append(every, some...)
	}
	return every
}

// numbered is a message with its number in its direction.
type numbered struct {
	faultproxy.Message
	number int
}

// measure runs calls without a fault, and gives their messages.
func (l *cutLab) measure(calls []kind, cold bool) (messages []numbered) {
	l.t.Helper()
	g := l.given(calls)
	l.prepare(cold)
	l.proxy.Forget()
	answers := l.apply(g.calls)
	l.judge(g, answers, l.look(g))
	if l.failures > 0 {
		l.t.Fatal("that was without a fault")
	}
	var count [2]int
	for _, m := range l.proxy.Trace() {
		count[m.Direction]++
		messages = append(messages, numbered{m, count[m.Direction]})
	}
	return messages
}

// tally counts by name.
type tally map[string]int

func (t tally) add(o tally) {
	for name, n := range o {
		t[name] += n
	}
}

// String gives the counts in the order of their names.
func (t tally) String() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		words = append(words, fmt.Sprintf("%s %d", name, t[name]))
	}
	return strings.Join(words, ", ")
}
