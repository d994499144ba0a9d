package client

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Version is the version of this package, as User-Agent tells the service.
const Version = "0.1.0"

// Client calls one Reprise service with the tokens of one tenant. Many goroutines may use it at once, and one for the
// whole program is right: it keeps connections. It starts no goroutine of its own outside of calls.
type Client struct {
	base string // of the service, without a slash at its end
	http *http.Client
	config
	stats stats
}

// config is what options set.
type config struct {
	transport      *http.Client
	tokens         TokenSource
	maxRetries     int
	backoff        backoff
	attemptTimeout time.Duration
	settleTimeout  time.Duration
	longPoll       time.Duration
	maxAnswer      int64
	outage         OutagePolicy
	tenant         string
	holder         string
	logger         *slog.Logger
	hooks          Hooks
}

// New makes a client of the service at address, such as "https://reprise.internal" or "http://127.0.0.1:8080". It sends
// nothing. It fails when the address is not one, when no option gives a token, or when an option is out of its limits;
// the error names which.
func New(address string, options ...Option) (*Client, error) {
	base, err := baseURL(address)
	if err != nil {
		return nil, err
	}
	c := &Client{base: base, config: config{
		maxRetries:     6,
		backoff:        backoff{first: 100 * time.Millisecond, most: 2 * time.Second},
		attemptTimeout: 10 * time.Second,
		settleTimeout:  30 * time.Second,
		longPoll:       10 * time.Second,
		maxAnswer:      16 << 20,
		logger:         slog.New(slog.DiscardHandler),
	}}
	for _, option := range options {
		if err := option(&c.config); err != nil {
			return nil, fmt.Errorf("client.New: %w", err)
		}
	}
	if c.tokens == nil {
		return nil, fmt.Errorf("client.New: no token: give client.Token, client.TokenFile or client.Tokens")
	}
	if c.outage == FailOpen && c.tenant == "" {
		return nil, fmt.Errorf("client.New: OnOutage(FailOpen) needs Tenant: without the service nobody says whose keys they are, " +
			"and a downstream key is made of it")
	}
	c.http = c.httpClient()
	return c, nil
}

func baseURL(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", fmt.Errorf("client.New: the address cannot be read as a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("client.New: the address %q must begin with http:// or https:// and a host", u.Redacted())
	case u.User != nil:
		return "", fmt.Errorf("client.New: the address must not hold a user or password: the token says who calls")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("client.New: the address must not hold a query or a fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// httpClient is the caller's, or one that keeps as many idle connections as a busy server needs. Redirects are not
// followed: a POST would become a GET, and the token would go to somebody else.
func (c *Client) httpClient() *http.Client {
	h := &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   128,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}}
	if c.transport != nil {
		given := *c.transport
		h = &given
	}
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return h
}

// CloseIdleConnections closes the connections that no call uses now. A client needs no other end.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }
