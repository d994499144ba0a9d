package httpapi_test

import (
	"fmt"
	"strings"
)

// limitRows are the limits of every field, at each of their edges: the last value inside, the first one outside.
func limitRows() []row {
	return concat(nameLimits(), reserveLimits(), durationLimits(), holderLimits(), responseLimits(), bodyLimits(), operatorLimits())
}

// edge is one value of a field at one of its limits.
type edge struct {
	id   string
	f    fields
	name string // of the field in the refusal; empty when the value is inside
}

// calls are the calls on keys: what each is given, and its answer when all is well.
var calls = map[string]struct {
	given  func(k *key)
	do     func(k *key, f ...fields) *answer
	status int
	what   string
}{
	"reserve":   {nil, (*key).reserve, 201, "acquired"},
	"complete":  {live, (*key).complete, 200, "completed"},
	"release":   {live, (*key).release, 200, "released"},
	"heartbeat": {live, (*key).heartbeat, 200, "in_progress"},
	"lookup":    {live, (*key).lookup, 200, "in_progress"},
	"resolve":   {live, func(k *key, f ...fields) *answer { k.t.Helper(); return k.resolve(append(f, force)...) }, 200, "completed"},
	"expire":    {completed, (*key).expire, 200, "completed"},
}

// callNames are the calls of those who do the work; they may be in a batch.
var callNames = []string{"reserve", "complete", "release", "heartbeat", "lookup"}

// operatorCalls are those of whoever repairs.
var operatorCalls = []string{"resolve", "expire"}

// rowsOf makes rows of the edges of a call.
func rowsOf(call string, edges ...edge) (rows []row) {
	c := calls[call]
	for _, e := range edges {
		r := row{id: "limit/" + call + "/" + e.id, given: c.given, status: c.status, what: c.what,
			when: func(k *key) *answer { k.t.Helper(); return c.do(k, e.f) }}
		if e.name != "" {
			r.status, r.what, r.then = 400, "invalid_request", names(e.name)
		}
		rows = append(rows, r)
	}
	return rows
}

// names wants a refusal to name the field.
func names(field string) func(k *key, a *answer) {
	return func(k *key, a *answer) {
		k.t.Helper()
		if !strings.HasPrefix(a.text("detail"), field+": ") {
			k.t.Errorf("the detail %q does not name %s", a.text("detail"), field)
		}
	}
}

// x is a text of n bytes, of which no two are alike for long: a store must not pass it because it compresses well.
func x(n int) string {
	var text strings.Builder
	for i := 0; text.Len() < n; i++ {
		fmt.Fprintf(&text, "%d.", i*i)
	}
	return text.String()[:n]
}

// é is a text of n bytes whose characters have two.
func é(n int) string { return strings.Repeat("é", n/2) }

// nameLimits are those of the three parts of a name, in every call.
func nameLimits() (rows []row) {
	for _, part := range []struct {
		name        string
		least, most int
	}{{"operation", 1, 200}, {"subject", 0, 200}, {"key", 1, 255}} {
		for _, call := range append(operatorCalls, callNames...) {
			rows = append(rows, nameRow(call, part.name, "longest", x(part.most), true),
				nameRow(call, part.name, "longest-two-byte", é(part.most), true),
				nameRow(call, part.name, "too-long", x(part.most+1), false),
				nameRow(call, part.name, "too-long-two-byte", é(part.most+2), false),
				nameRow(call, part.name, "empty", "", part.least == 0))
		}
	}
	return rows
}

// nameRow makes a call with a part of the name that is inside, of a key that has it, or outside.
func nameRow(call, part, id, value string, inside bool) row {
	e := edge{id: part + "/" + id, f: fields{part: value}, name: part}
	if inside {
		e.name = ""
	}
	r := rowsOf(call, e)[0]
	given := r.given
	r.given = func(k *key) {
		if part == "subject" {
			k.name["key"] = r.id // it is what told the rows apart
		}
		if inside {
			k.name[part] = value
		}
		if given != nil {
			given(k)
		}
	}
	return r
}

func reserveLimits() []row {
	attemptID := func(s string) fields { return fields{"attempt_id": s} }
	rows := rowsOf("reserve",
		edge{"attempt_id/shortest", attemptID(x(8)), ""},
		edge{"attempt_id/longest", attemptID(x(128)), ""},
		edge{"attempt_id/first-and-last-visible", attemptID("!234567~"), ""},
		edge{"attempt_id/too-short", attemptID(x(7)), "attempt_id"},
		edge{"attempt_id/empty", attemptID(""), "attempt_id"},
		edge{"attempt_id/too-long", attemptID(x(129)), "attempt_id"},
		edge{"attempt_id/space", attemptID("12345678 "), "attempt_id"},
		edge{"attempt_id/del", attemptID("12345678\x7f"), "attempt_id"},
		edge{"attempt_id/not-ascii", attemptID("12345678é"), "attempt_id"})
	for _, call := range []string{"reserve", "lookup"} {
		rows = append(rows, fingerprintLimits(call)...)
	}
	return rows
}

