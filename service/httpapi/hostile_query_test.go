package httpapi_test

import (
	"net/url"
	"strings"
)

// badQuery is a query that is refused for one of its parameters.
func badQuery(path, query, field string) hostile {
	return hostile{id: path + "?" + query, method: "GET", path: path + "?" + query, status: 400, what: "invalid_request", detail: field + ": "}
}

// badQueries ask for what cannot be, may not be, or could be read in two ways.
func badQueries() (all []hostile) {
	for _, path := range []string{"/v1/keys", "/v1/stats", "/v1/admin/audit"} {
		all = append(all, badTexts(path, "operation", 200)...)
		all = append(all, badTexts(path, "tenant", 200)...)
		for _, unknown := range []string{"offset", "Operation", "operations", "tenant_id", "page", "order", "request_id", "", "ключ", "__proto__", "operation[]", "state.in"} {
			all = append(all, badQuery(path, url.Values{unknown: {"x"}}.Encode(), unknown))
		}
		for _, malformed := range []string{"operation=%zz", "operation=%", "operation=a%2", "operation=a;tenant=b", ";", "operation=a&%=b"} {
			all = append(all, badQuery(path, malformed, "query"))
		}
		all = append(all, badQuery(path, "operation=a&operation=a", "operation"), badQuery(path, "operation=a&operation=b", "operation"),
			badQuery(path, "operation=a&%6Fperation=b", "operation"), badQuery(path, "zz&zz", "zz"), badQuery(path, "a%0Ab=1", "a?b"),
			badQuery(path, strings.Repeat("long", 100)+"=1", strings.Repeat("long", 25)+"…"))
	}
	for _, path := range []string{"/v1/keys", "/v1/admin/audit"} {
		name := ""
		if path == "/v1/admin/audit" {
			name = "operation=o&" // of which these are a part
		}
		for _, parameter := range []string{"limit", "cursor", "key"} {
			all = append(all, badQuery(path, name+parameter+"=", parameter), badQuery(path, name+parameter+"=1&"+parameter+"=1", parameter))
		}
		for _, limit := range []string{"0", "-1", "201", "1e2", "5.0", "%205", "5%20", "%2B5", "0x5", "five", "99999999999999999999", "null", "%00"} {
			all = append(all, badQuery(path, "limit="+limit, "limit"))
		}
		for _, q := range badTexts(path, "key", 255) {
			q.path = strings.Replace(q.path, "?", "?"+name, 1)
			all = append(all, q)
		}
		for _, subject := range []string{x(201), "%00", "%0A", "%FF", "%C2%85"} {
			all = append(all, badQuery(path, name+"subject="+subject, "subject"))
		}
	}
	return append(append(all, badListQueries()...),
		badQuery("/v1/admin/audit", "subject=s", "operation"), badQuery("/v1/admin/audit", "subject=", "operation"),
		badQuery("/v1/admin/audit", "key=k", "operation"), badQuery("/v1/admin/audit", "key=k&subject=s", "operation"),
		badQuery("/v1/admin/audit", "state=completed", "state"), badQuery("/v1/admin/audit", "operation=o&key_prefix=k", "key_prefix"),
		badQuery("/v1/stats", "limit=1", "limit"), badQuery("/v1/stats", "subject=s", "subject"), badQuery("/v1/stats", "state=completed", "state"))
}

// badTexts are values that no text of a name has.
func badTexts(path, parameter string, most int) (all []hostile) {
	for _, value := range []string{"", x(most + 1), strings.Repeat("%C3%A9", most/2+1), "%00", "a%0Ab", "%7F", "%C2%85", "%FF", "%ED%A0%80"} {
		all = append(all, badQuery(path, parameter+"="+value, parameter))
	}
	return all
}

func badListQueries() (all []hostile) {
	for _, state := range []string{"", "Completed", "COMPLETED", "5", "any", "%20completed", "completed,failed", "expired", "state(0)", "state(7)"} {
		all = append(all, badQuery("/v1/keys", "state="+state, "state"))
	}
	for _, parameter := range []string{"created_after", "created_before"} {
		for _, value := range []string{"", "yesterday", "1783000000", "2026-07-01", "2026-07-01T12:00:00", "2026-07-01T12:00Z", "2026-07-01%2012:00:00Z",
			"2026-07-01t12:00:00z", "2026-07-01T12:00:00+01:00", "2026-07-01T1:00:00Z", "2026-07-01T12:00:00,5Z", "2026-07-01T12:00:00.Z",
			"2026-13-01T12:00:00Z", "2026-02-30T12:00:00Z", "2026-07-01T24:00:00Z", "2026-07-01T12:00:60Z", "2026-07-01T12:00:00%2B24:00",
			"1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "-2026-07-01T12:00:00Z", "now()", "2026-07-01T12:00:00Z%00"} {
			all = append(all, badQuery("/v1/keys", parameter+"="+value, parameter))
		}
	}
	all = append(all, badTexts("/v1/keys", "key_prefix", 255)...)
	return append(all, badQuery("/v1/keys", "key=k&key_prefix=k", "key_prefix"), badQuery("/v1/keys", "key_prefix=k&key=k", "key_prefix"),
		badQuery("/v1/keys", "response=1", "response"), badQuery("/v1/keys", "tenant=acme&tenant=acme", "tenant"))
}

// badBatches are no batches.
func badBatches() (all []hostile) {
	call := `{"call":"reserve","operation":"POST /v1/orders","key":"new","fingerprint":"f"}`
	for id, body := range map[string]string{"nothing": ``, "null": `null`, "list": `[` + call + `]`, "text": `"calls"`, "cut": `{"calls":[` + call, "BOM": "\ufeff{\"calls\":[" + call + "]}",
		"another value": `{"calls":[` + call + `]}{"calls":[` + call + `]}`, "rest": `{"calls":[` + call + `]}]`, "NUL at the end": `{"calls":[` + call + "]}\x00",
		"comment": `{"calls":[` + call + `/**/]}`, "deep": `{"calls":[` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `]}`,
		"single quotes": `{'calls':[` + call + `]}`, "number with a leading zero": `{"calls":[` + call + `,01]}`, "NaN": `{"calls":[` + call + `,NaN]}`,
		"control in a text": `{"calls":[` + call + ",\"a\nb\"]}", "surrogate in a name": `{"calls":[` + call + `],"\ud800":1}`} {
		h := invalid(id, "batch", body, "")
		h.detail = ""
		all = append(all, h)
	}
	for _, field := range []string{"atomic", "Calls", "call", "tenant", "wait", "", "ключ"} {
		all = append(all, invalid("unknown/"+field, "batch", `{"calls":[`+call+`],"`+field+`":1}`, field))
	}
	for id, calls := range map[string]string{"none": `[]`, "null": `null`, "object": call, "text": `"x"`, "number": `1`, "true": `true`} {
		all = append(all, invalid("calls/"+id, "batch", `{"calls":`+calls+`}`, "calls"))
	}
	return all
}
