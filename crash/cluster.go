package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-idempotency/reprise/storage/storagetest/pgtest"
)

// bench stands in for the test that package pgtest serves, so that this program uses the very server that the tests
// use: its supervisor ends Postgres even when we are killed.
type bench struct {
	testing.TB // nil: only what is below is ever called
	cleanups   []func()
}

// gaveUp is the panic of a bench that a test would end with. It is caught by [guarded].
type gaveUp struct{ error }

func (b *bench) Helper()                   {}
func (b *bench) Cleanup(f func())          { b.cleanups = append(b.cleanups, f) }
func (b *bench) Errorf(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
func (b *bench) Fatal(a ...any)            { panic(gaveUp{errors.New(fmt.Sprint(a...))}) }
func (b *bench) Fatalf(f string, a ...any) { panic(gaveUp{fmt.Errorf(f, a...)}) }
func (b *bench) Skipf(f string, a ...any)  { panic(gaveUp{fmt.Errorf(f, a...)}) }

func (b *bench) close() {
	for _, f := range slices.Backward(b.cleanups) {
		f()
	}
	b.cleanups = nil
}

// guarded turns the end of a bench into an error. All calls of a Server have to be in it.
func guarded(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case gaveUp:
			err = r
		default:
			panic(r)
		}
	}()
	return f()
}

// newCluster starts a Postgres of its own that really writes to the disk, as production does.
func newCluster(b *bench) *pgtest.Server {
	return pgtest.NewServer(b, pgtest.Setting("fsync", "on"), pgtest.Setting("full_page_writes", "on"))
}

// durability asks the running server what it does, because a setting that was not taken would prove nothing.
func durability(ctx context.Context, url string) (string, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var version, fsync, commit, pages, method string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('fsync'),
		current_setting('synchronous_commit'), current_setting('full_page_writes'), current_setting('wal_sync_method')`).
		Scan(&version, &fsync, &commit, &pages, &method)
	if err == nil && (fsync != "on" || commit != "on" || pages != "on") {
		err = errors.New("the cluster does not write as production does")
	}
	return fmt.Sprintf("PostgreSQL %s, fsync %s, synchronous_commit %s, full_page_writes %s, wal_sync_method %s",
		version, fsync, commit, pages, method), err
}
