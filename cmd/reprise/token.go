package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-idempotency/reprise/service/auth"
)

func (p *program) tokenCommand() *cobra.Command {
	var tenant, subject, scope string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "token --tenant TENANT",
		Short: "Make a token with the configured (or the development) secret, and print it alone",
		Long: "Make a token with the configured secret or, without one, with the development secret that reprise serve has made in\n" +
			"the data folder, and print it alone.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load(cmd)
			if err != nil {
				return err
			}
			token, err := p.sign(c, subject, tenant, scope, ttl)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.stdout, token)
			return err
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "whose keys (required)")
	cmd.Flags().StringVar(&subject, "subject", "", "who the token is for: the sub claim, which the audit log keeps as the actor")
	cmd.Flags().StringVar(&scope, "scope", "keys:read keys:write keys:body", "what the token may do, separated by spaces")
	cmd.Flags().DurationVar(&ttl, "ttl", time.Hour, "how long it is good")
	return cmd
}

func (p *program) sign(c config, subject, tenant, scope string, ttl time.Duration) (string, error) {
	if tenant == "" {
		return "", usageError{errors.New("token: --tenant is required")}
	}
	if c.auth.publicKeyFile != "" {
		return "", usageError{errors.New("token: the service verifies with a public key; have the owner of the private key make the token")}
	}
	signing, err := c.signingConfig()
	if err != nil {
		return "", err
	}
	var scopes []auth.Scope
	for _, s := range strings.Fields(scope) {
		scopes = append(scopes, auth.Scope(s))
	}
	return sign(signing, subject, tenant, scopes, ttl)
}

// sign makes a token with the secret that tokens are verified with.
func sign(with auth.Config, subject, tenant string, scopes []auth.Scope, ttl time.Duration) (string, error) {
	signer, err := auth.NewSigner(with)
	if err != nil {
		return "", err
	}
	token, err := signer.As(subject).Sign(tenant, scopes, ttl)
	if err != nil {
		return "", usageError{fmt.Errorf("token: %w", err)}
	}
	return token, nil
}
