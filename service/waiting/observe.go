package waiting

import "time"

// End is how a wait ended.
type End string

const (
	Answered End = "answered"  // the name was settled or given up
	Failed   End = "failed"    // the store could not answer
	TimedOut End = "timed_out" // somebody held it all the time
	Gone     End = "gone"      // the caller hung up
	Refused  End = "refused"   // the room was full, or closed
	ShutDown End = "shut_down"
)

// Ends are all of them.
var Ends = []End{Answered, Failed, TimedOut, Gone, Refused, ShutDown}

// Observer is told what happens in a room, for metrics.
type Observer interface {
	WaitEnded(end End, after time.Duration)
	Polled(names int, took time.Duration, err error)
}

type nobody struct{}

func (nobody) WaitEnded(End, time.Duration)     {}
func (nobody) Polled(int, time.Duration, error) {}
