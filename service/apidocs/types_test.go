package apidocs_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Ensure that types are named as people say them.
func TestTypes(t *testing.T) {
	page := read(t, ours(t), "/docs/api")
	for id, want := range map[string]string{
		"reserve-request.operation":        `string 1 to 200 characters ^[^\u0000-\u001F\u007F-\u009F]*$`,
		"reserve-request.wait":             "string ^[0-9]+(ms|s|m|h)$",
		"reserve-request.on_lapse":         `string "retry" | "hold" default "retry"`,
		"reserve-request.request":          "FingerprintRequest",
		"complete-request.response":        "object",
		"complete-request.retention":       "string ^[0-9]+(ms|s|m|h)$",
		"reserve-200.record":               "Record",
		"reserve-201.record":               "Record without response",
		"list-200.keys":                    "array of Record without response up to 200 items",
		"list.query.limit":                 "integer 1 to 200 default 50",
		"list.query.created_after":         "date-time",
		"batch-request.calls":              "array of BatchCall 1 to 256 items",
		"type-Record.created_at":           "date-time",
		"type-Record.fence":                "integer 1 to 9007199254740991",
		"type-Record.dropped_headers":      "array of string 1 to 64 items",
		"type-Response.headers":            "array of pairs of string at least 1 item",
		"stats-200.states.in_progress":     "OpenCount",
		"release-request.forget":           "boolean default false",
		"heartbeat-request.checkpoint":     "object",
		"docsProblem.path.code":            "string at least 1 character",
		"audit-200.next_cursor":            "string at least 1 character",
		"resolve-request.response.body":    "string",
		"type-Record.response_dropped":     "boolean true",
		"lookup-200.record":                "Record",
		"livez-200.status":                 `string "live"`,
		"heartbeat-request.lease_token":    "string at least 1 character",
		"heartbeat-request.checkpoint.seq": "integer 1 to 9007199254740991",
	} {
		row := byID(page, id)
		if row == nil {
			t.Errorf("there is no row %s", id)
			continue
		}
		if got := text(all(row, "td")[0]); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
}

// Ensure that a value of several types names them all, those that are problems by their codes, and leads to each.
func TestOneOfSeveral(t *testing.T) {
	page := read(t, ours(t), "/docs/api")
	cell := all(byID(page, "type-BatchResult.body"), "td")[0]
	got := text(cell)
	for _, want := range []string{"ReserveAcquired , ReserveReplay", "HeartbeatAnswer", ", or a Problem : invalid_request , forbidden", "outcome_unknown"} {
		if !strings.Contains(got, want) {
			t.Errorf("the type is %q, without %q", got, want)
		}
	}
	var links []string
	for _, a := range all(cell, "a") {
		links = append(links, attribute(a, "href"))
	}
	for _, want := range []string{"#reserve-201", "#reserve-200", "#heartbeat-200", "#lookup-200", "#type-Problem", "problems/lease_lost"} {
		if !slices.Contains(links, want) {
			t.Errorf("the links are %v, without %s", links, want)
		}
	}
}

// Ensure that headers which most answers have are told once, and others where they are.
func TestAnswerHeaders(t *testing.T) {
	page := read(t, ours(t), "/docs/api")
	tables := all(byID(page, "headers"), "table")
	if len(tables) != 2 {
		t.Fatalf("%d tables of headers, want 2", len(tables))
	}
	if got, want := fieldNames(tables[0]), []string{"X-Request-Id", "Reprise-Version", "Deprecation", "Sunset", "Cache-Control", "X-Content-Type-Options"}; !slices.Equal(got, want) {
		t.Errorf("usual headers are %v, want %v", got, want)
	}
	for _, name := range []string{"Retry-After", "WWW-Authenticate", "Allow", "ETag"} {
		if got := fieldNames(tables[1]); !slices.Contains(got, name) {
			t.Errorf("other headers are %v, without %s", got, name)
		}
	}
	links := func(status string) (names []string) {
		for _, row := range all(byID(page, "reserve"), "tr") {
			if text(all(row, "th")[0]) == status {
				for _, a := range all(row, "a") {
					if strings.HasPrefix(attribute(a, "href"), "#header-") {
						names = append(names, text(a))
					}
				}
			}
		}
		return names
	}
	if got := links("409"); !slices.Equal(got, []string{"Retry-After"}) {
		t.Errorf("headers of a 409 are %v, want Retry-After", got)
	}
	if got := links("400"); len(got) != 0 {
		t.Errorf("headers of a 400 are %v, want none but the usual ones", got)
	}
}

// Ensure that every call has an example, and one without a body the first line of a request.
func TestExamples(t *testing.T) {
	page := read(t, ours(t), "/docs/api")
	for id, want := range map[string]string{
		"list":        "GET /v1/keys?operation=POST+%2Fv1%2Forders&state=uncertain&created_after=2026-07-01T00%3A00%3A00Z",
		"docsProblem": "GET /docs/problems/lease_lost",
		"livez":       "GET /livez",
	} {
		if got := literal(all(byID(page, id), "pre")[0]); got != want {
			t.Errorf("the example of %s is %q, want %q", id, got, want)
		}
	}
	for _, call := range all(page, "section") {
		if attribute(call, "class") == "call" && len(all(call, "pre")) == 0 {
			t.Errorf("%s has no example", attribute(call, "id"))
		}
	}
	var titles []string
	for _, summary := range all(byID(page, "release-200"), "summary") {
		titles = append(titles, text(summary))
	}
	if want := []string{"Example: completed", "Example: released"}; !slices.Equal(titles, want) {
		t.Errorf("the examples of an answer are %v, want %v", titles, want)
	}
}

// Ensure that the API page has a table of contents with every call, in the order of the description.
func TestContents(t *testing.T) {
	page := read(t, ours(t), "/docs/api")
	var contents []string
	for _, nav := range all(page, "nav") {
		if attribute(nav, "class") == "contents" {
			for _, a := range all(nav, "a") {
				contents = append(contents, attribute(a, "href"))
			}
		}
	}
	want := []string{"#about", "#tokens"}
	for _, section := range all(page, "section") {
		if attribute(section, "class") == "call" {
			want = append(want, "#"+attribute(section, "id"))
		}
	}
	if want = append(want, "#types", "#headers"); !slices.Equal(contents, want) {
		t.Errorf("contents are %v, want %v", contents, want)
	}
	if here := slices.IndexFunc(all(page, "a"), func(a *html.Node) bool { return attribute(a, "aria-current") == "page" && text(a) == "API" }); here < 0 {
		t.Error("the page does not say where the reader is")
	}
}
