// Reprise makes retries safe: a service that keeps idempotency keys under leases. See README.md, or run it with --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	p := program{name: commandName(), args: os.Args[1:], env: os.Environ(), stdout: os.Stdout, stderr: os.Stderr}
	code := p.run(ctx)
	stop()
	os.Exit(code)
}

// commandName is how the program was called, also by go run, whose file is gone afterwards.
func commandName() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/reprise"
	}
	return os.Args[0]
}
