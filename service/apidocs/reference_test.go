package apidocs_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"golang.org/x/net/html"
)

// Ensure that every call of openapi.yaml is on the API page, with its method, path, summary and scope.
func TestEveryCall(t *testing.T) {
	page := read(t, ours(t), "/docs/api")
	eachCall(t, func(method, path string, o *openapi3.Operation) {
		call := byID(page, o.OperationID)
		if call == nil {
			t.Errorf("%s %s: there is no element with the id %s", method, path, o.OperationID)
			return
		}
		head := text(all(call, "h3")[0])
		for _, want := range append(scopesOf(o), method, path, o.Summary) {
			if !strings.Contains(head, want) {
				t.Errorf("%s: the heading is %q, without %q", o.OperationID, head, want)
			}
		}
	})
}

func scopesOf(o *openapi3.Operation) (scopes []string) {
	switch {
	case o.Security == nil:
		return []string{"a token"}
	case len(*o.Security) == 0:
		return []string{"no token"}
	}
	for _, r := range *o.Security {
		scopes = append(scopes, r["bearer"]...)
	}
	return scopes
}

// Ensure that every field of a request and of an answer is in the table of its call, and every parameter.
func TestEveryFieldOfACall(t *testing.T) {
	page := read(t, ours(t), "/docs/api")
	eachCall(t, func(_, _ string, o *openapi3.Operation) {
		for _, p := range o.Parameters {
			checkRow(t, page, o.OperationID+"."+p.Value.In+"."+p.Value.Name, p.Value.Schema.Value, p.Value.Description)
		}
		if o.RequestBody != nil {
			checkFields(t, page, o.OperationID+"-request", o.RequestBody.Value.Content["application/json"].Schema)
		}
		for status, r := range o.Responses.Map() {
			if content := r.Value.Content["application/json"]; content != nil {
				checkFields(t, page, o.OperationID+"-"+status, content.Schema)
			}
		}
	})
}

// Ensure that every type which a field leads to is there with all its fields.
func TestEveryFieldOfAType(t *testing.T) {
	page := read(t, ours(t), "/docs/api")
	checked := 0
	for name, s := range description(t).Components.Schemas {
		if section := byID(page, "type-"+name); section != nil {
			checkFields(t, page, "type-"+name, s)
			checked++
		}
	}
	for _, name := range []string{"Record", "Lease", "Response", "Checkpoint", "Problem", "FingerprintRequest", "BatchCall", "BatchResult", "Act", "OpenCount"} {
		if byID(page, "type-"+name) == nil {
			t.Errorf("there is no type %s", name)
		}
	}
	if checked < 10 {
		t.Errorf("%d types are shown, want at least 10", checked)
	}
}

// checkFields compares a table of fields with a schema, the fields of nameless objects within it included.
func checkFields(t *testing.T, page *html.Node, id string, s *openapi3.SchemaRef) {
	t.Helper()
	group := byID(page, id)
	if group == nil {
		t.Errorf("there is no group of fields %s", id)
		return
	}
	var want []string
	eachField("", s, func(name string, required bool, field *openapi3.SchemaRef) {
		want = append(want, name)
		row := id + "." + strings.ReplaceAll(name, "[]", "")
		checkRow(t, page, row, field.Value, "")
		checkNeed(t, page, row, required)
	})
	got := fieldNames(group)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: fields are %v, want %v", id, got, want)
	}
}

// eachField visits the fields of a schema as another reader than ours finds them.
func eachField(above string, s *openapi3.SchemaRef, visit func(name string, required bool, field *openapi3.SchemaRef)) {
	for _, part := range append(slices.Clone(s.Value.AllOf), s.Value.AnyOf...) {
		if part.Ref == "" && part.Value.Type.Is("object") || slices.Contains(s.Value.AllOf, part) {
			eachField(above, part, visit)
		}
	}
	for name, field := range s.Value.Properties {
		if s.Value.Type == nil && above == "" && len(s.Value.Properties) > 0 && field.Value.Description == "" && len(field.Value.Enum) > 0 {
			continue // a condition on a field that is described elsewhere
		}
		visit(above+name, slices.Contains(s.Value.Required, name), field)
		inner, name := field, above+name
		for inner.Value.Type.Is("array") {
			inner, name = inner.Value.Items, name+"[]"
		}
		if inner.Ref == "" && len(inner.Value.Properties) > 0 {
			eachField(name+".", inner, visit)
		}
	}
}

