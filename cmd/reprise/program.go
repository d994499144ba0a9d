package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // what was asked for did not succeed
	exitUsage   = 2 // what was asked for makes no sense: flags, arguments, configuration
)

// program is one run of the binary, with all that it takes from its surroundings, so that a test can run it too.
type program struct {
	name           string // how it was called
	args           []string
	env            []string
	stdout, stderr io.Writer
	onListen       func(address string) // called when serve takes connections; for tests
}

// usageError marks a wrong use.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run does what the arguments ask and gives the exit code.
func (p *program) run(ctx context.Context) int {
	root := p.rootCommand()
	root.SetArgs(p.args)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(p.stderr, "reprise: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(p.stderr, "reprise: %v\n", err)
	return exitFailure
}

func (p *program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "reprise",
		Short: "Makes retries safe: keeps idempotency keys under leases",
		Long: "Reprise makes retries safe. A caller reserves a key before it does something that must not happen twice, does\n" +
			"it, and completes the key with the response; a retry gets that first response back.\n\n" +
			"Settings come from flags, then REPRISE_* variables, then a YAML file (--config), then defaults.",
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return wrongUse(cmd, fmt.Errorf("there is no command %q", args[0]))
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(wrongUse)
	root.PersistentFlags().String("config", "", "YAML file with settings (REPRISE_CONFIG)")
	addFlags(root.PersistentFlags())
	root.AddCommand(p.serveCommand(), p.tryCommand(), p.migrateCommand(), p.sweepCommand(), p.tokenCommand(), p.healthcheckCommand(),
		p.configCommand(), p.versionCommand())
	addCompletion(root)
	return root
}

// wrongUse marks what a command cannot be told, and says where to read what it can.
func wrongUse(cmd *cobra.Command, err error) error {
	return usageError{fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath())}
}

// noArgs refuses arguments as a wrong use.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return wrongUse(cmd, fmt.Errorf("unexpected argument %q", args[0]))
	}
	return nil
}

// logger writes text for people at a terminal and JSON for machines, unless the configuration says which.
func (p *program) logger(c config) *slog.Logger {
	options := &slog.HandlerOptions{}
	var level slog.Level
	if level.UnmarshalText([]byte(c.logLevel)) == nil { // the setting takes no other
		options.Level = level
	}
	if c.logFormat == "text" || c.logFormat == "auto" && isTerminal(p.stderr) {
		return slog.New(slog.NewTextHandler(p.stderr, options))
	}
	return slog.New(slog.NewJSONHandler(p.stderr, options))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
