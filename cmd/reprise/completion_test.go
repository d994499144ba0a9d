package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Ensure that completion prints a script of the program for each shell, and one for bash that bash can read.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		o := runProgram(t, nil, "completion", shell)
		if o.code != exitOK || o.stderr != "" || !strings.Contains(o.stdout, "reprise") || strings.Count(o.stdout, "\n") < 50 {
			t.Errorf("%s: got %d, %d bytes and %q", shell, o.code, len(o.stdout), o.stderr)
		}
		if path, err := exec.LookPath(shell); err == nil && shell != "powershell" {
			check := exec.CommandContext(t.Context(), path, "-n")
			check.Stdin = strings.NewReader(o.stdout)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s cannot read its script: %v\n%s", shell, err, out)
			}
		}
	}
}

// Ensure that a shell that there is no script for, and none at all, is a wrong use that names those that there are.
func TestCompletionOfAnotherShell(t *testing.T) {
	for _, args := range [][]string{{"nonsense"}, {"nonsense", "bash"}, {}} {
		o := runProgram(t, nil, append([]string{"completion"}, args...)...)
		if o.code != exitUsage || o.stdout != "" {
			t.Errorf("%v: got %d %q, want a wrong use", args, o.code, o.stdout)
		}
		for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
			if !strings.Contains(o.stderr, shell) {
				t.Errorf("%v: got %q, which lacks %s", args, o.stderr, shell)
			}
		}
	}
}

// Ensure that the scripts, which ask the program, are told of its commands.
func TestCompletionKnowsTheCommands(t *testing.T) {
	o := runProgram(t, nil, "__complete", "")
	for _, want := range []string{"serve\t", "migrate\t", "sweep\t", "healthcheck\t", "token\t", "config\t", "try\t", "version\t"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("%q is not offered: %s", want, o.stdout)
		}
	}
}
