package apidocs

import (
	"fmt"
	"strings"
)

// A reference is resolved where it is followed. That each leads somewhere, and no schema to itself, is checked by verify
// before anything else looks.

func lookUp[T any](in ordered[T], kind, ref string) (name string, value T, err error) {
	name, ok := strings.CutPrefix(ref, "#/components/"+kind+"/")
	if ok {
		if value, ok = in.find(name); ok {
			return name, value, nil
		}
	}
	return "", value, fmt.Errorf("$ref %s: there is no such component under %s", ref, kind)
}

func (d *document) response(r *response) *response {
	if r.Ref != "" {
		_, r, _ = lookUp(d.Components.Responses, "responses", r.Ref)
	}
	return r
}

func (d *document) parameter(p *parameter) *parameter {
	if p.Ref != "" {
		_, p, _ = lookUp(d.Components.Parameters, "parameters", p.Ref)
	}
	return p
}

// schemaOf follows the reference of a schema, and gives the name of what it leads to.
func (d *document) schemaOf(s *schema) (name string, target *schema) {
	if s.Ref == "" {
		return "", s
	}
	name, target, _ = lookUp(d.Components.Schemas, "schemas", s.Ref)
	return name, target
}

// codes gives the codes of the problems that a schema allows.
func (d *document) codes(s *schema) (codes []string) {
	if s == nil {
		return nil
	}
	_, s = d.schemaOf(s)
	if code, ok := s.Properties.find("code"); ok {
		for _, value := range code.Enum {
			codes = append(codes, value.Value)
		}
	}
	for _, part := range s.parts() {
		codes = append(codes, d.codes(part)...)
	}
	return codes
}
