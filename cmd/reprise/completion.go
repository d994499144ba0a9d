package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// addCompletion adds cobra's command that prints scripts for shells. By itself that answers an unknown shell with its help,
// as if all were well, and the help would be loaded as a script.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, completion := range root.Commands() {
		if completion.Name() != "completion" {
			continue
		}
		var shells []string
		for _, shell := range completion.Commands() {
			shell.Args = noArgs
			shells = append(shells, shell.Name())
		}
		say := "say which shell: " + strings.Join(shells, ", ")
		completion.Args = cobra.ArbitraryArgs
		completion.RunE = func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("completion: there is no script for %q; %s", args[0], say)}
			}
			return usageError{errors.New("completion: " + say)}
		}
	}
}
