package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// looked is what a service says of itself at one moment.
type looked struct {
	memory      int           // that is resident, in MiB
	connections float64       // to the database that are in use
	waiting     float64       // callers
	polls       float64       // looks of those who wait, so far
	polled      float64       // seconds that they took
	worked      time.Duration // of a processor, by the service
	load        time.Duration // of a processor, by this program
}

// look reads the metrics of a service, and its memory.
func look(ctx context.Context, s *server) (l looked, err error) {
	if l.memory, err = memory(s.pid); err != nil {
		return l, err
	}
	if l.worked, err = worked(s.pid); err != nil {
		return l, err
	}
	if l.load, err = worked(os.Getpid()); err != nil {
		return l, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		return l, err
	}
	answer, err := plain.Do(request)
	if err != nil {
		return l, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return l, err
	}
	for series, into := range map[string]*float64{
		"reprise_store_connections_acquired":     &l.connections,
		"reprise_waiting":                        &l.waiting,
		`reprise_wait_polls_total{result="ok"}`:  &l.polls,
		`reprise_wait_poll_duration_seconds_sum`: &l.polled,
	} {
		line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindSubmatch(text)
		if line == nil {
			return l, fmt.Errorf("the service has no %s", series)
		}
		if *into, err = strconv.ParseFloat(string(line[1]), 64); err != nil {
			return l, err
		}
	}
	return l, nil
}

// plain asks for no compression, which would be work for the service.
var plain = client(1)

var residentLine = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

func memory(pid int) (mib int, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	line := residentLine.FindSubmatch(status)
	if line == nil {
		return 0, fmt.Errorf("process %d has no memory: it has ended", pid)
	}
	kb, err := strconv.Atoi(string(line[1]))
	return kb / 1024, err
}

// worked tells for how long processors have worked for a process: fields 14 and 15 of its stat, in hundredths of a second.
func worked(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from field 3 on
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, err
}
