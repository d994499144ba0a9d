package main

import (
	"os"
	"strings"
	"testing"
)

// Ensure that every mutant still fits the code: what it breaks occurs there once, and it changes something.
func TestEveryMutantFitsTheCode(t *testing.T) {
	if err := os.Chdir(".."); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range mutants {
		source, err := os.ReadFile(m.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.old); n != 1 || m.old == m.new || names[m.name] || len(m.tests) == 0 {
			t.Errorf("%s: %q occurs %d times in %s, want once; or it changes nothing, has a name that another has, or no tests", m.name, m.old, n, m.file)
		}
		names[m.name] = true
	}
}
