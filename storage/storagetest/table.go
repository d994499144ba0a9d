package storagetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/cas"
)

// Table runs the promises of cas.Table, which every backend keeps beneath its Store: what is written is what is read,
// and nothing is written over a row that has changed.
func Table(t *testing.T, open func(t *testing.T) cas.Table) {
	for name, promise := range map[string]func(*testing.T, cas.Table){
		"every column comes back as it was written":    columnsComeBack,
		"large contents that stay are kept":            contentsAreKept,
		"rows are aligned with the names asked for":    rowsAreAligned,
		"an insert never replaces a row":               insertNeverReplaces,
		"a row is replaced only if it is the one read": replaceOnlyTheRowRead,
		"a change is not written after its end":        changeEnds,
		"every part of a name tells rows apart":        partsTellRowsApart,
	} {
		t.Run(name, func(t *testing.T) { promise(t, open(t)) })
	}
}

// row makes a row with every field set.
func row(key string, now time.Time) *storage.Record {
	us := func(n int) time.Time { return now.Add(time.Duration(n) * time.Microsecond) }
	return &storage.Record{
		Name:  storage.Name{Tenant: "tenant", Operation: "operation", Subject: "subject", Key: key},
		State: storage.Completed, OnLapse: storage.Hold, Attempt: 7, Fence: 1<<53 - 1, Token: storage.NewToken(), Takeover: true,
		Holder: "holder", AttemptID: "attempt-5", EarlierAttemptIDs: []string{"attempt-4", "attempt-3"}, Fingerprint: "fingerprint",
		Lease: 1234 * time.Millisecond, Retention: 90 * 24 * time.Hour, CreatedAt: us(1), UpdatedAt: us(2), LeaseExpiresAt: us(3),
		SettledAt: us(4), ExpiresAt: us(5), SweepHour: 499_999, Checkpoint: &storage.Checkpoint{Seq: 1<<53 - 1, Data: "data\x00"},
		ResourceID: "resource", LastError: "last\nerror", ResultHash: []byte{0, 1, 255}, Revision: 1<<31 - 2, Version: 12,
		Response: &storage.Response{Status: 999, Headers: [][2]string{{"A", "1"}, {"a", ""}}, Body: []byte{0, 0xff},
			BodyDropped: true, DroppedHeaders: []string{"B", "C"}},
	}
}

func clock(t *testing.T, table cas.Table) time.Time {
	t.Helper()
	_, now, err := table.Load(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func save(t *testing.T, table cas.Table, changes ...cas.Change) []bool {
	t.Helper()
	saved, err := table.Save(context.Background(), changes)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func load(t *testing.T, table cas.Table, names ...storage.Name) []*storage.Record {
	t.Helper()
	rows, _, err := table.Load(context.Background(), names)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// same compares rows by what they mean: no list and an empty one are the same, no body and an empty one are not.
func same(t *testing.T, got, want *storage.Record) {
	t.Helper()
	noList := cmpopts.EquateEmpty()
	body := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Body" }, cmp.Comparer(func(a, b []byte) bool {
		return (a == nil) == (b == nil) && slices.Equal(a, b)
	}))
	lists := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() != ".Body" }, noList)
	if d := cmp.Diff(want, got, body, lists); d != "" {
		t.Errorf("the row differs (- want, + got):\n%s", d)
	}
}

func columnsComeBack(t *testing.T, table cas.Table) {
	now := clock(t, table)
	full, empty := row("full", now), row("empty", now)
	empty.Checkpoint, empty.Response, empty.ResultHash, empty.EarlierAttemptIDs = nil, nil, nil, nil
	empty.SettledAt, empty.Holder, empty.AttemptID, empty.LastError, empty.ResourceID = time.Time{}, "", "", "", ""
	bare := row("no body", now)
	bare.Response = &storage.Response{}
	blank := row("of nothing", now)
	blank.Response = &storage.Response{Body: []byte{}}
	rows := []*storage.Record{empty, full, bare, blank}
	for _, r := range rows {
		save(t, table, cas.Change{Next: r})
		same(t, load(t, table, r.Name)[0], r)
	}
	for _, r := range rows { // and by an update, from a row with everything else
		next := *r
		next.Revision++
		next.Token = storage.NewToken()
		if saved := save(t, table, cas.Change{Prev: r, Next: &next}); !saved[0] {
			t.Errorf("%s was not replaced", r.Key)
		}
		same(t, load(t, table, r.Name)[0], &next)
	}
}

