package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/column"
)

// Load reads the rows of names; see cas.Table.
func (s table) Load(ctx context.Context, names []storage.Name) (rows []*storage.Record, now time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	now = s.now()
	rows = make([]*storage.Record, len(names))
	for i, n := range names {
		if err := storable(n.Tenant, n.Operation, n.Subject, n.Key); err != nil {
			return nil, now, readError(err)
		}
		rec, err := scan(s.load.QueryRowContext(ctx, n.Tenant, n.Operation, n.Subject, n.Key))
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, now, readError(err)
		}
		rec.Name = n
		rows[i] = rec
	}
	return rows, now, nil
}

// now is the store's clock: whole microseconds, as they are stored.
func (s *Store) now() time.Time { return fromMicro(s.clock().UnixMicro()) }

func fromMicro(us int64) time.Time { return time.UnixMicro(us).UTC() }

// scan reads a row of the columns of loadSQL, in its order, after what comes before them.
func scan(row interface{ Scan(...any) error }, before ...any) (*storage.Record, error) {
	rec := &storage.Record{}
	var (
		earlier                                             string
		token, checkpoint, headers, body                    []byte
		created, updated, leaseEnd, expires, leaseMS, retMS int64
		settled, seq                                        sql.NullInt64
		bodyDropped, hasBody                                bool
		status                                              *int16
	)
	err := row.Scan(append(before, &rec.Fingerprint, &rec.AttemptID, &earlier, &rec.Holder, &token, &created, &rec.Fence, &leaseMS, &retMS,
		&rec.Attempt, &rec.SweepHour, &rec.Takeover, &rec.OnLapse, &rec.State, &rec.Revision, &rec.Version, &updated,
		&leaseEnd, &expires, &settled, &seq, &rec.LastError, &rec.ResourceID, &rec.ResultHash, &bodyDropped, &status,
		&checkpoint, &headers, &body, &hasBody)...)
	if err != nil {
		return nil, err
	}
	rec.EarlierAttemptIDs = column.ParseAttemptIDs(earlier)
	copy(rec.Token[:], token)
	rec.Lease, rec.Retention = time.Duration(leaseMS)*time.Millisecond, time.Duration(retMS)*time.Millisecond
	rec.CreatedAt, rec.UpdatedAt = fromMicro(created), fromMicro(updated)
	rec.LeaseExpiresAt, rec.ExpiresAt = fromMicro(leaseEnd), fromMicro(expires)
	if settled.Valid {
		rec.SettledAt = fromMicro(settled.Int64)
	}
	if seq.Valid {
		rec.Checkpoint = &storage.Checkpoint{Seq: seq.Int64, Data: string(checkpoint)}
	}
	if hasBody && body == nil {
		body = []byte{}
	}
	rec.Response, err = column.Response(status, headers, body, bodyDropped)
	return rec, err
}