// fingerprintLimits of lookup end in a mismatch when the value is inside: it is not the one that was stored.
func fingerprintLimits(call string) []row {
	fp := func(s string) fields { return fields{"fingerprint": s} }
	inside := rowsOf(call,
		edge{"fingerprint/shortest", fp("!"), ""},
		edge{"fingerprint/longest", fp(x(128)), ""},
		edge{"fingerprint/first-and-last-visible", fp("!~"), ""})
	if call == "lookup" {
		for i := range inside {
			inside[i].status, inside[i].what = 422, "fingerprint_mismatch"
		}
	}
	return append(inside, rowsOf(call,
		edge{"fingerprint/empty", fp(""), "fingerprint"},
		edge{"fingerprint/too-long", fp(x(129)), "fingerprint"},
		edge{"fingerprint/space", fp("a b"), "fingerprint"},
		edge{"fingerprint/del", fp("a\x7f"), "fingerprint"},
		edge{"fingerprint/not-ascii", fp("é"), "fingerprint"})...)
}

// durationLimits: zero is not nothing, and every unit is held to the same limits.
func durationLimits() (rows []row) {
	for _, l := range []struct{ call, field, least, most, under, over string }{
		{"reserve", "lease", "100ms", "1h", "99ms", "3600001ms"},
		{"heartbeat", "lease", "100ms", "1h", "99ms", "3600001ms"},
		{"reserve", "retention", "1s", "2160h", "999ms", "7776000001ms"},
		{"complete", "retention", "1s", "2160h", "999ms", "7776000001ms"},
		{"reserve", "wait", "1ms", "20s", "0ms", "20001ms"},
	} {
		is := func(id, value, name string) {
			rows = append(rows, rowsOf(l.call, edge{l.field + "/" + id, fields{l.field: value}, name})...)
		}
		is("least", l.least, "")
		is("most", l.most, "")
		is("under", l.under, l.field)
		is("over", l.over, l.field)
		for _, d := range noDurations {
			is(d.id, d.value, l.field)
		}
	}
	return rows
}

// noDurations are outside of every limit, or of the form.
var noDurations = []struct{ id, value string }{
	{"zero", "0s"}, {"over-hours", "2161h"}, {"overflow", "9223372036854775808h"}, {"overflow-ms", "9223372036854775808ms"},
	{"two-units", "1m30s"}, {"no-unit", "30"}, {"no-number", "s"}, {"minus", "-1s"}, {"plus", "+1s"}, {"fraction", "1.5s"},
	{"space", "1 s"}, {"days", "1d"}, {"upper-case", "1S"}, {"empty", ""}, {"nanoseconds", "1000000000ns"},
	{"other-digits", "\u0661s"}, {"line-end", "1s\n"},
}

// holderLimits are those of the texts and numbers that a holder gives.
func holderLimits() []row {
	text := func(call, field string, most int) []row {
		return rowsOf(call,
			edge{field + "/empty", fields{field: ""}, ""},
			edge{field + "/longest", fields{field: x(most)}, ""},
			edge{field + "/too-long", fields{field: x(most + 1)}, field},
			edge{field + "/too-long-two-byte", fields{field: é(most + 2)}, field})
	}
	note := func(seq int64, data string) fields { return fields{"checkpoint": fields{"seq": seq, "data": data}} }
	return concat(text("reserve", "holder", 255), text("complete", "resource_id", 255), text("release", "reason", 1000), rowsOf("heartbeat",
		edge{"checkpoint.seq/least", note(1, ""), ""},
		edge{"checkpoint.seq/most", note(1<<53-1, ""), ""},
		edge{"checkpoint.seq/zero", note(0, ""), "checkpoint.seq"},
		edge{"checkpoint.seq/negative", note(-1, ""), "checkpoint.seq"},
		edge{"checkpoint.seq/over", note(1<<53, ""), "checkpoint.seq"},
		edge{"checkpoint.data/longest", note(1, x(16<<10)), ""},
		edge{"checkpoint.data/too-long", note(1, x(16<<10+1)), "checkpoint.data"},
		edge{"checkpoint.data/too-long-two-byte", note(1, é(16<<10+2)), "checkpoint.data"}))
}
