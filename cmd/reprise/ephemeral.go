package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// ephemeralTenant and ephemeralTTL are what the printed token is good for: everything, in a store of its own.
const (
	ephemeralTenant = "test"
	ephemeralTTL    = 24 * time.Hour
)

// loadEphemeral reads the configuration of a service that has a store of its own, whatever the surroundings say of another,
// and a free port unless they say which.
func (p *program) loadEphemeral(cmd *cobra.Command) (config, error) {
	if cmd.Flags().Changed("database-url") {
		return config{}, usageError{errors.New("serve: --ephemeral keeps keys in a temporary folder of its own: leave --database-url out, or --ephemeral")}
	}
	defaults := defaultConfig()
	defaults.listen = "127.0.0.1:0"
	return p.loadOver(cmd, defaults, config.validate, "database_url", "data_dir")
}

// serveEphemeral serves a test suite, in whatever language, until it ends the process.
func (p *program) serveEphemeral(ctx context.Context, c config) (err error) {
	if c.auth.publicKeyFile != "" {
		return usageError{errors.New("serve: --ephemeral makes a token itself: leave auth.public_key_file out")}
	}
	if c.dataDir, err = os.MkdirTemp("", "reprise-"); err != nil {
		return fmt.Errorf("making a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dataDir)) }()
	return p.serve(ctx, c, func(address string) error {
		signing, err := c.signingConfig()
		if err != nil {
			return err
		}
		token, err := sign(signing, "ephemeral", ephemeralTenant, auth.Scopes(), ephemeralTTL)
		if err != nil {
			return err
		}
		return json.NewEncoder(p.stdout).Encode(map[string]string{"address": "http://" + address, "tenant": ephemeralTenant, "token": token})
	})
}
