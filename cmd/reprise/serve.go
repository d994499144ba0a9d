package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-idempotency/reprise"
	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/service/httpapi"
	"github.com/reprise-idempotency/reprise/storage"
)

// shutdownTimeout bounds the wait for requests that are under way; one that waits longer for its store is cut off, as by
// a crash, and can be repeated.
const shutdownTimeout = 25 * time.Second

func (p *program) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API",
		Long: "Serve the HTTP API. Without any configuration it keeps keys in SQLite in ./reprise-data, listens on\n" +
			"127.0.0.1:8080, makes a development secret there and prints what to type next.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load(cmd)
			if err != nil {
				return err
			}
			return p.serve(cmd.Context(), c)
		},
	}
}

// serve runs the service until ctx ends.
func (p *program) serve(ctx context.Context, c config) (err error) {
	log := p.logger()
	tokens, err := p.tokenConfig(c)
	if err != nil {
		return err
	}
	verifier, err := auth.NewVerifier(tokens)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, c, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	listener, err := net.Listen("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w; another program may use it: choose one with --listen HOST:PORT", c.listen, err)
	}
	api := httpapi.New(httpapi.Config{Service: service.New(store, c.limits), Verifier: verifier, OpenAPI: reprise.OpenAPI,
		Log: log, MaxBody: int64(c.maxBody)})
	address := listener.Addr().String()
	log.Info("serving", "address", address, "store", c.storeName())
	if !c.auth.hasKey() {
		p.greet(c, address)
	}
	if p.onListen != nil {
		p.onListen(address)
	}
	return run(ctx, api, listener, c.drainDelay, log)
}

// run serves until ctx ends, and then goes down in order: unready, no new connections, requests finish.
func run(ctx context.Context, api *httpapi.API, listener net.Listener, drainDelay time.Duration, log *slog.Logger) error {
	server := api.Server()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	api.Drain()
	log.Info("going down", "drain_delay", drainDelay)
	time.Sleep(drainDelay) // so that a load balancer sees it before connections are refused
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		return errors.Join(fmt.Errorf("some requests did not finish within %s: %w", shutdownTimeout, err), server.Close())
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	log.Info("stopped")
	return nil
}

func (c config) storeName() string {
	if c.usesPostgres() {
		return "postgres"
	}
	return "sqlite:" + c.sqliteFile()
}

// tokenConfig gives what tokens are verified with: what was configured or, on the embedded store, the development secret.
func (p *program) tokenConfig(c config) (auth.Config, error) {
	if c.auth.hasKey() {
		return c.auth.verifierConfig()
	}
	secret, err := developmentSecret(c.dataDir)
	if err != nil {
		return auth.Config{}, err
	}
	c.auth.hs256Secret = secret
	return c.auth.verifierConfig()
}

// openStore opens the backend that the configuration names.
func openStore(ctx context.Context, c config, log *slog.Logger) (storage.Store, error) {
	if c.usesPostgres() {
		return openPostgres(ctx, c, log)
	}
	return openSQLite(ctx, c)
}
