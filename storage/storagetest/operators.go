package storagetest

import (
	"github.com/reprise-idempotency/reprise/storage"
)

// This file has what promises about operators share.

// operator is somebody who acts, for a reason of their own.
func operator() storage.Operator {
	return storage.Operator{ActID: actID(), Actor: "ops@example.com", Address: "192.0.2.7", RequestID: "request-" + fresh(),
		Reason: "looked at the bank's books: " + fresh()}
}

// actID makes a UUID that never occurs twice.
func actID() string {
	h := fresh()
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// resolving is a call that resolves the record as it stands now.
func (f *fixture) resolving(n storage.Name, to storage.State) storage.Resolve {
	f.t.Helper()
	c := storage.Resolve{Name: n, To: to, Token: storage.NewToken(), By: operator()}
	if r := f.record(n); r != nil {
		c.Version = r.VersionText()
	}
	if to != storage.Released {
		c.Response = &storage.Response{Status: 207, Headers: [][2]string{{"X-By", "an operator"}}, Body: []byte("by hand")}
		c.ResourceID = "order-by-hand"
	}
	return c
}

// expiring is a call that ends the record as it stands now.
func (f *fixture) expiring(n storage.Name) storage.Expire {
	f.t.Helper()
	c := storage.Expire{Name: n, By: operator()}
	if r := f.record(n); r != nil {
		c.Version = r.VersionText()
	}
	return c
}

// resolutions are the states that an operator can bring a record to.
var resolutions = []storage.State{storage.Completed, storage.Failed, storage.Released}

// inEachResolution brings a record in progress, live or not, to each state that an operator can bring it to, on a name of
// its own, and then runs a test on it.
func (f *fixture) inEachResolution(to []storage.State, test func(f *fixture, n storage.Name, holder storage.Reserve, by storage.Resolve)) {
	for _, state := range to {
		f.inEach(whenInProgress, func(f *fixture, n storage.Name, holder storage.Reserve) {
			c := f.resolving(n, state)
			c.Force = true
			f.want(storage.OutcomeResolved, c)
			test(f, n, holder, c)
		})
	}
}
