package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// garbage is how much of it may gather between two collections, where live memory is larger than that. Go's own rule,
	// as much garbage as live memory, would double what thousands of waiting callers hold.
	garbage = 32 << 20
	// leastPercent keeps collections from following each other when live memory is very large.
	leastPercent = 25
)

// boundGarbage bounds the garbage in memory until ctx ends, unless the operator has set a rule: GOGC or GOMEMLIMIT.
func boundGarbage(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	percent := 100
	for {
		select {
		case <-ctx.Done():
			debug.SetGCPercent(100)
			return
		case <-time.After(time.Second):
		}
		metrics.Read(live)
		bytes := live[0].Value.Uint64() + live[1].Value.Uint64()
		if wanted := gcPercent(bytes); wanted != percent {
			percent = wanted
			debug.SetGCPercent(percent)
		}
	}
}

// gcPercent is the garbage that is allowed, as Go counts it: in percent of live memory.
func gcPercent(live uint64) int {
	return int(max(leastPercent, min(100, 100*garbage/max(live, 1))))
}
