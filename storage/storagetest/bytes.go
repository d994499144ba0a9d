package storagetest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that what the work answered, and what it noted on its way, comes back byte by byte.

var bytePromises = []promise{
	bodiesComeBackByteByByte,
	noBodyAndAnEmptyBodyAreTwoThings,
	headerLinesKeepTheirOrder,
	aHeaderLineIsNeverAltered,
	everyStatusComesBack,
	checkpointsComeBackByteByByte,
	textsComeBackByteByByte,
	aBodyOutlivesNothingButItsOwnRecord,
}

func contents() map[string][]byte {
	big, all := make([]byte, 1<<20), make([]byte, 256)
	_, _ = rand.Read(big) // never fails
	for i := range all {
		all[i] = byte(i)
	}
	return map[string][]byte{
		"JSON that a JSON column would rewrite": []byte(`{"zz":1.0,"a":1,"a":2,"n":9007199254740993, "e":1E2}`),
		"every byte":                            all,
		"NUL":                                   {0},
		"NUL within":                            []byte("a\x00b"),
		"invalid UTF-8":                         []byte("\xff\xfe\xc3\x28\xed\xa0\x80"),
		"a gzip header":                         {0x1f, 0x8b, 8, 0, 0, 0, 0, 0},
		"a trailing newline":                    []byte("x\r\n"),
		"something like an escape":              []byte(`\x00 \\ %00 ''`),
		"1 MiB":                                 big,
	}
}

func bodiesComeBackByteByByte(_ *testing.T, f *fixture) {
	for what, body := range contents() {
		n := f.name()
		c := f.live(n)
		done := complete(n, c.Token)
		done.Response.Body = body
		f.want(storage.OutcomeSettled, done)
		for _, call := range []storage.Call{reserve(n), storage.Lookup{Name: n}, done} {
			if got := f.one(call).Record.Response.Body; !bytes.Equal(got, body) {
				f.t.Errorf("%s: %T gives %d bytes for %d, %.40q for %.40q", what, call, len(got), len(body), got, body)
			}
		}
	}
}

func noBodyAndAnEmptyBodyAreTwoThings(_ *testing.T, f *fixture) {
	for _, want := range []*storage.Response{nil, {}, {Body: []byte{}}, {Status: 204}, {Status: 200, Body: []byte{}},
		{BodyDropped: true}, {Headers: [][2]string{{"A", ""}}}} {
		n := f.name()
		c := f.live(n)
		done := complete(n, c.Token)
		done.Response = want
		f.want(storage.OutcomeSettled, done)
		f.same("the response", f.record(n).Response, want)
	}
}

func headerLinesKeepTheirOrder(_ *testing.T, f *fixture) {
	want := response()
	want.Headers = [][2]string{{"X-B", "2"}, {"x-b", "2"}, {"X-B", "1"}, {"X-A", ""}, {"Link", `<a?b&c>; rel="n"`},
		{"X-B", "2"}, {"X-Text", "é ы \u2028 😀 \\ \"\t"}, {"", "no name"}}
	want.DroppedHeaders = []string{"Set-Cookie", "X-Big", "Set-Cookie"}
	n := f.name()
	c := f.live(n)
	done := complete(n, c.Token)
	done.Response = want
	f.want(storage.OutcomeSettled, done)
	f.same("the response", f.want(storage.OutcomeReplay, reserve(n)).Record.Response, want)
}

// A settlement is not refused for a header line, because the effect has happened; nor is the wrong line replayed.
func aHeaderLineIsNeverAltered(_ *testing.T, f *fixture) {
	for _, value := range []string{"a\x00b", "\xff", "caf\xe9", "\xed\xa0\x80", "\ufffd", "\x7f\x01"} {
		n := f.name()
		c := f.live(n)
		done := complete(n, c.Token)
		done.Response.Headers = [][2]string{{"X-Odd", value}, {"X-" + value, "odd name"}}
		f.want(storage.OutcomeSettled, done)
		f.same(fmt.Sprintf("the response with %q", value), f.record(n).Response, done.Response)
	}
}

func everyStatusComesBack(_ *testing.T, f *fixture) {
	for _, status := range []int{0, 100, 200, 204, 404, 599, 999} {
		n := f.name()
		c := f.live(n)
		done := complete(n, c.Token)
		done.Response.Status = status
		f.want(storage.OutcomeSettled, done)
		f.same("the status", f.record(n).Response.Status, status)
	}
}

func checkpointsComeBackByteByByte(_ *testing.T, f *fixture) {
	n := f.name()
	c := f.live(n)
	seq := int64(0)
	for _, data := range contents() {
		seq++
		f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: c.Token, Checkpoint: progress(seq, string(data))})
		f.same("the checkpoint", f.record(n).Checkpoint, progress(seq, string(data)))
	}
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: c.Token, Checkpoint: progress(seq+1, "")})
	f.same("an empty checkpoint", f.record(n).Checkpoint, progress(seq+1, ""))
}

func textsComeBackByteByByte(_ *testing.T, f *fixture) {
	for _, text := range variants {
		n := f.name()
		c := reserve(n)
		c.Fingerprint, c.Holder = text, text
		f.want(storage.OutcomeAcquired, c)
		f.want(storage.OutcomeReleased, storage.Release{Name: n, Token: c.Token, Reason: text})
		c.AttemptID, c.Token = fresh(), storage.NewToken()
		f.want(storage.OutcomeAcquired, c)
		done := complete(n, c.Token)
		done.ResourceID = text
		f.want(storage.OutcomeSettled, done)
		r := f.record(n)
		f.same("the texts", []string{r.Fingerprint, r.Holder, r.LastError, r.ResourceID}, []string{text, text, text, text})
	}
}

// A write that leaves the response alone must leave it alone; a new record must not show it.
func aBodyOutlivesNothingButItsOwnRecord(_ *testing.T, f *fixture) {
	n := f.name()
	f.expired(n)
	c := f.live(n)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: c.Token, Lease: 2 * long})
	if r := f.record(n); r.Response != nil || r.Checkpoint != nil {
		f.t.Errorf("a new record shows response %+v and checkpoint %+v", r.Response, r.Checkpoint)
	}
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: c.Token, Checkpoint: progress(1, "mine")})
	f.want(storage.OutcomeSettled, complete(n, c.Token))
	r := f.record(n)
	f.same("the checkpoint after the settlement", r.Checkpoint, progress(1, "mine"))
	f.same("the response", r.Response, response())
}
