package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is longer than a service takes to say that its store does not answer.
const healthTimeout = 4 * time.Second

func (p *program) healthcheckCommand() *cobra.Command {
	var url string
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a service whether it serves (/readyz): ends with 0 if it does, and else with 1",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.loadWith(cmd, func(config) error { return nil })
			if err != nil {
				return err
			}
			if url == "" {
				url = "http://" + reachable(c.listen)
			}
			return healthy(cmd.Context(), strings.TrimRight(url, "/")+"/readyz")
		},
	}
	cmd.Flags().StringVar(&url, "url", "", "address of the service (default: where the configuration says that it listens)")
	return cmd
}

func healthy(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return usageError{fmt.Errorf("--url: %w", err)}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return fmt.Errorf("healthcheck: %s: %s", answer.Status, body)
	}
	return nil
}

// reachable is where a service is reached that listens on an address: on this machine, if it listens on all of its own.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}
