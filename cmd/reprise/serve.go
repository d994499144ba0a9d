package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"
)

func (p *program) serveCommand() *cobra.Command {
	var ephemeral bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API",
		Long: "Serve the HTTP API. Without any configuration it keeps keys in SQLite in ./reprise-data, listens on\n" +
			"127.0.0.1:8080, makes a development secret there and prints what to type next.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ephemeral {
				c, err := p.loadEphemeral(cmd)
				if err != nil {
					return err
				}
				return p.serveEphemeral(cmd.Context(), c)
			}
			c, err := p.load(cmd)
			if err != nil {
				return err
			}
			return p.serve(cmd.Context(), c, p.greeting(c))
		},
	}
	cmd.Flags().BoolVar(&ephemeral, "ephemeral", false,
		"for test suites: keep keys in a temporary folder, whatever database is configured, and remove it at the end; serve on a free port unless "+
			"listen is configured; print address and token as one line of JSON")
	return cmd
}

// serve runs the service until ctx ends. onListen is called with its address when it takes connections.
func (p *program) serve(ctx context.Context, c config, onListen func(address string) error) (err error) {
	log := p.logger(c)
	s, err := p.build(ctx, c, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	listener, err := listen("--listen", c.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	if c.adminListen != "" {
		admin, err := listen("--admin-listen", c.adminListen)
		if err != nil {
			return err
		}
		defer admin.Close()
		s.serveMetrics(admin)
		log.Info("serving metrics", "address", admin.Addr().String())
	}
	address := listener.Addr().String()
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && !c.auth.hasKey() {
		log.Warn("others can reach this address, and the secret that their tokens are checked by is a development secret; set REPRISE_AUTH_HS256_SECRET or auth.public_key_file",
			"address", address)
	}
	log.Info("serving", "address", address, "store", c.storeName(), "version", buildVersion())
	if err := onListen(address); err != nil {
		return err
	}
	if p.onListen != nil {
		p.onListen(address)
	}
	return s.run(ctx, listener)
}

func listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w; choose another with %s HOST:PORT if a program uses it", address, err, flag)
	}
	return l, nil
}

func (c config) storeName() string {
	if c.usesPostgres() {
		return "postgres"
	}
	return "sqlite:" + c.sqliteFile()
}