func contentsAreKept(t *testing.T, table cas.Table) {
	first := row("k", clock(t, table))
	save(t, table, cas.Change{Next: first})
	kept := *first // the same checkpoint, the same response
	kept.Revision++
	save(t, table, cas.Change{Prev: first, Next: &kept})
	same(t, load(t, table, first.Name)[0], &kept)

	other := kept
	other.Revision++
	other.Checkpoint = &storage.Checkpoint{Seq: 3, Data: "other"}
	other.Response = &storage.Response{Body: []byte("other")}
	save(t, table, cas.Change{Prev: &kept, Next: &other})
	same(t, load(t, table, first.Name)[0], &other)

	none := other
	none.Revision++
	none.Checkpoint, none.Response = nil, nil
	save(t, table, cas.Change{Prev: &other, Next: &none})
	same(t, load(t, table, first.Name)[0], &none)
}

func rowsAreAligned(t *testing.T, table cas.Table) {
	now := clock(t, table)
	b, d := row("b", now), row("d", now)
	save(t, table, cas.Change{Next: b}, cas.Change{Next: d})
	var names []storage.Name
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		names = append(names, row(key, now).Name)
	}
	for i, got := range load(t, table, names...) {
		if (got != nil) != (i == 1 || i == 3) || got != nil && got.Key != names[i].Key {
			t.Errorf("%s: got %v", names[i].Key, got)
		}
	}
}

func insertNeverReplaces(t *testing.T, table cas.Table) {
	now := clock(t, table)
	first, second, third := row("k", now), row("k", now), row("l", now)
	save(t, table, cas.Change{Next: first})
	if saved := save(t, table, cas.Change{Next: second}, cas.Change{Next: third}); saved[0] || !saved[1] {
		t.Errorf("got %v, want the second refused and the third made", saved)
	}
	same(t, load(t, table, first.Name)[0], first)
}

func replaceOnlyTheRowRead(t *testing.T, table cas.Table) {
	stored := row("k", clock(t, table))
	save(t, table, cas.Change{Next: stored})
	otherToken, otherRevision, absent := *stored, *stored, row("never made", stored.CreatedAt)
	otherToken.Token = storage.NewToken()
	otherRevision.Revision--
	for name, prev := range map[string]*storage.Record{"another token": &otherToken, "another revision": &otherRevision, "no row": absent} {
		next := *prev
		next.Revision, next.Holder = stored.Revision+1, "thief"
		if saved := save(t, table, cas.Change{Prev: prev, Next: &next}); saved[0] {
			t.Errorf("%s: the row was written", name)
		}
	}
	same(t, load(t, table, stored.Name)[0], stored)
	if got := load(t, table, absent.Name)[0]; got != nil {
		t.Errorf("a row was made: %v", got)
	}
}

func changeEnds(t *testing.T, table cas.Table) {
	now := clock(t, table)
	for name, c := range map[string]struct {
		until time.Time
		want  bool
	}{
		"over":     {now, false}, // the clock has reached it: over when the end is not after now
		"not over": {now.Add(time.Hour), true},
		"for ever": {time.Time{}, true},
	} {
		r := row(name, now)
		if saved := save(t, table, cas.Change{Next: r, ValidBefore: c.until}); saved[0] != c.want {
			t.Errorf("%s: got made %v, want %v", name, saved[0], c.want)
		}
		save(t, table, cas.Change{Next: r})
		next := *r
		next.Revision++
		if saved := save(t, table, cas.Change{Prev: r, Next: &next, ValidBefore: c.until}); saved[0] != c.want {
			t.Errorf("%s: got written %v, want %v", name, saved[0], c.want)
		}
	}
}

func partsTellRowsApart(t *testing.T, table cas.Table) {
	now := clock(t, table)
	base := row("k", now)
	rows := []*storage.Record{base}
	for _, change := range []func(*storage.Name){
		func(n *storage.Name) { n.Tenant += "2" }, func(n *storage.Name) { n.Operation += "2" },
		func(n *storage.Name) { n.Subject += "2" }, func(n *storage.Name) { n.Key += "2" },
	} {
		other := *base // the same token and revision: the name alone tells them apart
		change(&other.Name)
		rows = append(rows, &other)
	}
	for _, r := range rows {
		if saved := save(t, table, cas.Change{Next: r}); !saved[0] {
			t.Errorf("%v was not made beside the others", r.Name)
		}
	}
	for i, r := range rows {
		next := *r
		next.Revision++
		next.Holder = "only " + r.Name.Tenant + r.Operation + r.Subject + r.Key
		save(t, table, cas.Change{Prev: r, Next: &next})
		rows[i] = &next
	}
	for _, r := range rows {
		same(t, load(t, table, r.Name)[0], r)
	}
}
