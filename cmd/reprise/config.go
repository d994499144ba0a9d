package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/auth"
	"github.com/reprise-idempotency/reprise/service/httpapi"
)

// config is the effective configuration.
type config struct {
	listen        string
	adminListen   string
	logLevel      string
	logFormat     string
	databaseURL   string
	dataDir       string
	drainDelay    time.Duration
	sweepInterval time.Duration
	maxBody       int
	maxBatch      int
	poolSize      int
	auth          authConfig
	limits        service.Limits
}

type authConfig struct {
	hs256Secret   string
	publicKeyFile string
	jwksURL       string
	issuer        string
	audience      string
	tenantClaim   string
}

func defaultConfig() config {
	return config{
		listen:        "127.0.0.1:8080",
		dataDir:       "./reprise-data",
		sweepInterval: time.Minute,
		logLevel:      "info",
		logFormat:     "auto",
		maxBody:       httpapi.DefaultMaxBody,
		maxBatch:      httpapi.DefaultMaxBatch,
		poolSize:      8,
		auth:          authConfig{tenantClaim: auth.DefaultTenantClaim},
		limits:        service.DefaultLimits(),
	}
}

// usesPostgres tells which backend the database URL asks for.
func (c config) usesPostgres() bool {
	return strings.HasPrefix(c.databaseURL, "postgres://") || strings.HasPrefix(c.databaseURL, "postgresql://")
}

// sqliteFile is the file of the embedded backend.
func (c config) sqliteFile() string {
	if c.databaseURL == "" {
		return filepath.Join(c.dataDir, "reprise.db")
	}
	return strings.TrimPrefix(c.databaseURL, "sqlite:")
}

// makeDataDir makes the folder for what the embedded default keeps, for its owner alone.
func (c config) makeDataDir() error {
	if c.databaseURL != "" {
		return nil
	}
	return os.MkdirAll(c.dataDir, 0o700)
}

// hasKey tells whether something was configured that tokens are verified with.
func (c authConfig) hasKey() bool { return c.hs256Secret != "" || c.publicKeyFile != "" }

// validate names every mistake that a single setting cannot see.
func (c config) validate() error {
	var errs []error
	if _, _, err := net.SplitHostPort(c.listen); err != nil {
		errs = append(errs, fmt.Errorf("listen: %q is not HOST:PORT, such as 127.0.0.1:8080", c.listen))
	}
	if _, _, err := net.SplitHostPort(c.adminListen); c.adminListen != "" && err != nil {
		errs = append(errs, fmt.Errorf("admin_listen: %q is not HOST:PORT, such as 127.0.0.1:9090", c.adminListen))
	}
	errs = append(errs, c.validateStore(), c.validateAuth(), c.limits.Validate())
	if c.maxBody < c.limits.Body {
		errs = append(errs, fmt.Errorf("limits.request_body: %d is less than limits.response_body (%d)", c.maxBody, c.limits.Body))
	}
	return errors.Join(errs...)
}

func (c config) validateStore() error {
	switch {
	case strings.HasPrefix(c.databaseURL, "sqlite://"):
		return errors.New("database_url: a file is written without slashes before it: sqlite:FILE, such as sqlite:/var/lib/reprise.db")
	case c.databaseURL != "" && !c.usesPostgres() && c.sqliteFile() == c.databaseURL:
		return errors.New("database_url: must be sqlite:FILE or postgres://…")
	}
	return nil
}

func (c config) validateAuth() error {
	switch {
	case c.auth.jwksURL != "":
		return errors.New("auth.jwks_url: is not supported by this version; use auth.public_key_file")
	case c.auth.hasKey():
		_, err := c.auth.verifierConfig()
		return err
	case c.usesPostgres():
		return errors.New("auth: with Postgres a key to verify tokens with must be configured: set " +
			"REPRISE_AUTH_HS256_SECRET (for example to the output of: openssl rand -hex 32) or REPRISE_AUTH_PUBLIC_KEY_FILE")
	}
	return nil
}

// verifierConfig reads the configured key.
func (c authConfig) verifierConfig() (auth.Config, error) {
	v := auth.Config{Issuer: c.issuer, Audience: c.audience, TenantClaim: c.tenantClaim, HS256Secret: []byte(c.hs256Secret)}
	if c.publicKeyFile != "" {
		pem, err := os.ReadFile(c.publicKeyFile)
		if err != nil {
			return v, fmt.Errorf("auth.public_key_file: %w", err)
		}
		v.PublicKeyPEM = pem
	}
	if err := v.Validate(); err != nil {
		return v, fmt.Errorf("auth: %w", err)
	}
	return v, nil
}
