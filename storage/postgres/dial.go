package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var errNoCancel = errors.New("a statement that was sent is not cancelled")

// withoutCancel keeps pgx from asking the server to cancel what a connection was doing when we gave up waiting for it.
// A commit that waits for its synchronous standby would be acknowledged without it. The server's own time limits end
// a statement that waits for anything else. pgx asks over a second connection, with the dialler of the first.
func withoutCancel(_ context.Context, c *pgx.ConnConfig) error {
	var connected atomic.Bool
	dial, then := c.DialFunc, c.AfterConnect
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() {
			return nil, errNoCancel
		}
		return dial(ctx, network, address)
	}
	c.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		connected.Store(true)
		if then == nil {
			return nil
		}
		return then(ctx, conn)
	}
	return nil
}
