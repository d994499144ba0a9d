package faultproxy

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// endpoint is where the server listens.
type endpoint struct{ network, address string }

// Neither error repeats the URL: it may hold a password.
var (
	errURL  = errors.New("not a postgres:// URL")
	errHost = errors.New("the URL names no single host")
)

const defaultPort = "5432"

// endpointOf reads the host:port, or the postgres:// URL, of a server.
func endpointOf(target string) (endpoint, error) {
	if !strings.Contains(target, "://") {
		if _, _, err := net.SplitHostPort(target); err != nil {
			return endpoint{}, err
		}
		return endpoint{"tcp", target}, nil
	}
	u, err := parse(target)
	if err != nil {
		return endpoint{}, err
	}
	host, port := hostOf(u)
	switch {
	case host == "" || strings.Contains(host, ","):
		return endpoint{}, errHost
	case strings.HasPrefix(host, "/"):
		return endpoint{"unix", host + "/.s.PGSQL." + port}, nil
	}
	return endpoint{"tcp", net.JoinHostPort(host, port)}, nil
}

func parse(databaseURL string) (*url.URL, error) {
	u, err := url.Parse(databaseURL)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errURL
	}
	return u, nil
}

// hostOf gives host and port, which may stand as parameters too: a folder with a socket cannot stand elsewhere.
func hostOf(u *url.URL) (host, port string) {
	host, port = u.Hostname(), u.Port()
	query := u.Query()
	if host == "" {
		host = query.Get("host")
	}
	if port == "" {
		port = query.Get("port")
	}
	if port == "" {
		port = defaultPort
	}
	return host, port
}

// URL turns the postgres:// URL of a database behind the proxy into the one that leads through it: with another host and
// port, and without encryption, which the proxy could not read. All else stays.
func (p *Proxy) URL(databaseURL string) (string, error) {
	u, err := parse(databaseURL)
	if err != nil {
		return "", err
	}
	u.Host = p.Addr()
	query := u.Query()
	query.Set("sslmode", "disable")
	for _, name := range []string{"host", "port", "sslnegotiation"} {
		query.Del(name)
	}
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20") // a plus sign is a plus sign to Postgres
	return u.String(), nil
}
