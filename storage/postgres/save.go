package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
	"github.com/reprise-idempotency/reprise/storage/column"
)

// Save writes the changes of a group; see cas.Table. Rows to make and rows to replace are two statements of one
// implicit transaction, sent together: one round trip, one flush to disk. Every group inserts before it updates and
// does both in the order of the names, so that no two can wait for each other in a circle.
func (s table) Save(ctx context.Context, changes []cas.Change) (saved []bool, err error) {
	insert, insertAt, update, updateAt, err := arrays(changes)
	if err != nil {
		return nil, err
	}
	conn, err := s.acquireToWrite(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	defer conn.Release()
	// From here on the caller's patience no longer counts: a commit that is cancelled may still be stored.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.writeTimeout)
	defer cancel()

	saved = make([]bool, len(changes))
	var batch pgx.Batch
	if insertAt != nil {
		batch.Queue(insertSQL, insert.args()...).Query(func(r pgx.Rows) error { return insertedInto(saved, insertAt, r) })
	}
	if updateAt != nil {
		batch.Queue(updateSQL, update.args()...).Query(func(r pgx.Rows) error { return updatedInto(saved, updateAt, r) })
	}
	write := func() error { return conn.SendBatch(ctx, &batch).Close() }
	if hasActs(changes) {
		err = saveWithActs(ctx, conn.Conn(), changes, saved, write)
	} else if err = write(); err != nil {
		err = writeError(err)
	}
	if err != nil {
		return nil, err
	}
	return saved, nil
}

// insertedInto marks the changes whose fresh tokens came back.
func insertedInto(saved []bool, at map[storage.Token]int, r pgx.Rows) error {
	for r.Next() {
		var token pgtype.UUID
		if err := r.Scan(&token); err != nil {
			return err
		}
		saved[at[token.Bytes]] = true
	}
	return r.Err()
}

// updatedInto marks the changes whose places in the update came back.
func updatedInto(saved []bool, at []int, r pgx.Rows) error {
	for r.Next() {
		var n int64
		if err := r.Scan(&n); err != nil {
			return err
		}
		saved[at[n-1]] = true
	}
	return r.Err()
}

// arrays puts the changes into the arrays of the two statements, with the way back from a result to its change.
func arrays(changes []cas.Change) (insert params, insertAt map[storage.Token]int, update params, updateAt []int, err error) {
	for i, c := range changes {
		if c.Prev == nil {
			if insertAt == nil {
				insertAt = make(map[storage.Token]int, len(changes))
			}
			insertAt[c.Next.Token] = i
			err = insert.add(c, false, false)
		} else {
			updateAt = append(updateAt, i)
			err = update.addChange(c)
		}
		if err != nil {
			return
		}
	}
	return
}

// params are the arrays of a write, a column each.
type params struct {
	tenant, operation, subject, key         []string
	fingerprint, attemptID, earlier, holder []string
	token                                   []pgtype.UUID
	createdAt                               []time.Time
	fence, leaseMS, retentionMS             []int64
	attempt, sweepHour                      []int32
	takeover                                []bool
	onLapse, state                          []int16
	revision, version                       []int32
	updatedAt, leaseExpiresAt, expiresAt    []time.Time
	settledAt                               []*time.Time
	checkpointSeq                           []*int64
	lastError, resourceID                   []string
	resultHash                              [][]byte
	bodyDropped                             []bool
	status                                  []*int16
	checkpoint, headers, body               [][]byte
	prevToken                               []pgtype.UUID
	prevRevision                            []int32
	validBefore                             []pgtype.Timestamptz
	keepCheckpoint, keepResponse            []bool
}

// args are in the order of statements.go: name, columns and, for an update, the guard.
func (p *params) args() []any {
	args := []any{p.tenant, p.operation, p.subject, p.key, p.fingerprint, p.attemptID, p.earlier, p.holder, p.token,
		p.createdAt, p.fence, p.leaseMS, p.retentionMS, p.attempt, p.sweepHour, p.takeover, p.onLapse, p.state, p.revision,
		p.version, p.updatedAt, p.leaseExpiresAt, p.expiresAt, p.settledAt, p.checkpointSeq, p.lastError, p.resourceID,
		p.resultHash, p.bodyDropped, p.status, p.checkpoint, p.headers, p.body, p.validBefore}
	if p.prevToken != nil {
		args = append(args, p.prevToken, p.prevRevision, p.keepCheckpoint, p.keepResponse)
	}
	return args
}

// addChange adds a row to replace, with what must still be true of it.
func (p *params) addChange(c cas.Change) error {
	keepCheckpoint, keepResponse := c.Next.Checkpoint == c.Prev.Checkpoint, c.Next.Response == c.Prev.Response
	p.prevToken = append(p.prevToken, uuidOf(c.Prev.Token))
	p.prevRevision = append(p.prevRevision, c.Prev.Revision)
	p.keepCheckpoint = append(p.keepCheckpoint, keepCheckpoint)
	p.keepResponse = append(p.keepResponse, keepResponse)
	return p.add(c, keepCheckpoint, keepResponse)
}

func (p *params) add(c cas.Change, keepCheckpoint, keepResponse bool) error {
	r := c.Next
	p.validBefore = append(p.validBefore, endOf(c))
	p.tenant = append(p.tenant, r.Tenant)
	p.operation = append(p.operation, r.Operation)
	p.subject = append(p.subject, r.Subject)
	p.key = append(p.key, r.Key)
	p.fingerprint = append(p.fingerprint, r.Fingerprint)
	p.attemptID = append(p.attemptID, r.AttemptID)
	p.earlier = append(p.earlier, column.AttemptIDs(r.EarlierAttemptIDs))
	p.holder = append(p.holder, r.Holder)
	p.token = append(p.token, uuidOf(r.Token))
	p.createdAt = append(p.createdAt, r.CreatedAt)
	p.fence = append(p.fence, r.Fence)
	p.leaseMS = append(p.leaseMS, r.Lease.Milliseconds())
	p.retentionMS = append(p.retentionMS, r.Retention.Milliseconds())
	p.attempt = append(p.attempt, int32(r.Attempt))
	p.sweepHour = append(p.sweepHour, r.SweepHour)
	p.takeover = append(p.takeover, r.Takeover)
	p.onLapse = append(p.onLapse, int16(r.OnLapse))
	p.state = append(p.state, int16(r.State))
	p.revision = append(p.revision, r.Revision)
	p.version = append(p.version, r.Version)
	p.updatedAt = append(p.updatedAt, r.UpdatedAt)
	p.leaseExpiresAt = append(p.leaseExpiresAt, r.LeaseExpiresAt)
	p.expiresAt = append(p.expiresAt, r.ExpiresAt)
	p.settledAt = append(p.settledAt, orNull(r.SettledAt))
	p.lastError = append(p.lastError, r.LastError)
	p.resourceID = append(p.resourceID, r.ResourceID)
	p.resultHash = append(p.resultHash, r.ResultHash)
	return p.addContents(r, keepCheckpoint, keepResponse)
}

// addContents adds what may be large, unless it stays as it is in the row.
func (p *params) addContents(r *storage.Record, keepCheckpoint, keepResponse bool) error {
	var seq *int64
	var checkpoint, headers, body []byte
	var dropped bool
	if r.Checkpoint != nil {
		seq = &r.Checkpoint.Seq
		if !keepCheckpoint {
			checkpoint = []byte(r.Checkpoint.Data)
		}
	}
	if r.Response != nil {
		dropped = r.Response.BodyDropped
	}
	if r.Response != nil && !keepResponse {
		var err error
		if headers, err = column.Headers(r.Response); err != nil {
			return err
		}
		body = r.Response.Body
	}
	p.checkpointSeq = append(p.checkpointSeq, seq)
	p.bodyDropped = append(p.bodyDropped, dropped)
	p.status = append(p.status, column.Status(r.Response))
	p.checkpoint = append(p.checkpoint, checkpoint)
	p.headers = append(p.headers, headers)
	p.body = append(p.body, body)
	return nil
}

// endOf gives when a change is over; a change without an end never is.
func endOf(c cas.Change) pgtype.Timestamptz {
	end := pgtype.Timestamptz{Time: c.ValidBefore, Valid: true}
	if c.ValidBefore.IsZero() {
		end.InfinityModifier = pgtype.Infinity
	}
	return end
}

func uuidOf(t storage.Token) pgtype.UUID { return pgtype.UUID{Bytes: t, Valid: true} }

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
