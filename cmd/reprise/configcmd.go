package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the configuration (print)",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("config: say what: print")}
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "print",
		Short: "Print every setting with its effective value, as YAML; secrets are masked",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load(cmd)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(p.stdout, c.yaml())
			return err
		},
	})
	return cmd
}

// yaml writes all settings as a file that could be read again, but for the secrets; what is not set is a comment.
func (c config) yaml() string {
	var b strings.Builder
	group := ""
	for _, s := range settings {
		g, name, nested := strings.Cut(s.key, ".")
		indent := "  "
		if !nested {
			g, name, indent = "", s.key, ""
		}
		if g != group && nested {
			fmt.Fprintf(&b, "%s:\n", g)
		}
		group = g
		value := s.get(c)
		line := fmt.Sprintf("%s: %q", name, value)
		switch {
		case value == "":
			line = fmt.Sprintf("# %s:", name)
		case s.secret:
			line = fmt.Sprintf("# %s: (set, not shown)", name)
		}
		fmt.Fprintf(&b, "%s%s # %s; %s\n", indent, line, s.usage, s.env())
	}
	return b.String()
}
