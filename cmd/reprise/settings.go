package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setting is one thing that can be configured: auth.issuer in the YAML file, REPRISE_AUTH_ISSUER in the environment,
// --auth-issuer on the command line.
type setting struct {
	key    string // in the file; a dot is a level
	usage  string
	secret bool // never printed
	noFlag bool // a command line can be read by everybody on the machine
	set    func(c *config, value string) error
	get    func(c config) string
}

func (s setting) env() string {
	return "REPRISE_" + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

func (s setting) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.key) }

// settings is the one list of all of them.
var settings = []setting{
	text("listen", "HOST:PORT to serve on", func(c *config) *string { return &c.listen }),
	secret(text("database_url", "sqlite:FILE or postgres://…; reprise.db in the data folder when not set",
		func(c *config) *string { return &c.databaseURL })),
	text("data_dir", "folder of the embedded database and the development secret",
		func(c *config) *string { return &c.dataDir }),
	number("pool_size", "connections to Postgres", 1, 1000, func(c *config) *int { return &c.poolSize }),
	span("drain_delay", "how long to be unready before connections are closed on SIGTERM",
		func(c *config) *time.Duration { return &c.drainDelay }),
	span("sweep_interval", "pause between two sweeps of expired keys; 0s: this process does not sweep, see reprise sweep",
		func(c *config) *time.Duration { return &c.sweepInterval }),
	text("admin_listen", "HOST:PORT for /metrics alone; on the other listener when not set",
		func(c *config) *string { return &c.adminListen }),
	choice("log.level", "least level of log lines: debug has a line for every call", []string{"debug", "info", "warn", "error"},
		func(c *config) *string { return &c.logLevel }),
	choice("log.format", "auto: text at a terminal, else json", []string{"auto", "text", "json"},
		func(c *config) *string { return &c.logFormat }),

	unflagged(secret(text("auth.hs256_secret", "shared secret of HS256 tokens, at least 32 bytes",
		func(c *config) *string { return &c.auth.hs256Secret }))),
	text("auth.public_key_file", "PEM file with the public keys of RS256, PS256, ES256 or EdDSA tokens",
		func(c *config) *string { return &c.auth.publicKeyFile }),
	text("auth.jwks_url", "address of a JWKS (not supported by this version)",
		func(c *config) *string { return &c.auth.jwksURL }),
	text("auth.issuer", "the iss that a token must have", func(c *config) *string { return &c.auth.issuer }),
	text("auth.audience", "the aud that a token must have", func(c *config) *string { return &c.auth.audience }),
	text("auth.tenant_claim", "the claim that names the tenant", func(c *config) *string { return &c.auth.tenantClaim }),

	span("limits.lease_default", "lease of a reserve that names none",
		func(c *config) *time.Duration { return &c.limits.Lease.Default }),
	span("limits.lease_min", "shortest lease", func(c *config) *time.Duration { return &c.limits.Lease.Min }),
	span("limits.lease_max", "longest lease", func(c *config) *time.Duration { return &c.limits.Lease.Max }),
	span("limits.retention_default", "retention of a reserve that names none",
		func(c *config) *time.Duration { return &c.limits.Retention.Default }),
	span("limits.retention_min", "shortest retention", func(c *config) *time.Duration { return &c.limits.Retention.Min }),
	span("limits.retention_max", "longest retention", func(c *config) *time.Duration { return &c.limits.Retention.Max }),
	span("limits.wait", "longest time that a reserve may ask to wait", func(c *config) *time.Duration { return &c.limits.Wait }),
	size("limits.waiters", "reserves that wait at once; 0: none", func(c *config) *int { return &c.limits.Waiters }),
	size("limits.waiters_per_tenant", "reserves of one tenant that wait at once", func(c *config) *int { return &c.limits.WaitersPerTenant }),
	size("limits.batch_calls", "calls of a batch", func(c *config) *int { return &c.limits.BatchCalls }),
	size("limits.list", "keys or acts of one page", func(c *config) *int { return &c.limits.List }),
	size("limits.operation", "bytes of an operation", func(c *config) *int { return &c.limits.Operation }),
	size("limits.subject", "bytes of a subject", func(c *config) *int { return &c.limits.Subject }),
	size("limits.key", "bytes of a key", func(c *config) *int { return &c.limits.Key }),
	size("limits.holder", "bytes of a holder", func(c *config) *int { return &c.limits.Holder }),
	size("limits.resource_id", "bytes of a resource_id", func(c *config) *int { return &c.limits.ResourceID }),
	size("limits.reason", "bytes of a reason", func(c *config) *int { return &c.limits.Reason }),
	size("limits.checkpoint", "bytes of a checkpoint's data", func(c *config) *int { return &c.limits.Checkpoint }),
	size("limits.header_lines", "header lines kept of a response", func(c *config) *int { return &c.limits.HeaderLines }),
	size("limits.header_bytes", "bytes of header lines kept of a response",
		func(c *config) *int { return &c.limits.HeaderBytes }),
	size("limits.response_body", "bytes of a body kept of a response", func(c *config) *int { return &c.limits.Body }),
	number("limits.request_body", "bytes of a request's body", 1, maxSize, func(c *config) *int { return &c.maxBody }),
	number("limits.batch_body", "bytes of the body of a batch, and of the stored bodies in its answer", 1, maxSize, func(c *config) *int { return &c.maxBatch }),
}

func text(key, usage string, at func(*config) *string) setting {
	return setting{key: key, usage: usage,
		set: func(c *config, v string) error { *at(c) = v; return nil },
		get: func(c config) string { return *at(&c) },
	}
}

func choice(key, usage string, words []string, at func(*config) *string) setting {
	return setting{key: key, usage: usage + " (" + strings.Join(words, ", ") + ")",
		set: func(c *config, v string) error {
			if !slices.Contains(words, v) {
				return fmt.Errorf("%q is not one of %s", v, strings.Join(words, ", "))
			}
			*at(c) = v
			return nil
		},
		get: func(c config) string { return *at(&c) },
	}
}

func span(key, usage string, at func(*config) *time.Duration) setting {
	return setting{key: key, usage: usage,
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

func size(key, usage string, at func(*config) *int) setting {
	return number(key, usage, 0, maxSize, at)
}

func number(key, usage string, least, most int, at func(*config) *int) setting {
	return setting{key: key, usage: usage,
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

func unflagged(s setting) setting { s.noFlag = true; return s }
