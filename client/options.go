package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"
)

// Option sets one thing of a client; see [New].
type Option func(*config) error

// TokenSource gives the JWT for a request. It is asked before every request that goes out, by many goroutines at once,
// so it should remember a token for as long as that is good. After an error of it the call is tried again; in the end it is
// [ErrUnauthenticated], which is no outage for [OnOutage].
type TokenSource func(context.Context) (string, error)

// Token sends the same JWT with every request.
func Token(token string) Option {
	return func(c *config) error {
		if err := checkToken(token); err != nil {
			return fmt.Errorf("Token: %w", err)
		}
		return Tokens(func(context.Context) (string, error) { return token, nil })(c)
	}
}

// TokenFile reads the JWT from a file before each request, so that a token which is renewed there, as Kubernetes does
// it, is noticed. White space around it is left out. The file must be there when the client is made.
func TokenFile(path string) Option {
	read := func(context.Context) (string, error) {
		text, err := os.ReadFile(path)
		return strings.TrimSpace(string(text)), err
	}
	return func(c *config) error {
		token, err := read(context.Background())
		if err == nil {
			err = checkToken(token)
		}
		if err != nil {
			return fmt.Errorf("TokenFile: %w", err)
		}
		return Tokens(read)(c)
	}
}

// Tokens asks source for the JWT of each request.
func Tokens(source TokenSource) Option {
	return func(c *config) error {
		if source == nil {
			return errors.New("Tokens: the source is nil")
		}
		c.tokens = source
		return nil
	}
}

// checkToken keeps what is no token out of a header. It never repeats it.
func checkToken(token string) error {
	if token == "" {
		return errors.New("the token is empty")
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return fmt.Errorf("the token has the byte 0x%02X at %d, which no JWT has", token[i], i)
		}
	}
	return nil
}

// HTTPClient sends requests through h, for proxies, client certificates or tracing. Its Timeout, if any, ends each
// request by itself, and must be longer than the long poll ([LongPoll]). It is copied; redirects are never followed.
func HTTPClient(h *http.Client) Option {
	return func(c *config) error {
		if h == nil {
			return errors.New("HTTPClient: it is nil")
		}
		c.transport = h
		return nil
	}
}

// MaxRetries says how often a call is repeated when it was not answered or was told to be repeated: 0 to 100, 6 by
// default, which with the default [Backoff] is some 5 s. 0 means one request on the wire, whatever happens.
func MaxRetries(n int) Option {
	return func(c *config) error {
		c.maxRetries = n
		return within("MaxRetries", n, 0, 100)
	}
}

// Backoff says how long to pause before the first repetition, and at most before a later one; each pause doubles the one
// before, and a random half of it is left out. 100 ms and 2 s by default. A pause that the service asks for (Retry-After) is kept.
func Backoff(first, most time.Duration) Option {
	return func(c *config) error {
		c.backoff = backoff{first: first, most: most}
		if err := within("Backoff: first", first, time.Millisecond, time.Minute); err != nil {
			return err
		}
		return within("Backoff: most", most, first, time.Minute)
	}
}

// AttemptTimeout bounds each request by itself, apart from the caller's context, so that a request which hangs can be
// repeated: 100 ms to 5 min, 10 s by default. A reserve that waits has its wait on top. The service may take 6 s to
// write while its store is slow.
func AttemptTimeout(d time.Duration) Option {
	return func(c *config) error {
		c.attemptTimeout = d
		return within("AttemptTimeout", d, 100*time.Millisecond, 5*time.Minute)
	}
}

// SettleTimeout says how long [Do] and its kin repeat complete or release, whatever became of the caller's context, once
// the work is over: 1 s to 1 h, 30 s by default. The number of repetitions is then not bounded, unless [MaxRetries] is 0.
func SettleTimeout(d time.Duration) Option {
	return func(c *config) error {
		c.settleTimeout = d
		return within("SettleTimeout", d, time.Second, time.Hour)
	}
}

// LongPoll says how long one reserve of [Do] may wait at the service while another attempt is in progress: 1 ms to
// 20 s, 10 s by default. It is asked again until [Op.Wait] is over.
func LongPoll(d time.Duration) Option {
	return func(c *config) error {
		c.longPoll = d
		return within("LongPoll", d, time.Millisecond, 20*time.Second)
	}
}

// MaxAnswer bounds the bytes that are read of an answer: 64 KiB to 1 GiB, 16 MiB by default. A stored body of 1 MiB
// takes up to 6 MiB of JSON.
func MaxAnswer(bytes int64) Option {
	return func(c *config) error {
		c.maxAnswer = bytes
		return within("MaxAnswer", bytes, 64<<10, 1<<30)
	}
}

// OutagePolicy says what becomes of work when the service cannot be asked.
type OutagePolicy int

const (
	// FailClosed does not run the work: without a grant nothing happens. This is the default.
	FailClosed OutagePolicy = iota + 1
	// FailOpen runs the work without protection: it may run twice. [Lease.Unguarded] tells it, [Stats] and
	// [Hooks] count it.
	FailOpen
)

// OnOutage sets the policy for [Do] and its kin; [Op.OnOutage] overrides it. Only [ErrUnavailable] counts as an outage: no
// token, no right, or a limit is none. FailOpen needs [Tenant].
func OnOutage(policy OutagePolicy) Option {
	return func(c *config) error {
		c.outage = policy
		return within("OnOutage", policy, FailClosed, FailOpen)
	}
}

// Tenant says whose token this is. It is checked against what the service answers, and [Lease.DownstreamKey] needs it
// when the service cannot be asked ([FailOpen]). 1 to 200 bytes.
func Tenant(tenant string) Option {
	return func(c *config) error {
		c.tenant = tenant
		return within("Tenant: bytes", len(tenant), 1, 200)
	}
}

// Holder names this process for people who look at keys in progress, such as host name and pid: 1 to 255 bytes.
func Holder(name string) Option {
	return func(c *config) error {
		c.holder = name
		return within("Holder: bytes", len(name), 1, 255)
	}
}

// Logger gets a line for what a program should not be silent about: a result that could not be recorded, a lease that
// was lost, work that ran unguarded, and, at debug level, each repetition. Keys and tokens are never logged.
func Logger(l *slog.Logger) Option {
	return func(c *config) error {
		if l == nil {
			return errors.New("Logger: it is nil")
		}
		c.logger = l
		return nil
	}
}

// Observe sets hooks, for metrics and traces.
func Observe(h Hooks) Option {
	return func(c *config) error {
		c.hooks = h
		return nil
	}
}

// within checks an option, and names it and its limits.
func within[T int | int64 | time.Duration | OutagePolicy](name string, got, least, most T) error {
	if got < least || got > most {
		return fmt.Errorf("%s: %v: must be %v to %v", name, got, least, most)
	}
	return nil
}
