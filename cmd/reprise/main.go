// Reprise makes retries safe: a service that keeps idempotency keys under leases. See README.md, or run it with --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	p := program{args: os.Args[1:], env: os.Environ(), stdout: os.Stdout, stderr: os.Stderr}
	code := p.run(ctx)
	stop()
	os.Exit(code)
}
