package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	rounds   = 3
	duration = 4 * time.Second // of one measurement
	warmUp   = 500 * time.Millisecond
)

// pair does one pair of calls under a key that nobody has used.
type pair func(ctx context.Context, caller int, key string) error

// system is something that does pairs.
type system struct {
	name string
	do   pair
}

// baseline compares pairs a second: the service on both stores with the two statements that a team would write itself.
func baseline(ctx context.Context, m *machine) error {
	callers := []int{1, 16, 64, 256}
	systems, err := baselineSystems(ctx, m, callers[len(callers)-1])
	if err != nil {
		return err
	}
	fmt.Printf("%8s", "callers")
	for _, s := range systems {
		fmt.Printf(" %22s", s.name)
	}
	fmt.Println()
	for _, n := range callers {
		rates := make([][]float64, len(systems))
		for range rounds { // one system after the other in each round, so that a slow moment of the machine hits all
			for i, s := range systems {
				rate, err := measure(ctx, s.do, n)
				if err != nil {
					return fmt.Errorf("%s with %d callers: %w", s.name, n, err)
				}
				rates[i] = append(rates[i], rate)
			}
		}
		fmt.Printf("%8d", n)
		reference := median(rates[0])
		for i := range systems {
			rate := median(rates[i])
			fmt.Printf(" %9.0f/s (×%4.2f)   ", rate, rate/reference)
		}
		fmt.Println()
	}
	return nil
}

func baselineSystems(ctx context.Context, m *machine, callers int) ([]system, error) {
	url, err := m.database(ctx)
	if err != nil {
		return nil, err
	}
	statements, err := plainStatements(ctx, m, url)
	if err != nil {
		return nil, err
	}
	systems := []system{{"two statements by pgx", statements}}
	token, err := m.Token(ctx, "bench")
	if err != nil {
		return nil, err
	}
	for _, s := range []struct{ name, url string }{{"reprise on postgres", url}, {"reprise on sqlite", "sqlite:" + filepath.Join(m.Folder, "bench.db")}} {
		server, err := m.serve(ctx, s.url)
		if err != nil {
			return nil, err
		}
		a := api{client: client(callers), url: server.url, token: token}
		systems = append(systems, system{s.name, func(ctx context.Context, _ int, key string) error { return a.pair(ctx, key) }})
	}
	return systems, nil
}

// plainStatements is what a team writes itself: the key is inserted, and updated with the response.
func plainStatements(ctx context.Context, m *machine, url string) (pair, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 16 // more are slower here
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	m.tb.Cleanup(pool.Close)
	_, err = pool.Exec(ctx, `CREATE TABLE plain_keys (tenant text, operation text, key text, fingerprint text, state smallint, locked_until timestamptz,
		status smallint, body bytea, PRIMARY KEY (tenant, operation, key))`)
	return func(ctx context.Context, _ int, key string) error {
		tag, err := pool.Exec(ctx, `INSERT INTO plain_keys VALUES ('bench', 'POST /v1/orders', $1, 'amount=100', 1, now() + interval '30 s')
			ON CONFLICT (tenant, operation, key) DO NOTHING`, key)
		if err == nil && tag.RowsAffected() != 1 {
			err = fmt.Errorf("key %s was there", key)
		}
		if err != nil {
			return err
		}
		_, err = pool.Exec(ctx, `UPDATE plain_keys SET state = 2, status = 201, body = $2
			WHERE tenant = 'bench' AND operation = 'POST /v1/orders' AND key = $1`, key, []byte(response))
		return err
	}, err
}

var keys atomic.Int64

// measure runs callers in a closed loop, and gives pairs a second.
func measure(ctx context.Context, do pair, callers int) (float64, error) {
	if _, err := loop(ctx, do, callers, warmUp); err != nil {
		return 0, err
	}
	return loop(ctx, do, callers, duration)
}

func loop(ctx context.Context, do pair, callers int, d time.Duration) (float64, error) {
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	began := time.Now()
	end := began.Add(d)
	for caller := range callers {
		all.Go(func() {
			for time.Now().Before(end) && failed.Load() == nil {
				if err := do(ctx, caller, fmt.Sprintf("key-%d-%d", began.UnixNano(), keys.Add(1))); err != nil {
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(began).Seconds(), nil
}
