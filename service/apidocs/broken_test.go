package apidocs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise"
	"github.com/reprise-idempotency/reprise/service/apidocs"
)

// small is a description of one call, from which the pages can be made.
const small = `openapi: 3.1.0
info: {title: T, version: "1", description: About.}
tags:
  - {name: keys, description: Keys.}
paths:
  /v1/thing:
    post:
      operationId: thing
      tags: [keys]
      summary: Do it
      description: Does it.
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Thing'}
            examples:
              one: {value: {size: 3, text: 'a "b" <c>', list: [[x, y]], none: null, deep: {a: 1}}}
      responses:
        '200': {$ref: '#/components/responses/Done'}
        '400':
          description: It is wrong (` + "`bad`" + `).
          content:
            application/problem+json:
              schema: {$ref: '#/components/schemas/BadProblem'}
              examples:
                bad: {value: {code: bad, detail: wrong}}
components:
  headers:
    Id: {description: Names it., schema: {type: string}}
  parameters:
    Page: {name: page, in: query, description: Which., schema: {type: integer}}
  responses:
    Done:
      description: It is done.
      headers:
        X-Id: {$ref: '#/components/headers/Id'}
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Thing'}
  schemas:
    Thing:
      type: object
      required: [size]
      properties:
        size: {description: How large., type: integer, minimum: 1, maximum: 9}
        thing: {$ref: '#/components/schemas/Part'}
        rows: {description: Rows., type: array, items: {type: object, required: [cell], properties: {cell: {description: One., type: string}}}}
    Part:
      description: A part.
      type: object
      properties:
        parts: {description: Its parts., type: array, items: {$ref: '#/components/schemas/Part'}}
    BadProblem:
      type: object
      properties:
        code: {type: string, enum: [bad]}
x-problems:
  bad: {status: 400, title: Bad, advice: none, meaning: It is bad., action: Mend it.}
`

// replaced gives small with one text changed, which must be there.
func replaced(t *testing.T, old, new string) []byte {
	t.Helper()
	if !strings.Contains(small, old) {
		t.Fatalf("%q is not in the description that the others are made of", old)
	}
	return []byte(strings.Replace(small, old, new, 1))
}

// Ensure that a small description, with a type that leads back to itself, becomes pages.
func TestSmall(t *testing.T) {
	p, err := apidocs.New([]byte(small), version)
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, p, "/docs/api")
	if got := fieldNames(byID(page, "type-Part")); len(got) != 1 || got[0] != "parts" {
		t.Errorf("fields of Part are %v, want [parts]", got)
	}
	if got, want := fieldNames(byID(page, "thing-request")), []string{"size", "thing", "rows", "rows[].cell"}; !slices.Equal(got, want) {
		t.Errorf("fields of the request are %v, want %v", got, want)
	}
	if row := byID(page, "thing-request.rows.cell"); row == nil || text(row) != "rows[].cell required string One." {
		t.Errorf("there is no row for a field within an array, or another one")
	}
	if got, want := literal(all(byID(page, "thing-request"), "pre")[0]), `{
  "size": 3,
  "text": "a \"b\" <c>",
  "list": [["x", "y"]],
  "none": null,
  "deep": {"a": 1}
}`; got != want {
		t.Errorf("the example is\n%s\nwant\n%s", got, want)
	}
}

// Ensure that a call which has a problem under two statuses is named once on its page.
func TestCallIsNamedOnce(t *testing.T) {
	again := "        '422':\n          description: Also.\n          content: {application/problem+json: {schema: {$ref: '#/components/schemas/BadProblem'}}}\ncomponents:\n"
	p, err := apidocs.New(replaced(t, "components:\n", again), version)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(byID(read(t, p, "/docs/problems/bad"), "content")); strings.Count(got, "thing") != 1 {
		t.Errorf("the page reads %q, want thing once", got)
	}
}

