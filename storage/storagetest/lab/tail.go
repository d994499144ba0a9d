package lab

import (
	"strings"
	"sync"
)

// tail keeps the last lines of a log, for a report of what went wrong.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	const most = 20
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	t.lines = t.lines[max(0, len(t.lines)-most):]
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "")
}
