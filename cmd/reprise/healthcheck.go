package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is longer than a service takes to say that its store does not answer.
const healthTimeout = 4 * time.Second

func (p *program) healthcheckCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a service whether it serves (/readyz): ends with 0 if it does, and else with 1",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.loadWith(cmd, func(config) error { return nil })
			if err != nil {
				return err
			}
			service, err := serviceURL(address, c)
			if err != nil {
				return err
			}
			return healthy(cmd.Context(), service+"/readyz")
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "address of the service (default: where the configuration says that it listens)")
	return cmd
}

// serviceURL is where the service is called, without a slash at the end: what --url says or, without it, where the
// configuration says that it listens.
func serviceURL(flag string, c config) (string, error) {
	if flag == "" {
		return "http://" + reachable(c.listen), nil
	}
	if !strings.HasPrefix(flag, "http://") && !strings.HasPrefix(flag, "https://") {
		return "", usageError{fmt.Errorf("--url: %q must begin with http:// or https://, such as http://127.0.0.1:8080", flag)}
	}
	if u, err := url.Parse(flag); err != nil || u.Host == "" {
		return "", usageError{fmt.Errorf("--url: %q is not an address such as http://127.0.0.1:8080", flag)}
	}
	return strings.TrimRight(flag, "/"), nil
}

func healthy(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
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
