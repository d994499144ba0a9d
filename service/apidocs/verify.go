package apidocs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// verifier collects everything that is wrong with a document.
type verifier struct {
	*document
	errs []error
}

func (v *verifier) fault(where, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
}

func (v *verifier) must(err error, where string) {
	if err != nil {
		v.fault(where, "%v", err)
	}
}

// verify finds what would make a page wrong or empty, and gives each problem its example.
func (d *document) verify() error {
	v := &verifier{document: d}
	if !strings.HasPrefix(d.OpenAPI, "3.1.") {
		v.fault("openapi", "is %q, and must be 3.1", d.OpenAPI)
	}
	if len(d.operations) == 0 {
		v.fault("paths", "there are no calls")
	}
	if len(d.Problems) == 0 {
		v.fault("x-problems", "there are none")
	}
	v.components()
	v.calls()
	if len(v.errs) == 0 { // what follows follows references
		v.problems()
	}
	return errors.Join(v.errs...)
}

func (v *verifier) components() {
	for _, c := range v.Components.Schemas {
		v.schema("components.schemas."+c.Name, c.Value)
		v.cycle("components.schemas."+c.Name, c.Value, []string{c.Name})
	}
	for _, c := range v.Components.Headers {
		v.header("components.headers."+c.Name, c.Value)
	}
	for _, c := range v.Components.Parameters {
		v.parameter("components.parameters."+c.Name, c.Value)
	}
	for _, c := range v.Components.Responses {
		v.response("components.responses."+c.Name, c.Value)
	}
}

var operationID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

func (v *verifier) calls() {
	seen := map[string]bool{}
	for _, o := range v.operations {
		where := o.method + " " + o.path
		if !operationID.MatchString(o.ID) || seen[o.ID] {
			v.fault(where, "operationId %q: each call has one of its own, of letters and digits", o.ID)
		}
		seen[o.ID] = true
		if o.Summary == "" || o.Description == "" {
			v.fault(where, "summary and description are required")
		}
		if len(o.Tags) != 1 || !v.hasTag(o.Tags[0]) {
			v.fault(where, "must have one tag, of those under tags")
		}
		if len(o.Responses) == 0 {
			v.fault(where, "has no responses")
		}
		v.call(where, o)
	}
}

func (v *verifier) hasTag(name string) bool {
	for _, t := range v.Tags {
		if t.Name == name {
			return true
		}
	}
	return false
}

func (v *verifier) call(where string, o *operation) {
	for _, p := range o.Parameters {
		v.parameter(where+" parameters", p)
	}
	if o.Body != nil {
		v.content(where+" requestBody", o.Body.Content)
	}
	for _, r := range o.Responses {
		v.response(where+" "+r.Name, r.Value)
	}
}

func (v *verifier) response(where string, r *response) {
	switch {
	case r == nil:
		v.fault(where, "is empty")
	case r.Ref != "":
		_, target, err := lookUp(v.Components.Responses, "responses", r.Ref)
		v.must(err, where)
		if err == nil && (target == nil || target.Ref != "") {
			v.fault(where, "$ref %s: leads to another reference", r.Ref)
		}
	default:
		if r.Description == "" {
			v.fault(where, "has no description")
		}
		for _, h := range r.Headers {
			v.header(where+" "+h.Name, h.Value)
		}
		v.content(where, r.Content)
	}
}

func (v *verifier) header(where string, h *header) {
	switch {
	case h == nil:
		v.fault(where, "is empty")
	case h.Ref != "":
		_, _, err := lookUp(v.Components.Headers, "headers", h.Ref)
		v.must(err, where)
	default:
		v.described(where, h.Description, h.Schema)
	}
}

func (v *verifier) parameter(where string, p *parameter) {
	switch {
	case p == nil:
		v.fault(where, "is empty")
	case p.Ref != "":
		_, target, err := lookUp(v.Components.Parameters, "parameters", p.Ref)
		v.must(err, where)
		if err == nil && (target == nil || target.Ref != "") {
			v.fault(where, "$ref %s: leads to another reference", p.Ref)
		}
	case p.Name == "" || p.In != "query" && p.In != "path":
		v.fault(where, "a parameter has a name, and is in query or path")
	default:
		v.described(where+" "+p.Name, p.Description, p.Schema)
	}
}

func (v *verifier) described(where, description string, s *schema) {
	if description == "" || s == nil {
		v.fault(where, "description and schema are required")
		return
	}
	v.schema(where, s)
}

func (v *verifier) content(where string, content ordered[*media]) {
	for _, c := range content {
		if c.Value == nil {
			v.fault(where+" "+c.Name, "is empty")
			continue
		}
		if c.Value.Schema != nil {
			v.schema(where+" "+c.Name, c.Value.Schema)
		}
		for _, e := range c.Value.Examples {
			if e.Value == nil {
				v.fault(where+" "+c.Name, "the example %s is empty", e.Name)
			}
		}
	}
}

// schema checks that every reference within a schema leads somewhere.
func (v *verifier) schema(where string, s *schema) {
	if s == nil {
		v.fault(where, "is empty")
		return
	}
	if s.Ref != "" {
		_, target, err := lookUp(v.Components.Schemas, "schemas", s.Ref)
		v.must(err, where)
		if err == nil && target == nil {
			v.fault(where, "$ref %s: is empty", s.Ref)
		}
	}
	for _, p := range s.Properties {
		v.schema(where+"."+p.Name, p.Value)
	}
	for _, part := range s.parts() {
		v.schema(where, part)
	}
	if s.Items != nil {
		v.schema(where+"[]", s.Items)
	}
}

// cycle finds a schema that is made of itself. Fields may lead back: the pages link to the type of a field where it is an
// object of a name.
func (v *verifier) cycle(where string, s *schema, above []string) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		name, target, err := lookUp(v.Components.Schemas, "schemas", s.Ref)
		if err != nil {
			return
		}
		for _, a := range above {
			if a == name {
				v.fault(where, "is made of itself, by %s", strings.Join(append(above, name), " → "))
				return
			}
		}
		v.cycle(where, target, append(above, name))
	}
	for _, part := range s.parts() {
		v.cycle(where, part, above)
	}
	v.cycle(where, s.Items, above)
}

var problemCode = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// problems checks that the codes which answers have and those that are explained are the same, and finds an example of each.
func (v *verifier) problems() {
	examples := map[string]*yaml.Node{}
	v.eachAnswer(func(where string, r *response) {
		for _, c := range r.Content {
			for _, code := range v.codes(c.Value.Schema) {
				if _, ok := v.Problems.find(code); !ok {
					v.fault(where, "answers with %s, which x-problems does not have", code)
				}
			}
			for _, e := range c.Value.Examples {
				if code := textAt(&e.Value.Value, "code"); code != "" && examples[code] == nil {
					examples[code] = &e.Value.Value
				}
			}
		}
	})
	for _, p := range v.Problems {
		v.problem("x-problems."+p.Name, p.Name, p.Value, examples[p.Name])
	}
}

func (v *verifier) problem(where, code string, p *problem, example *yaml.Node) {
	switch {
	case !problemCode.MatchString(code):
		v.fault(where, "a code has small letters and underlines")
	case p == nil || p.Title == "" || p.Advice == "" || p.Meaning == "" || p.Action == "":
		v.fault(where, "title, advice, meaning and action are required")
	case p.Status < 400 || p.Status > 599:
		v.fault(where, "status %d is none of a problem", p.Status)
	case example == nil:
		v.fault(where, "no answer has an example of it")
	default:
		p.example = example
	}
}
