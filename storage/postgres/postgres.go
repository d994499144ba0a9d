// Package postgres keeps keys in PostgreSQL (15 or newer), the backend for production. Any number of processes may
// share one database.
//
// Every hot statement names its rows by their full key, passed as arrays, in sorted order; is a unit of its own; and
// holds no lock while the service thinks. The connections refuse a database that would acknowledge before it has
// written (synchronous_commit = off).
package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
)

// Options set the sizes of a Store. The zero value of a field takes its default.
type Options struct {
	// MaxConns is the size of the pool, 8 by default. A call holds a connection only while a statement runs, so that a
	// small pool serves many callers.
	MaxConns int32
	// ReadTimeout bounds the reading of a group, the wait for a connection included: 2.5 s by default, so that a server
	// that does not answer is answered for within 3 s.
	ReadTimeout time.Duration
	// WriteTimeout bounds a write by the client's clock, 6 s by default: longer than the server's own limits, so that it
	// only ends the wait for a server that does not answer at all.
	WriteTimeout time.Duration
}

const (
	// A statement is a few milliseconds of work; what takes longer waits for something that is wrong. The lock limit is
	// the shorter one, so that a row that a stranger has locked is named as such.
	statementTimeout = "4000" // milliseconds, as Postgres takes it
	lockTimeout      = "2000"
	idleInTxTimeout  = "10000"                 // nothing here leaves a transaction open: this is a hedge against our own mistakes
	connectTimeout   = 2500 * time.Millisecond // a busy server takes its time to make a process
)

// unwanted are ways to join that do not go from name to name through the primary key, and to sort all that there is where
// an index has it in order but for ties. The planner takes them for an empty table, and such a plan, kept while the table
// grows, reads all of it for each group or page. Besides, only the nested loop locks rows in the order of the group. Where
// there is no other way, as for a table without an index, they are taken all the same, at a price so high that they would
// be compiled first (jit): tens of milliseconds for nothing.
var unwanted = []string{"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "enable_material", "enable_sort", "jit"}

// Store is a storage.Store on PostgreSQL.
type Store struct {
	gate         cas.Gate
	pool         *pgxpool.Pool
	readTimeout  time.Duration
	writeTimeout time.Duration
}

var _ storage.Store = (*Store)(nil)

// Open prepares a store; it does not connect, so that a service can start before its database. Use [Store.Ready] to
// see whether the database serves.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errURL
	}
	cfg.MaxConns = max(o.MaxConns, 0)
	if cfg.MaxConns == 0 {
		cfg.MaxConns = 8
	}
	cfg.ConnConfig.ConnectTimeout = connectTimeout
	setDefault(cfg.ConnConfig.RuntimeParams, "application_name", "reprise")
	cfg.ConnConfig.RuntimeParams["client_encoding"] = "UTF8"
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = statementTimeout
	cfg.ConnConfig.RuntimeParams["lock_timeout"] = lockTimeout
	cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = idleInTxTimeout
	for _, setting := range unwanted {
		cfg.ConnConfig.RuntimeParams[setting] = "off"
	}
	cfg.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan" // the plan that was looked at, from the first time on
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement  // whatever the URL says: a lost answer is told by it
	cfg.BeforeConnect = withoutCancel
	cfg.AfterConnect = refuseUnsafe
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("preparing the Postgres pool: %w", err)
	}
	s := &Store{pool: pool, readTimeout: o.ReadTimeout, writeTimeout: o.WriteTimeout}
	if s.readTimeout == 0 {
		s.readTimeout = 2500 * time.Millisecond
	}
	if s.writeTimeout == 0 {
		s.writeTimeout = 6 * time.Second
	}
	return s, nil
}

// errURL says nothing of what is wrong: the cause would repeat parts of the URL, and with them of a password.
var errURL = errors.New("it cannot be read: it must be postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…, with the " +
	"special characters of a password percent-encoded")

func setDefault(m map[string]string, key, value string) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

// table reads and writes the rows of a store, past its gate and past the rules of package life.
type table struct{ *Store }

var _ cas.Table = table{}

// Apply answers a group of calls; see storage.Store.
func (s *Store) Apply(ctx context.Context, calls []storage.Call) []storage.Answer {
	return s.gate.Apply(ctx, table{s}, calls)
}

// Connections tells how the pool stands.
func (s *Store) Connections() (acquired, idle, most int32) {
	stat := s.pool.Stat()
	return stat.AcquiredConns(), stat.IdleConns(), stat.MaxConns()
}

// Close waits for the calls that are under way and closes the connections.
func (s *Store) Close() error {
	s.gate.Close()
	closed := make(chan struct{})
	go func() { defer close(closed); s.pool.Close() }()
	select {
	case <-closed:
	case <-time.After(closeTimeout): // the database hangs; what was sent to it was waited for by the gate
	}
	return nil
}

// closeTimeout bounds how long a connection may take to end: pgx gives a server that hangs 15 s.
const closeTimeout = 2 * time.Second
