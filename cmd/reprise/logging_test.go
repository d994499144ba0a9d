package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// Ensure that the log has the lines that its level asks for: every call at debug, what happens to the service at info, and
// faults alone at error; and that no level shows a key.
func TestLogLevel(t *testing.T) {
	for level, want := range map[string]struct{ serving, calls bool }{
		"debug": {true, true}, "info": {true, false}, "warn": {false, false}, "error": {false, false},
	} {
		t.Run(level, func(t *testing.T) {
			env := []string{"REPRISE_DATA_DIR=" + dataDir(t), "REPRISE_LOG_LEVEL=" + level}
			s := serve(t, env)
			if status, body := post(t, s.url+"/v1/keys/reserve", token(t, env), `{"operation":"o","key":"secret-key","fingerprint":"f"}`); status != 201 {
				t.Fatalf("reserve: got %d %s", status, body)
			}
			log := s.stop().stderr
			if got := strings.Contains(log, `"serving"`); got != want.serving {
				t.Errorf("the line of the start: got %v, want %v:\n%s", got, want.serving, log)
			}
			if got := strings.Contains(log, "/v1/keys/reserve"); got != want.calls {
				t.Errorf("a line for the call: got %v, want %v:\n%s", got, want.calls, log)
			}
			if strings.Contains(log, "secret-key") {
				t.Errorf("the log shows a key:\n%s", log)
			}
		})
	}
}

// Ensure that the log is written for whom it was asked to be: text for people, JSON for machines, and JSON where that was
// left open and nobody watches.
func TestLogFormat(t *testing.T) {
	for format, wantJSON := range map[string]bool{"json": true, "text": false, "auto": true} {
		t.Run(format, func(t *testing.T) {
			s := serve(t, nil, "--data-dir", dataDir(t), "--log-format", format)
			lines := strings.Split(strings.TrimSpace(s.stop().stderr), "\n")
			for _, line := range lines {
				if json.Valid([]byte(line)) != wantJSON || strings.Contains(line, "level=INFO") == wantJSON {
					t.Errorf("got the line %s", line)
				}
			}
			if len(lines) < 2 {
				t.Errorf("got %d lines", len(lines))
			}
		})
	}
}

// Ensure that a level or a format that does not exist is refused, with those that do.
func TestLogSettingsAreRefused(t *testing.T) {
	for variable, want := range map[string]string{
		"REPRISE_LOG_LEVEL=loud": "debug, info, warn, error", "REPRISE_LOG_LEVEL=INFO": "debug, info, warn, error", "REPRISE_LOG_FORMAT=xml": "auto, text, json",
	} {
		if o := runProgram(t, []string{variable}, "serve"); o.code != exitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: got %d %q, want a wrong use that says %q", variable, o.code, o.stderr, want)
		}
	}
}
