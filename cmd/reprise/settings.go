package main

import (
	"fmt"
	"strconv"
	"time"
)

// setting is one thing that can be configured: where it may come from, and what it means.
type setting struct {
	key    string // in the YAML file; a dot is a level
	env    string
	flag   string // empty: no flag, because a command line can be read by everybody on the machine
	usage  string
	secret bool // never printed
	set    func(c *config, value string) error
	get    func(c config) string
}

// settings is the one list of all of them.
var settings = []setting{
	text("listen", "REPRISE_LISTEN", "listen", "HOST:PORT to serve on", func(c *config) *string { return &c.listen }),
	secret(text("database_url", "REPRISE_DATABASE_URL", "database-url", "sqlite:FILE or postgres://…; reprise.db in the data folder when not set", func(c *config) *string { return &c.databaseURL })),
	text("data_dir", "REPRISE_DATA_DIR", "data-dir", "folder of the embedded database and the development secret", func(c *config) *string { return &c.dataDir }),
	number("pool_size", "REPRISE_POOL_SIZE", "pool-size", "connections to Postgres", 1, 1000, func(c *config) *int { return &c.poolSize }),
	span("drain_delay", "REPRISE_DRAIN_DELAY", "drain-delay", "how long to be unready before connections are closed on SIGTERM", func(c *config) *time.Duration { return &c.drainDelay }),
	span("sweep_interval", "REPRISE_SWEEP_INTERVAL", "sweep-interval", "pause between two sweeps of expired records", func(c *config) *time.Duration { return &c.sweepInterval }),

	secret(text("auth.hs256_secret", "REPRISE_AUTH_HS256_SECRET", "", "shared secret of HS256 tokens, at least 32 bytes", func(c *config) *string { return &c.auth.hs256Secret })),
	text("auth.public_key_file", "REPRISE_AUTH_PUBLIC_KEY_FILE", "auth-public-key-file", "PEM file with the public keys of RS256, PS256, ES256 or EdDSA tokens", func(c *config) *string { return &c.auth.publicKeyFile }),
	text("auth.jwks_url", "REPRISE_AUTH_JWKS_URL", "auth-jwks-url", "address of a JWKS (not supported by this version)", func(c *config) *string { return &c.auth.jwksURL }),
	text("auth.issuer", "REPRISE_AUTH_ISSUER", "auth-issuer", "the iss that a token must have", func(c *config) *string { return &c.auth.issuer }),
	text("auth.audience", "REPRISE_AUTH_AUDIENCE", "auth-audience", "the aud that a token must have", func(c *config) *string { return &c.auth.audience }),
	text("auth.tenant_claim", "REPRISE_AUTH_TENANT_CLAIM", "auth-tenant-claim", "the claim that names the tenant", func(c *config) *string { return &c.auth.tenantClaim }),

	span("limits.lease_default", "REPRISE_LIMITS_LEASE_DEFAULT", "limits-lease-default", "lease of a reserve that names none", func(c *config) *time.Duration { return &c.limits.Lease.Default }),
	span("limits.lease_min", "REPRISE_LIMITS_LEASE_MIN", "limits-lease-min", "shortest lease", func(c *config) *time.Duration { return &c.limits.Lease.Min }),
	span("limits.lease_max", "REPRISE_LIMITS_LEASE_MAX", "limits-lease-max", "longest lease", func(c *config) *time.Duration { return &c.limits.Lease.Max }),
	span("limits.retention_default", "REPRISE_LIMITS_RETENTION_DEFAULT", "limits-retention-default", "retention of a reserve that names none", func(c *config) *time.Duration { return &c.limits.Retention.Default }),
	span("limits.retention_min", "REPRISE_LIMITS_RETENTION_MIN", "limits-retention-min", "shortest retention", func(c *config) *time.Duration { return &c.limits.Retention.Min }),
	span("limits.retention_max", "REPRISE_LIMITS_RETENTION_MAX", "limits-retention-max", "longest retention", func(c *config) *time.Duration { return &c.limits.Retention.Max }),
	size("limits.operation", "REPRISE_LIMITS_OPERATION", "limits-operation", "bytes of an operation", func(c *config) *int { return &c.limits.Operation }),
	size("limits.subject", "REPRISE_LIMITS_SUBJECT", "limits-subject", "bytes of a subject", func(c *config) *int { return &c.limits.Subject }),
	size("limits.key", "REPRISE_LIMITS_KEY", "limits-key", "bytes of a key", func(c *config) *int { return &c.limits.Key }),
	size("limits.holder", "REPRISE_LIMITS_HOLDER", "limits-holder", "bytes of a holder", func(c *config) *int { return &c.limits.Holder }),
	size("limits.resource_id", "REPRISE_LIMITS_RESOURCE_ID", "limits-resource-id", "bytes of a resource_id", func(c *config) *int { return &c.limits.ResourceID }),
	size("limits.reason", "REPRISE_LIMITS_REASON", "limits-reason", "bytes of a reason", func(c *config) *int { return &c.limits.Reason }),
	size("limits.checkpoint", "REPRISE_LIMITS_CHECKPOINT", "limits-checkpoint", "bytes of a checkpoint's data", func(c *config) *int { return &c.limits.Checkpoint }),
	size("limits.header_lines", "REPRISE_LIMITS_HEADER_LINES", "limits-header-lines", "header lines kept of a response", func(c *config) *int { return &c.limits.HeaderLines }),
	size("limits.header_bytes", "REPRISE_LIMITS_HEADER_BYTES", "limits-header-bytes", "bytes of header lines kept of a response", func(c *config) *int { return &c.limits.HeaderBytes }),
	size("limits.response_body", "REPRISE_LIMITS_RESPONSE_BODY", "limits-response-body", "bytes of a body kept of a response", func(c *config) *int { return &c.limits.Body }),
	size("limits.request_body", "REPRISE_LIMITS_REQUEST_BODY", "limits-request-body", "bytes of a request's body", func(c *config) *int { return &c.maxBody }),
}

func text(key, env, flag, usage string, at func(*config) *string) setting {
	return setting{key: key, env: env, flag: flag, usage: usage,
		set: func(c *config, v string) error { *at(c) = v; return nil },
		get: func(c config) string { return *at(&c) },
	}
}

func span(key, env, flag, usage string, at func(*config) *time.Duration) setting {
	return setting{key: key, env: env, flag: flag, usage: usage,
		set: func(c *config, v string) error {
			d, err := time.ParseDuration(v)
			if err != nil || d < 0 {
				return fmt.Errorf("%q is not a duration such as 30s", v)
			}
			*at(c) = d
			return nil
		},
		get: func(c config) string { return at(&c).String() },
	}
}

// maxSize bounds every size, so that none overflows anywhere; the limits have their own, closer bounds.
const maxSize = 1 << 30

func size(key, env, flag, usage string, at func(*config) *int) setting {
	return number(key, env, flag, usage, 0, maxSize, at)
}

func number(key, env, flag, usage string, least, most int, at func(*config) *int) setting {
	return setting{key: key, env: env, flag: flag, usage: usage,
		set: func(c *config, v string) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < least || n > most {
				return fmt.Errorf("%q is not a whole number within %d and %d", v, least, most)
			}
			*at(c) = n
			return nil
		},
		get: func(c config) string { return strconv.Itoa(*at(&c)) },
	}
}

func secret(s setting) setting { s.secret = true; return s }