// checkRow compares the row of a field with its schema: the only values, the default, the limits, the description.
func checkRow(t *testing.T, page *html.Node, id string, s *openapi3.Schema, description string) {
	t.Helper()
	row := byID(page, id)
	if row == nil {
		t.Errorf("there is no field %s", id)
		return
	}
	got := text(row)
	var want []string
	for _, value := range s.Enum {
		if value != nil {
			want = append(want, asJSON(value))
		}
	}
	if s.Default != nil {
		want = append(want, "default "+asJSON(s.Default))
	}
	if s.MaxLength != nil {
		want = append(want, fmt.Sprint(*s.MaxLength)+" characters")
	}
	if s.Max != nil {
		want = append(want, fmt.Sprint(int64(*s.Max)))
	}
	if s.MaxItems != nil {
		want = append(want, fmt.Sprint(*s.MaxItems)+" items")
	}
	if description = firstWords(first(description, s.Description)); description != "" {
		want = append(want, description)
	}
	if limits := text(all(row, "td")[0]); strings.Contains(limits, "null") {
		t.Errorf("%s: the limits read %q: null is nothing that a field can be", id, limits)
	}
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s: the row reads %q, without %q", id, got, w)
		}
	}
}

// requests are the types of requests; all others are of answers.
var requests = []string{"type-FingerprintRequest", "type-BatchCall"}

// checkNeed wants what is not the rule to be marked: a required field of a request, an optional one of an answer.
func checkNeed(t *testing.T, page *html.Node, id string, required bool) {
	t.Helper()
	row := byID(page, id)
	if row == nil {
		return
	}
	group, _, _ := strings.Cut(id, ".")
	want := ""
	switch ofRequest := strings.HasSuffix(group, "-request") || slices.Contains(requests, group); {
	case ofRequest && required:
		want = "required"
	case !ofRequest && !required:
		want = "optional"
	}
	head := strings.Fields(text(all(row, "th")[0]))
	if got := strings.Join(head[1:], " "); got != want {
		t.Errorf("%s is marked %q, want %q", id, got, want)
	}
}

func asJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// firstWords gives a beginning of a description that has no mark-up.
func firstWords(s string) string {
	s, _, _ = strings.Cut(strings.Join(strings.Fields(s), " "), "`")
	return strings.TrimSpace(s[:min(len(s), 25)])
}

// Ensure that every status of every call is shown, with the problems that it can have, each of which leads to its page.
func TestEveryRefusal(t *testing.T) {
	page := read(t, ours(t), "/docs/api")
	eachCall(t, func(_, _ string, o *openapi3.Operation) {
		call := byID(page, o.OperationID)
		shown := text(call)
		for status, r := range o.Responses.Map() {
			if !strings.Contains(shown, status) {
				t.Errorf("%s: the status %s is not shown", o.OperationID, status)
			}
			content := r.Value.Content["application/problem+json"]
			if content == nil {
				continue
			}
			for _, code := range codesOf(content.Schema) {
				if got := problemsIn(call, status); !slices.Contains(got, code) {
					t.Errorf("%s %s: the problems are %v, without %s", o.OperationID, status, got, code)
				}
			}
		}
	})
}

// problemsIn gives the problems to which the row of a status leads.
func problemsIn(call *html.Node, status string) (codes []string) {
	for _, row := range all(call, "tr") {
		if cells := all(row, "td"); len(cells) == 2 && text(all(row, "th")[0]) == status {
			for _, a := range all(cells[0], "a") {
				code, _ := strings.CutPrefix(attribute(a, "href"), "problems/")
				codes = append(codes, code)
			}
		}
	}
	return codes
}

func codesOf(s *openapi3.SchemaRef) (codes []string) {
	if code := s.Value.Properties["code"]; code != nil {
		for _, value := range code.Value.Enum {
			codes = append(codes, value.(string))
		}
	}
	for _, part := range append(slices.Clone(s.Value.AllOf), s.Value.OneOf...) {
		codes = append(codes, codesOf(part)...)
	}
	return codes
}

// Ensure that every field of openapi.yaml is described, so that no row of the pages is without a meaning.
func TestEveryFieldHasAMeaning(t *testing.T) {
	page := read(t, ours(t), "/docs/api")
	rows := 0
	for _, table := range all(page, "table") {
		if attribute(table, "class") != "fields" {
			continue
		}
		for _, row := range all(table, "tr") {
			if cells := all(row, "td"); len(cells) == 2 {
				if rows++; text(cells[1]) == "" {
					t.Errorf("%s has no meaning", attribute(row, "id"))
				}
			}
		}
	}
	if rows < 150 {
		t.Errorf("%d rows were looked at, want at least 150", rows)
	}
}

func eachCall(t *testing.T, visit func(method, path string, o *openapi3.Operation)) {
	t.Helper()
	calls := 0
	for path, item := range description(t).Paths.Map() {
		for method, o := range item.Operations() {
			visit(method, path, o)
			calls++
		}
	}
	if calls < 19 {
		t.Errorf("there are %d calls, want at least 19", calls)
	}
}
