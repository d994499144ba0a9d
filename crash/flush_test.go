package main

import (
	"strings"
	"testing"
)

// Ensure that the order of write, flush and answer is read out of a trace as it is, also where lines are torn.
func TestFlushRule(t *testing.T) {
	sqlite := flushRule{store: "sqlite", isLog: func(e event) bool { return strings.Contains(e.args, "db-wal>") }}
	postgres := flushRule{store: "postgres", isLog: func(e event) bool { return strings.Contains(e.args, "/pg_wal/") },
		databaseAnswer: func(e event) bool { return e.name == "sendto" && strings.Contains(e.args, "INSERT 0 1") }}
	const write, flush, answer = `7 1.1 pwrite64(8</d/x.db-wal>, "a", 1, 0) = 1`, `7 1.2 fsync(8</d/x.db-wal>) = 0`, `9 1.3 write(4<socket:[1]>, "HTTP/1.1 201 Created\r\n", 9) = 9`
	const walWrite, walFlush = `5 1.1 pwrite64(8</d/pg_wal/0001>, "a", 1, 0) = 1`, `5 1.2 fdatasync(8</d/pg_wal/0001>) = 0`
	const told, untold = `5 1.3 sendto(6<socket:[2]>, "C\0\0\0\17INSERT 0 1\0Z", 9, 0, NULL, 0) = 9`, `5 1.3 sendto(6<socket:[2]>, "Z", 1, 0, NULL, 0) = 1`
	for _, test := range []struct {
		name  string
		rule  flushRule
		lines []string
		want  bool
	}{
		{"flushed", sqlite, []string{write, flush, answer, write, flush, answer}, true},
		{"torn, and over in time", sqlite, []string{write, `7 1.2 fsync(8</d/x.db-wal> <unfinished ...>`, `9 1.25 write(2</dev/null>, "x", 1) = 1`, `7 1.28 <... fsync resumed>) = 0`, answer, write, flush, answer}, true},
		{"torn, and over too late", sqlite, []string{write, `7 1.2 fsync(8</d/x.db-wal> <unfinished ...>`, answer, `7 1.4 <... fsync resumed>) = 0`, write, flush, answer}, false},
		{"never over", sqlite, []string{write, `7 1.2 fsync(8</d/x.db-wal> <unfinished ...>`, answer, write, flush, answer}, false},
		{"not flushed", sqlite, []string{write, answer, write, flush, answer}, false},
		{"flushed before the last write", sqlite, []string{write, flush, write, answer, write, flush, answer}, false},
		{"flushed after the answer", sqlite, []string{write, flush, answer, write, answer, flush}, false},
		{"nothing written", sqlite, []string{write, flush, answer, flush, answer}, false},
		{"another file", sqlite, []string{write, `7 1.2 fsync(9</d/x.db>) = 0`, answer, write, flush, answer}, false},
		{"one answer", sqlite, []string{write, flush, answer}, false},
		{"Postgres, flushed", postgres, []string{walWrite, walFlush, told, answer, walWrite, walFlush, told, answer}, true},
		{"Postgres, flushed after it told", postgres, []string{walWrite, told, walFlush, answer, walWrite, walFlush, told, answer}, false},
		{"Postgres, did not tell", postgres, []string{walWrite, walFlush, untold, answer, walWrite, walFlush, told, answer}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			events, err := parseTrace(strings.NewReader(strings.Join(test.lines, "\n")))
			if err != nil {
				t.Fatal(err)
			}
			result, err := test.rule.judge(events)
			if result.Flushed != test.want || (err == nil) != test.want {
				t.Errorf("got %t, %v; want %t", result.Flushed, err, test.want)
			}
		})
	}
}
