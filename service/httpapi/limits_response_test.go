package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// responseLimits are those of a response: a status that is none is refused; what is too much is dropped and marked,
// because the effect has happened.
func responseLimits() []row {
	rows := rowsOf("complete",
		edge{"response.status/least", respond(fields{"status": 100}), ""},
		edge{"response.status/most", respond(fields{"status": 999}), ""},
		edge{"response.status/under", respond(fields{"status": 99}), "response.status"},
		edge{"response.status/over", respond(fields{"status": 1000}), "response.status"},
		edge{"response.status/zero", respond(fields{"status": 0}), "response.status"},
		edge{"response.status/negative", respond(fields{"status": -1}), "response.status"})
	return concat(rows, headerLimits(), responseBodyLimits())
}

func respond(f fields) fields { return fields{"response": f} }

// keptRow completes with a response that is taken, and looks at what was kept of it.
func keptRow(id string, response fields, kept func(k *key, record *answer)) row {
	r := rowsOf("complete", edge{id, respond(response), ""})[0]
	r.then = func(k *key, _ *answer) { k.t.Helper(); kept(k, k.lookup()) }
	return r
}

func headerLimits() []row {
	whole := func(n int) func(k *key, a *answer) {
		return func(k *key, a *answer) {
			if got := headerLines(a); len(got) != n {
				k.t.Errorf("%d lines were kept, want %d", len(got), n)
			}
			a.wantNone("record.dropped_headers")
		}
	}
	without := func(n int, name string) func(k *key, a *answer) {
		return func(k *key, a *answer) {
			names, _ := at(a.json, "record.dropped_headers")
			if got := headerLines(a); len(got) != n || fmt.Sprint(names) != "["+name+"]" {
				k.t.Errorf("%d lines were kept, want %d; dropped are %v, want %s", len(got), n, names, name)
			}
		}
	}
	// Names and values count together.
	long := func(bytes int) [2]string { return [2]string{"X-Long", strings.Repeat("v", bytes-len("X-Long"))} }
	return []row{
		keptRow("response.headers/most-lines", fields{"headers": lines(64)}, whole(64)),
		keptRow("response.headers/too-many-lines", fields{"headers": lines(65)}, without(64, "X-64")),
		keptRow("response.headers/most-bytes", fields{"headers": [][2]string{long(16 << 10)}}, whole(1)),
		keptRow("response.headers/too-many-bytes", fields{"headers": [][2]string{long(16<<10 + 1)}}, without(0, "X-Long")),
		keptRow("response.headers/too-many-bytes-together", fields{"headers": [][2]string{long(16<<10 - 3), {"A", "bc"}, {"D", "ef"}}}, without(2, "D")),
		keptRow("response.headers/shorter-one-after", fields{"headers": [][2]string{long(16 << 10), {"A", "b"}}}, without(1, "A")),
	}
}

func lines(n int) (lines [][2]string) {
	for i := range n {
		lines = append(lines, [2]string{fmt.Sprintf("X-%d", i), "v"})
	}
	return lines
}

// headerLines gives the lines of the response in a record.
func headerLines(a *answer) (lines [][2]string) {
	v, _ := at(a.json, "record.response.headers")
	raw, err := json.Marshal(v)
	if err != nil || json.Unmarshal(raw, &lines) != nil {
		a.t.Fatalf("no header lines: %v", v)
	}
	return lines
}

// responseBodyLimits count the body decoded.
func responseBodyLimits() []row {
	most := strings.Repeat("m", 1<<20)
	kept := func(k *key, a *answer) { a.wantAt("record.response.body", most).wantNone("record.response_dropped") }
	gone := func(k *key, a *answer) {
		a.wantNone("record.response.body").wantAt("record.response_dropped", "true").wantAt("record.response.status", "201")
	}
	body := func(body, encoding string) fields {
		return fields{"status": 201, "body": body, "body_encoding": encoding}
	}
	inBase64 := func(s string) fields { return body(base64.StdEncoding.EncodeToString([]byte(s)), "base64") }
	return []row{
		keptRow("response.body/largest", body(most, "utf-8"), kept),
		keptRow("response.body/largest-base64", inBase64(most), kept),
		keptRow("response.body/too-large", body(most+"m", "utf-8"), gone),
		keptRow("response.body/too-large-base64", inBase64(most+"m"), gone),
	}
}

// bodyLimits are those of the body of a request, in every call. White space at its end counts too.
func bodyLimits() (rows []row) {
	const most = 4 << 20
	for _, call := range callNames {
		c := calls[call]
		sized := func(n int) func(k *key) *answer {
			return func(k *key) *answer {
				body := must(json.Marshal(merged(k.name, fields{"lease_token": k.lease, "fingerprint": mine})))
				if call == "reserve" || call == "lookup" {
					body = must(json.Marshal(merged(k.name, fields{"fingerprint": mine})))
				}
				return k.post(call, string(body)+strings.Repeat(" ", n-len(body)))
			}
		}
		rows = append(rows, row{"limit/" + call + "/body/too-large", c.given, sized(most + 1), 413, "payload_too_large", nil})
		if call == "reserve" || call == "complete" { // reading 4 MiB takes its time, and is the same for all
			rows = append(rows, row{"limit/" + call + "/body/largest", c.given, sized(most), c.status, c.what, nil})
		}
	}
	return rows
}

// must is for values that cannot be missing.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
