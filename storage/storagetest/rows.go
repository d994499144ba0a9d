package storagetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
)

// rowPromise is a promise about rows that are old or many: those are written past the rules, as they would be by now had
// they been made in time.
type rowPromise func(t *testing.T, f *rowFixture)

var rowTopics = []struct {
	name     string
	fill     func(f *rowFixture) // nil: each promise has a store of its own; else they share one, which was filled so
	promises []rowPromise
}{
	{"held", nil, heldPromises},
	{"sweep", nil, sweepPromises},
	{"delete", nil, deletePromises},
	{"open", nil, openPromises},
	{"track", nil, trackPromises},
	{"many", fillWithMany, manyPromises},
}

// Rows holds a backend to those promises of storage.Store that need old rows or many. open gives an empty store and the
// table beneath it: often, because the sweeper looks at the rows of all tenants.
func Rows(t *testing.T, open func(t *testing.T) (storage.Store, cas.Table)) {
	for _, topic := range rowTopics {
		t.Run(topic.name, func(t *testing.T) {
			var shared *rowFixture
			if topic.fill != nil {
				shared = newRowFixture(t, open)
				topic.fill(shared)
			}
			for _, p := range topic.promises {
				t.Run(nameOf(p), func(t *testing.T) {
					if shared != nil {
						p(t, &rowFixture{&fixture{t: t, store: shared.store}, shared.table})
						return
					}
					p(t, newRowFixture(t, open))
				})
			}
		})
	}
}

func newRowFixture(t *testing.T, open func(t *testing.T) (storage.Store, cas.Table)) *rowFixture {
	store, table := open(t)
	return &rowFixture{&fixture{t: t, store: store}, table}
}

// rowFixture is what such a promise is tested with: a store, and its rows.
type rowFixture struct {
	*fixture
	table cas.Table
}

func (f *rowFixture) now() time.Time {
	f.t.Helper()
	return clock(f.t, f.table)
}

// insert writes rows as they are.
func (f *rowFixture) insert(rows ...*storage.Record) {
	f.t.Helper()
	rows = slices.SortedFunc(slices.Values(rows), func(a, b *storage.Record) int { return a.Name.Compare(b.Name) })
	for group := range slices.Chunk(rows, 1000) {
		changes := make([]cas.Change, len(group))
		for i, r := range group {
			changes[i].Next = r
		}
		if saved := save(f.t, f.table, changes...); slices.Contains(saved, false) {
			f.t.Fatal("a row was there already")
		}
	}
}

// replace writes a row over another one.
func (f *rowFixture) replace(prev, next *storage.Record) {
	f.t.Helper()
	if !save(f.t, f.table, cas.Change{Prev: prev, Next: next})[0] {
		f.t.Fatalf("the row of %v is not the one that was to be replaced", prev.Name)
	}
}

// row reads a row as it is, expired or not; nil when there is none.
func (f *rowFixture) row(n storage.Name) *storage.Record {
	f.t.Helper()
	return load(f.t, f.table, n)[0]
}

// remain asserts that rows are there as they were written.
func (f *rowFixture) remain(rows ...*storage.Record) {
	f.t.Helper()
	for _, r := range rows {
		if diff := cmp.Diff(r, f.row(r.Name), cmpopts.EquateEmpty()); diff != "" {
			f.t.Errorf("the row of %v is not as it was (-want +got):\n%s", r.Name, diff)
		}
	}
}

// acquiredAt is a row as its first acquisition left it: leased for half a minute, and kept for a day after that.
func acquiredAt(n storage.Name, at time.Time) *storage.Record {
	r := &storage.Record{Name: n, State: storage.InProgress, Attempt: 1, Fence: at.UnixMicro(), Token: storage.NewToken(), Holder: "worker",
		AttemptID: fresh(), Fingerprint: "fp-1", Lease: 30 * time.Second, Retention: 24 * time.Hour, CreatedAt: at, UpdatedAt: at, Revision: 1, Version: 1}
	return leasedUntil(r, at.Add(r.Lease))
}

// leasedUntil moves the end of the lease, and with it that of the row.
func leasedUntil(r *storage.Record, end time.Time) *storage.Record {
	r.LeaseExpiresAt = end
	return endedAt(r, end.Add(r.Retention))
}

// heldAt is a row that waits for an operator once its lease is over.
func heldAt(n storage.Name, at time.Time) *storage.Record {
	r := acquiredAt(n, at)
	r.OnLapse = storage.Hold
	return r
}

// overAt is a row that was settled or released a second after its acquisition, at an instant, and is kept for an hour.
func overAt(n storage.Name, at time.Time, state storage.State) *storage.Record {
	r := acquiredAt(n, at.Add(-time.Second))
	r.State, r.UpdatedAt, r.Retention, r.Revision, r.Version = state, at, time.Hour, 2, 2
	if state.Settled() {
		r.SettledAt, r.ResultHash, r.Response = at, []byte("hash-1"), &storage.Response{Status: 201}
	}
	return endedAt(r, at.Add(r.Retention))
}

// endedAt moves the end of a row, and with it the hour in which it is swept.
func endedAt(r *storage.Record, end time.Time) *storage.Record {
	r.ExpiresAt, r.SweepHour = end, storage.SweepHourOf(end)
	return r
}

// hourOf is the number of the hour that an instant is in.
func hourOf(at time.Time) int32 { return int32(at.Unix() / 3600) }
