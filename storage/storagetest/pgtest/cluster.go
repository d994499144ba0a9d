package pgtest

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// startAttempts bounds how often a new cluster tries another port. One that we saw free is taken by
// somebody else before Postgres binds it about once in ten thousand times; twice in a row means that
// something else is wrong.
const startAttempts = 3

// setting is one line of postgresql.conf.
type setting struct{ name, value string }

// defaults make tests quick without changing what a client can observe: commits stay synchronous, but
// nothing is pushed to the disk, whose loss no test survives anyway. The process may still be killed.
var defaults = []setting{
	{"fsync", "off"},
	{"full_page_writes", "off"},
	{"synchronous_commit", "on"},
	{"max_connections", "200"}, // several packages' worth of pools in parallel tests
	{"cluster_name", "pgtest"}, // shown by ps
}

// localDefaults keep a server that runs on this machine to its loopback.
var localDefaults = []setting{
	{"listen_addresses", "127.0.0.1"},
	{"unix_socket_directories", ""}, // paths of sockets are limited to about 100 bytes; TMPDIR may be longer
}

// A cluster is a Postgres server of ours with its data.
type cluster struct {
	programs programs
	account  account
	folder   *folder
	password string
	port     int
	settings []setting

	// postgres is the running server, or nil.
	postgres *supervised
}

// newCluster makes a cluster and starts it; errAbsent if this machine cannot.
func newCluster(extra []setting) (*cluster, error) {
	found, err := findPrograms()
	if err != nil {
		return nil, err
	}
	owner, err := serverAccount()
	if err != nil {
		return nil, err
	}
	f, err := newFolder(owner)
	if err != nil {
		return nil, err
	}
	c := &cluster{
		programs: found,
		account:  owner,
		folder:   f,
		password: rand.Text(),
		settings: slices.Concat(defaults, localDefaults, extra), // of two values Postgres takes the later
	}
	if err := c.create(); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c, nil
}

func (c *cluster) create() error {
	if err := c.initialise(); err != nil {
		return err
	}
	var err error
	for range startAttempts {
		if c.port, err = freePort(); err != nil {
			return err
		}
		if err = c.start(); err == nil {
			return nil
		}
	}
	return err
}

// initialise runs initdb.
func (c *cluster) initialise() error {
	// With a password, because everybody on this machine can reach the port, and a superuser of Postgres
	// can run programs as us. In the clear, because nobody listens between us and ourselves.
	passwordFile := c.folder.join("password")
	if err := os.WriteFile(passwordFile, []byte(c.password), 0o600); err != nil {
		return err
	}
	if err := os.Chown(passwordFile, c.account.uid, c.account.gid); err != nil {
		return err
	}
	return c.runInitdb("--pgdata="+c.data(), "--no-sync", "--username=postgres", "--pwfile="+passwordFile,
		"--auth=password", "--encoding=UTF8", "--locale="+locale())
}

func (c *cluster) runInitdb(arguments ...string) error {
	log, err := os.Create(c.folder.join("initdb.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	initdb, err := supervise(c.folder, c.account, log, append([]string{c.programs.initdb()}, arguments...)...)
	if err != nil {
		return fmt.Errorf("running initdb: %w", err)
	}
	if err := initdb.wait(); err != nil {
		return fmt.Errorf("running initdb: %w", err)
	}
	if initdb.err != nil {
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("running initdb: %w\n%s", initdb.err, said)
	}
	return nil
}

// locale sorts by bytes, like production should, and knows the letters of all scripts where the system
// offers that.
func locale() string {
	if runtime.GOOS == "darwin" {
		return "C" // older versions have no C.UTF-8
	}
	return "C.UTF-8"
}

// freePort finds a port below those that the kernel hands out to outgoing connections, so that none of
// them sits on ours while the server is stopped and wants it back.
func freePort() (int, error) {
	var err error
	for range 100 {
		port := 15_000 + mathrand.IntN(15_000)
		var listener net.Listener
		listener, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("finding a free port: %w", err)
}

// start returns when the server accepts connections.
func (c *cluster) start() error {
	log, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	arguments := []string{c.programs.postgres(), "-D", c.data(), "-p", strconv.Itoa(c.port)}
	for _, s := range c.settings {
		arguments = append(arguments, "-c", s.name+"="+s.value)
	}
	c.postgres, err = supervise(c.folder, c.account, log, arguments...)
	if err != nil {
		return fmt.Errorf("starting postgres: %w", err)
	}
	if err := until("postgres is ready", c.ready); err != nil {
		err = fmt.Errorf("starting postgres: %w\n%s", err, c.log())
		return errors.Join(err, c.end())
	}
	return nil
}

// ready reads the status that Postgres writes for pg_ctl. Trying to connect would do as well, but would
// fill the log, which tests look at, with refusals.
func (c *cluster) ready() (bool, error) {
	if c.postgres.hasExited() {
		return false, fmt.Errorf("it ended: %w", c.postgres.err)
	}
	content, err := os.ReadFile(c.data() + "/postmaster.pid")
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	const pidLine, statusLine = 0, 7
	lines := strings.Split(string(content), "\n")
	// A server that was killed leaves its file behind, so the process id counts too.
	return len(lines) > statusLine &&
		lines[pidLine] == strconv.Itoa(c.postgres.pid) &&
		strings.TrimSpace(lines[statusLine]) == "ready", nil
}

// stop sends one of the shutdown signals of Postgres and waits for the end of all its processes: the
// first one ends last.
func (c *cluster) stop(s syscall.Signal) error {
	if err := c.postgres.signal(s); err != nil {
		return err
	}
	if err := c.postgres.wait(); err != nil {
		return err
	}
	c.postgres = nil
	return nil
}

// remove ends the server and deletes the data.
func (c *cluster) remove() error {
	return errors.Join(c.end(), c.folder.remove())
}

// end leaves no server running: not a paused one, nor one that never became ready.
func (c *cluster) end() error {
	if c.postgres == nil || c.postgres.hasExited() {
		c.postgres = nil
		return nil
	}
	if err := endFamily(process{pid: c.postgres.pid}); err != nil {
		return err
	}
	if err := c.postgres.wait(); err != nil {
		return err
	}
	c.postgres = nil
	return nil
}

func (c *cluster) data() string    { return c.folder.join("data") }
func (c *cluster) logFile() string { return c.folder.join("postgres.log") }

func (c *cluster) log() string {
	content, err := os.ReadFile(c.logFile())
	if err != nil {
		return err.Error()
	}
	return string(content)
}

func (c *cluster) url(database string) string {
	return databaseURL(net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)), c.password, database)
}

// databaseURL is the URL of a database on a server of ours.
func databaseURL(address, password, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword("postgres", password),
		Host:     address,
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}
