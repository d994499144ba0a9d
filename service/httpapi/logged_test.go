package httpapi_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

const levelDebug = slog.LevelDebug

// logged keeps what a service logs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// at gives a log of a level that is kept.
func (l *logged) at(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
}

// Write takes one line.
func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// String gives the text so far.
func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// line is one line of a log.
type line struct {
	raw  string
	json any
}

func (l line) text(name string) string { return textAt(l.json, name) }

// all gives the lines so far.
func (l *logged) all() (lines []line) {
	for raw := range strings.Lines(l.String()) {
		lines = append(lines, line{raw, decoded([]byte(raw))})
	}
	return lines
}

// lines gives those about a call.
func (l *logged) lines(path string) (lines []line) {
	for _, line := range l.all() {
		if line.text("call") == path {
			lines = append(lines, line)
		}
	}
	return lines
}
