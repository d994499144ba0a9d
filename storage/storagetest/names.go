package storagetest

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// This file ensures that a name is its bytes: nothing is trimmed, folded, normalised, cut off or glued together.

var namePromises = []promise{
	similarKeysAreDifferentKeys,
	similarOtherPartsAreDifferentToo,
	eachPartOfANameSeparates,
	partsAreNotGluedTogether,
	longRandomNamesWork,
	anEmptySubjectIsASubject,
	anotherTenantsRecordIsAbsent,
}

// variants are texts that some database, somewhere, holds to be equal.
var variants = []string{"abc", "Abc", "ABC", "abc ", " abc", "abc\u00a0", "abc\u3000", "abc\u200b", "ab\u00adc",
	"a/b", "a%2Fb", "a%2fb", "a\\b", "100%", "100%25", "100_", "a+b", "a b", "a%20b", "é", "e\u0301", "É", "ａ", "a", "ª",
	"ß", "ss", "ẞ", "ſ", "s", "ı", "i", "İ", "I", "K", "\u212a", "ﬁ", "fi", "Å", "\u212b", "ы", "Ы", "и\u0306", "й", "1", "01",
	"1.0", "１", "null", "NULL", "''", `""`, "'", `"`, "$1", "?", "--", ";", "\\0", "a\u0001", "\U0010ffff", "\uffff", "😀"}

func similarKeysAreDifferentKeys(_ *testing.T, f *fixture) {
	base := f.name()
	f.distinct(func(v string) storage.Name { n := base; n.Key = v; return n })
}

func similarOtherPartsAreDifferentToo(_ *testing.T, f *fixture) {
	base := f.name()
	f.distinct(func(v string) storage.Name { n := base; n.Operation = v; return n })
	f.distinct(func(v string) storage.Name { n := base; n.Subject = v; return n })
	f.distinct(func(v string) storage.Name { n := base; n.Tenant += v; return n })
}

// distinct makes a record for each variant, and finds each under its own name alone.
func (f *fixture) distinct(name func(string) storage.Name) {
	f.t.Helper()
	calls := make([]storage.Call, len(variants))
	for i, v := range variants {
		c := reserve(name(v))
		c.Holder = v
		calls[i] = c
	}
	for i, a := range f.apply(calls...) {
		if a.Err != nil || a.Outcome != storage.OutcomeAcquired {
			f.t.Errorf("%q is not a name of its own: %v, %v", variants[i], a.Outcome, a.Err)
		}
	}
	for _, v := range variants {
		r := f.record(name(v))
		f.same("the record's name", r.Name, name(v))
		f.same("whose record it is", r.Holder, v)
	}
}

func eachPartOfANameSeparates(_ *testing.T, f *fixture) {
	n := f.name()
	f.live(n)
	tenant, operation, subject, key := n, n, n, n
	tenant.Tenant, operation.Operation, subject.Subject, key.Key = "t"+fresh(), "job:x", "another", "another"
	for _, other := range []storage.Name{tenant, operation, subject, key} {
		f.want(storage.OutcomeNotFound, storage.Lookup{Name: other})
		f.want(storage.OutcomeAcquired, reserve(other))
	}
}

func partsAreNotGluedTogether(_ *testing.T, f *fixture) {
	t := "t-" + fresh()
	for _, n := range []storage.Name{{Tenant: t, Operation: "a", Subject: "bc", Key: "d"},
		{Tenant: t, Operation: "ab", Subject: "c", Key: "d"}, {Tenant: t, Operation: "a", Subject: "b", Key: "cd"},
		{Tenant: t, Operation: "abc", Subject: "", Key: "d"}, {Tenant: t + "a", Operation: "b", Subject: "c", Key: "d"},
		{Tenant: t, Operation: "a:b", Subject: "c", Key: "d"}, {Tenant: t, Operation: "a", Subject: "b:c", Key: "d"}} {
		f.want(storage.OutcomeAcquired, reserve(n))
	}
}

// Random bytes, because a text that compresses well slips through limits that another does not.
func longRandomNamesWork(_ *testing.T, f *fixture) {
	n := storage.Name{Tenant: random(200), Operation: random(200), Subject: random(200), Key: random(255)}
	c := f.live(n)
	f.want(storage.OutcomeSettled, complete(n, c.Token))
	f.same("the record's name", f.want(storage.OutcomeReplay, reserve(n)).Record.Name, n)
	shorter := n
	shorter.Key = n.Key[:254]
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: shorter})

	wide := storage.Name{Tenant: strings.Repeat("é", 100), Operation: strings.Repeat("я", 100),
		Subject: strings.Repeat("😀", 50), Key: fmt.Sprintf("%s%s", strings.Repeat("漢", 60), random(75))}
	f.want(storage.OutcomeAcquired, reserve(wide))
	f.same("the record's name", f.record(wide).Name, wide)
}

// random gives n characters that no compression makes shorter.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)[:n]
}

// The tenant itself, not an error and not a wildcard.
func anEmptySubjectIsASubject(_ *testing.T, f *fixture) {
	n := f.name()
	n.Subject = ""
	c := f.live(n)
	f.want(storage.OutcomeSettled, complete(n, c.Token))
	f.want(storage.OutcomeReplay, reserve(n))
	n.Subject = " "
	f.want(storage.OutcomeNotFound, storage.Lookup{Name: n})
}

// It looks exactly like a name that was never made, and nobody else's token or attempt id helps.
func anotherTenantsRecordIsAbsent(_ *testing.T, f *fixture) {
	n := f.name()
	holder := f.settled(n, storage.Completed)
	foreign := n
	foreign.Tenant = "tenant-" + fresh()
	f.changesNothing(n, func() {
		f.want(storage.OutcomeNotFound, storage.Lookup{Name: foreign, Fingerprint: holder.Fingerprint})
		f.want(storage.OutcomeLeaseLost, complete(foreign, holder.Token))
		f.want(storage.OutcomeLeaseLost, storage.Release{Name: foreign, Token: holder.Token})
		f.want(storage.OutcomeLeaseLost, storage.Heartbeat{Name: foreign, Token: holder.Token})
		holder.Name = foreign
		r := f.want(storage.OutcomeAcquired, holder).Record
		f.same("the attempt", r.Attempt, 1)
	})
}
