package storagetest

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that a version that an operator has seen names one state of the record, and no other ever.

var versionPromises = []promise{
	theVersionChangesWithWhatCanBeSeen,
	aHeartbeatThatOnlyExtendsKeepsTheVersion,
	whatChangesNothingKeepsTheVersion,
	aVersionNeverComesBack,
}

func theVersionChangesWithWhatCanBeSeen(_ *testing.T, f *fixture) {
	n := f.name()
	seen := map[string]string{}
	changed := func(how string, c storage.Call) storage.Answer {
		f.t.Helper()
		a := f.one(c)
		v := f.record(n).VersionText()
		if before, ok := seen[v]; ok {
			f.t.Errorf("%s has the version of %s: %s", how, before, v)
		}
		f.same("the version in the answer", a.Record.VersionText(), v)
		seen[v] = how
		return a
	}
	first := reserve(n)
	changed("the acquisition", first)
	changed("a checkpoint", storage.Heartbeat{Name: n, Token: first.Token, Checkpoint: progress(1, "x")})
	changed("the release", storage.Release{Name: n, Token: first.Token})
	second := reserve(n)
	second.Lease = brief
	f.passes(changed("the next acquisition", second).Record.LeaseExpiresAt)
	a := changed("the revival of a lapsed lease", storage.Heartbeat{Name: n, Token: second.Token, Lease: brief})
	f.passes(a.Record.LeaseExpiresAt)
	third := reserve(n)
	changed("the takeover", third)
	changed("the turn to hold", storage.Heartbeat{Name: n, Token: third.Token, Hold: true})
	changed("hold and a checkpoint", storage.Heartbeat{Name: n, Token: third.Token, Lease: 2 * long, Checkpoint: progress(2, "y")})
	changed("the settlement", complete(n, third.Token))
}

// Else an operator who looks at a record that is being kept alive could never act on it.
func aHeartbeatThatOnlyExtendsKeepsTheVersion(_ *testing.T, f *fixture) {
	n := f.name()
	c := reserve(n)
	c.OnLapse = storage.Hold
	f.want(storage.OutcomeAcquired, c)
	f.want(storage.OutcomeRenewed, storage.Heartbeat{Name: n, Token: c.Token, Checkpoint: progress(5, "five")})
	version := f.record(n).VersionText()
	for _, h := range []storage.Heartbeat{{Lease: 2 * long}, {Lease: 3 * long, Hold: true},
		{Lease: 4 * long, Checkpoint: progress(5, "not higher")}} {
		h.Name, h.Token = n, c.Token
		a := f.want(storage.OutcomeRenewed, h)
		f.same("the end of the lease", a.Record.LeaseExpiresAt, a.Now.Add(h.Lease))
		f.same("the version in the answer", a.Record.VersionText(), version)
		f.same("the stored version", f.record(n).VersionText(), version)
	}
}

func whatChangesNothingKeepsTheVersion(_ *testing.T, f *fixture) {
	f.inEach(whenever, func(f *fixture, n storage.Name, holder storage.Reserve) {
		version := f.record(n).VersionText()
		stranger := storage.NewToken()
		mismatch := reserve(n)
		mismatch.Fingerprint = "fp-2"
		for _, c := range []storage.Call{holder, mismatch, storage.Lookup{Name: n}, complete(n, stranger),
			storage.Release{Name: n, Token: stranger}, storage.Heartbeat{Name: n, Token: stranger, Hold: true}} {
			f.one(c)
			f.same("the version", f.record(n).VersionText(), version)
		}
	})
}

// Not even in a new record of the same name.
func aVersionNeverComesBack(_ *testing.T, f *fixture) {
	n := f.name()
	seen := map[string]bool{}
	note := func(c storage.Call) storage.Answer {
		f.t.Helper()
		a := f.one(c)
		if v := a.Record.VersionText(); seen[v] {
			f.t.Fatalf("version %s came back", v)
		} else {
			seen[v] = true
		}
		return a
	}
	for range 10 {
		c := reserve(n)
		note(c)
		note(storage.Heartbeat{Name: n, Token: c.Token, Checkpoint: progress(1, "x")})
		done := complete(n, c.Token)
		done.Retention = brief
		f.passes(note(done).Record.ExpiresAt)
	}
}