// Ensure that a description from which no page, or a wrong one, would be made is refused with an error that names the place.
func TestBroken(t *testing.T) {
	for id, c := range map[string]struct{ old, new, want string }{
		"no YAML":                    {"openapi: 3.1.0", "openapi: [", "line"},
		"another type":               {"tags: [keys]", "tags: {a: b}", "line 9"},
		"other version":              {"3.1.0", "3.0.3", "openapi"},
		"no version":                 {"openapi: 3.1.0", "", "openapi"},
		"no calls":                   {"  /v1/thing:\n    post:", "  /v1/thing:\n    trace:", "there are no calls"},
		"paths are a list":           {"paths:\n  /v1/thing:", "paths:\n - x\nother:\n  /v1/thing:", "must be a mapping"},
		"a status twice":             {"        '400':\n", "        '200': {description: x}\n        '400':\n", "200 is there twice"},
		"no operationId":             {"operationId: thing", "x: y", "POST /v1/thing: operationId"},
		"hostile operationId":        {"operationId: thing", `operationId: 'a"b'`, "POST /v1/thing: operationId"},
		"no summary":                 {"summary: Do it", "x: y", "POST /v1/thing: summary"},
		"no description":             {"description: Does it.", "x: y", "POST /v1/thing: summary and description"},
		"no tag":                     {"tags: [keys]", "x: y", "POST /v1/thing: must have one tag"},
		"unknown tag":                {"tags: [keys]", "tags: [others]", "POST /v1/thing: must have one tag"},
		"response that is not there": {"responses/Done'", "responses/Dune'", "POST /v1/thing 200: $ref #/components/responses/Dune"},
		"response elsewhere":         {"#/components/responses/Done", "other.yaml#/Done", "POST /v1/thing 200: $ref other.yaml#/Done"},
		"response without text":      {"description: It is done.", "x: y", "components.responses.Done: has no description"},
		"empty response":             {"'200': {$ref: '#/components/responses/Done'}", "'200':", "POST /v1/thing 200: is empty"},
		"schema that is not there":   {"schema: {$ref: '#/components/schemas/BadProblem'}", "schema: {$ref: '#/components/schemas/X'}", "POST /v1/thing 400 application/problem+json: $ref #/components/schemas/X"},
		"field that is not there":    {"thing: {$ref: '#/components/schemas/Part'}", "thing: {$ref: '#/components/schemas/X'}", "components.schemas.Thing.thing: $ref"},
		"empty field":                {"size: {description: How large., type: integer, minimum: 1, maximum: 9}", "size:", "components.schemas.Thing.size: is empty"},
		"schema made of itself":      {"    Part:\n", "    Part:\n      allOf: [{$ref: '#/components/schemas/Part'}]\n", "components.schemas.Part: is made of itself, by Part → Part"},
		"array of itself":            {"    Thing:\n", "    Loop: {type: array, items: {$ref: '#/components/schemas/Loop'}}\n    Thing:\n", "Loop → Loop"},
		"header without schema":      {"Id: {description: Names it., schema: {type: string}}", "Id: {description: Names it.}", "components.headers.Id: description and schema"},
		"header that is not there":   {"headers/Id'", "headers/Ix'", "components.responses.Done X-Id: $ref"},
		"parameter in a cookie":      {"in: query", "in: cookie", "components.parameters.Page: a parameter"},
		"no problems":                {"x-problems:", "x-others:", "x-problems: there are none"},
		"problem without action":     {", action: Mend it.", "", "x-problems.bad: title"},
		"problem of another status":  {"{status: 400", "{status: 200", "x-problems.bad: status 200"},
		"problem of no use":          {"x-problems:\n", "x-problems:\n  worse: {status: 400, title: T, advice: none, meaning: M, action: A}\n", "x-problems.worse: no answer has an example of it"},
		"problem without a meaning":  {"enum: [bad]", "enum: [bad, worse]", "answers with worse, which x-problems does not have"},
		"hostile code":               {"  bad: {status", "  ../bad: {status", "x-problems.../bad: a code has small letters"},
	} {
		_, err := apidocs.New(replaced(t, c.old, c.new), version)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "openapi.yaml:") {
			t.Errorf("%s: the error is %v, want one of openapi.yaml with %q", id, err, c.want)
		}
	}
}

// Ensure that all mistakes are told at once.
func TestAllMistakesAtOnce(t *testing.T) {
	broken := strings.NewReplacer("3.1.0", "2.0", "summary: Do it", "x: y", "responses/Done'", "responses/Dune'").Replace(small)
	_, err := apidocs.New([]byte(broken), version)
	for _, want := range []string{"openapi: is", "summary and description", "responses/Dune"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, without %q", err, want)
		}
	}
}

// Ensure that nothing at all, and a description that was cut off anywhere, is an answer of New and no panic.
func TestCutOff(t *testing.T) {
	for _, text := range []string{"", "\n", "null", "[]", "x", "---\n---\n", "\x00"} {
		if _, err := apidocs.New([]byte(text), version); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	for i := 0; i < len(small); i += 7 {
		_, _ = apidocs.New([]byte(small[:i]), version)
	}
	for i := 0; i < len(reprise.OpenAPI); i += 12_007 {
		if _, err := apidocs.New(reprise.OpenAPI[:i], version); err == nil {
			t.Errorf("the first %d bytes of openapi.yaml: no error", i)
		}
	}
}
