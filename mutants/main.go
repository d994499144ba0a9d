// Mutants breaks the code in known ways, one at a time, and runs the tests: they must fail each time. It is the test of
// the tests. Nothing in the tree is changed: the go command is given the broken file as an overlay.
//
//	go run ./mutants              # all
//	go run ./mutants -run fence   # those whose name contains "fence"
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	run := flag.String("run", "", "only mutants whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := hunt(ctx, *run); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// hunt runs the unbroken code first: tests that fail anyway prove nothing.
func hunt(ctx context.Context, only string) error {
	var chosen []mutant
	for _, m := range mutants {
		if strings.Contains(m.name, only) {
			chosen = append(chosen, m)
		}
	}
	if err := healthy(ctx, chosen); err != nil {
		return err
	}
	var alive []string
	for _, m := range chosen {
		start := time.Now()
		verdict, err := m.try(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if verdict == "" {
			alive, verdict = append(alive, m.name), "ALIVE: no test noticed"
		}
		fmt.Printf("%-50s %4ds  %s\n", m.name, int(time.Since(start).Seconds()), verdict)
	}
	fmt.Printf("%d mutants, %d caught, %d alive\n", len(chosen), len(chosen)-len(alive), len(alive))
	if len(alive) > 0 {
		return fmt.Errorf("the tests let pass: %s", strings.Join(alive, ", "))
	}
	return nil
}
