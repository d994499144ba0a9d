// Crash kills the service and its database under load, again and again, and holds what is there afterwards against
// what was acknowledged. It uses real processes on this machine alone, and ends with status 1 when a promise was
// broken, or when so little happened that nothing was shown. See docs/crash.md.
//
//	go run ./crash                       all experiments, some 10 minutes
//	go run ./crash -store sqlite -kills 20
//	go run ./crash -only sweep           one kind: kills, flush, outages, sweep or linear
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

type flags struct {
	kills, stops, callers int
	operations            int
	seed                  uint64
	store, only           string
	time                  time.Duration
}

func main() {
	var f flags
	flag.IntVar(&f.kills, "kills", 100, "how often the service is killed, for each store")
	flag.IntVar(&f.stops, "stops", 20, "how often Postgres is stopped at once")
	flag.IntVar(&f.callers, "callers", 32, "callers at the same time")
	flag.Uint64Var(&f.seed, "seed", 0, "what the random choices start from; 0 takes one of its own. Timing is not repeated")
	flag.IntVar(&f.operations, "operations", linearOperations, "how many calls are put in order, for each store")
	flag.StringVar(&f.store, "store", "both", "sqlite, postgres or both")
	flag.StringVar(&f.only, "only", "", "one kind of experiment: "+strings.Join(kinds, ", ")+"; all of them when empty")
	flag.DurationVar(&f.time, "time", 15*time.Minute, "give up after this long")
	flag.Parse()
	if flag.NArg() > 0 || f.kills < 0 || f.stops < 0 || f.callers < 1 || f.operations < 1 || (f.store != "both" && f.store != storeSQLite && f.store != storePostgres) ||
		(f.only != "" && !slices.Contains(kinds, f.only)) {
		flag.Usage()
		os.Exit(2)
	}
	if f.seed == 0 {
		f.seed = rand.Uint64()>>32 + 1
	}
	os.Exit(run(f))
}

// run does all experiments and gives the exit code. Every process that it starts ends before it returns; one that is
// killed is followed by its children, see die.
func run(f flags) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, f.time)
	defer cancel()
	r := report{began: time.Now(), seed: f.seed}
	r.note(r.runAll(ctx, f))
	if err := context.Cause(ctx); err != nil {
		r.failures = append(r.failures, fmt.Sprintf("ended early: %v", err))
	}
	r.print(os.Stdout)
	if r.failed() {
		return 1
	}
	return 0
}
