// Bench measures the service beside what it is compared with, in one run on one machine, and prints ratios:
//
//	go run ./bench baseline   reserve + complete pairs over HTTP, beside one INSERT and one UPDATE through pgx
//	go run ./bench waiting    how soon those who wait are woken, and what they cost
//	go run ./bench search     how soon something rare is found among a million keys
//
// It starts what it needs: a Postgres of its own that really writes to the disk, and the service as a process.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"time"
)

var benches = map[string]func(context.Context, *machine) error{
	"baseline": baseline,
	"waiting":  waiting,
	"search":   search,
}

// mostTime ends a bench that hangs.
const mostTime = 9 * time.Minute

func main() {
	debug.SetGCPercent(400) // the load generator's own collections must not take the processor from what it measures
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	err := run(ctx, os.Args[1:])
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 || benches[args[0]] == nil {
		return fmt.Errorf("say which: baseline, waiting or search")
	}
	return withMachine(ctx, func(m *machine) error { return benches[args[0]](ctx, m) })
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}
