package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
	"github.com/reprise-idempotency/reprise/storage/column"
)

// Save writes the changes of a group in one transaction; see cas.Table.
func (s table) Save(ctx context.Context, changes []cas.Change) (saved []bool, err error) {
	conn, err := s.lockToWrite(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	defer conn.Close() // gives it back to the pool
	// From here on the caller's patience no longer counts: nothing below waits for anybody.
	ctx = context.WithoutCancel(ctx)
	saved, err = s.write(ctx, conn, changes)
	if err != nil {
		return nil, rollback(ctx, conn, writeError(err))
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return nil, rollback(ctx, conn, commitError(err))
	}
	return saved, nil
}

// lockToWrite takes the writing connection and the database's write lock at once: a transaction that reads first and
// writes later would be refused, not queued, when another one wrote in between.
func (s *Store) lockToWrite(ctx context.Context) (*sql.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), "BEGIN IMMEDIATE"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// rollback ends a transaction that failed. A connection that cannot even do that is thrown away, and its file
// descriptor with it, so that it never comes back from the pool within a transaction.
func rollback(ctx context.Context, conn *sql.Conn, cause error) error {
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return cause
}

func (s *Store) write(ctx context.Context, conn *sql.Conn, changes []cas.Change) ([]bool, error) {
	saved := make([]bool, len(changes))
	now := s.now()
	for i, c := range changes {
		if !c.ValidBefore.IsZero() && !now.Before(c.ValidBefore) {
			continue
		}
		res, err := s.writeOne(ctx, conn, c)
		if err != nil {
			return nil, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return nil, err
		}
		saved[i] = n == 1
		if saved[i] {
			if err := insertActs(ctx, conn, c); err != nil {
				return nil, err
			}
		}
	}
	return saved, nil
}

func (s *Store) writeOne(ctx context.Context, conn *sql.Conn, c cas.Change) (sql.Result, error) {
	r := c.Next
	name := []any{r.Tenant, r.Operation, r.Subject, r.Key}
	values, err := plain(r)
	if err != nil {
		return nil, err
	}
	checkpoint, headers, body, err := large(r)
	if err != nil {
		return nil, err
	}
	if c.Prev == nil {
		return conn.ExecContext(ctx, insertSQL, append(append(values, checkpoint, headers, body), name...)...)
	}
	keepCheckpoint, keepResponse := r.Checkpoint == c.Prev.Checkpoint, r.Response == c.Prev.Response
	values = append(values, keepCheckpoint, checkpoint, keepResponse, headers, keepResponse, body)
	values = append(append(values, name...), c.Prev.Token[:], c.Prev.Revision)
	return conn.ExecContext(ctx, updateSQL, values...)
}

// plain gives the columns but the large ones, in the order of statements.go.
func plain(r *storage.Record) ([]any, error) {
	var settled, seq any
	if !r.SettledAt.IsZero() {
		settled = r.SettledAt.UnixMicro()
	}
	if r.Checkpoint != nil {
		seq = r.Checkpoint.Seq
	}
	if err := storable(r.Fingerprint, r.AttemptID, r.Holder, r.LastError, r.ResourceID); err != nil {
		return nil, err
	}
	return []any{r.Fingerprint, r.AttemptID, column.AttemptIDs(r.EarlierAttemptIDs), r.Holder, r.Token[:],
		r.CreatedAt.UnixMicro(), r.Fence, r.Lease.Milliseconds(), r.Retention.Milliseconds(), r.Attempt, r.SweepHour,
		r.Takeover, int16(r.OnLapse), int16(r.State), r.Revision, r.Version, r.UpdatedAt.UnixMicro(),
		r.LeaseExpiresAt.UnixMicro(), r.ExpiresAt.UnixMicro(), settled, seq, r.LastError, r.ResourceID, r.ResultHash,
		r.Response != nil && r.Response.BodyDropped, column.Status(r.Response)}, nil
}

// large gives the columns that may be large. A null column and an empty one are two things.
func large(r *storage.Record) (checkpoint, headers, body any, err error) {
	if r.Checkpoint != nil {
		checkpoint = []byte(r.Checkpoint.Data)
	}
	lines, err := column.Headers(r.Response)
	if lines != nil {
		headers = lines
	}
	if r.Response != nil && r.Response.Body != nil {
		body = r.Response.Body
	}
	return checkpoint, headers, body, err
}
