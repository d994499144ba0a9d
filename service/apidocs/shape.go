package apidocs

import (
	"fmt"
	"slices"
)

// shape is what a schema comes to once its references and parts are put together.
type shape struct {
	name        string // of the component, where it has fields
	description string
	types       []string
	format      string
	pattern     string
	enum        []string // as JSON
	deflt       string   // as JSON
	limits      []string
	properties  ordered[*schema]
	required    []string
	items       *schema
	variants    []string // names of the components of which it is one
	without     []string // fields of the component that it must not have
}

// shape puts a schema together. What is said nearer to the place of use counts before what a part says.
func (d *document) shape(s *schema) shape {
	if s.Ref != "" {
		name, target := d.schemaOf(s)
		sh := d.shape(target)
		if sh.name == "" && len(sh.properties) > 0 {
			sh.name = name
		}
		return sh
	}
	sh := shape{description: s.Description, types: s.Type, format: s.Format, pattern: s.Pattern, limits: limits(s),
		properties: s.Properties, required: s.Required, items: s.Items}
	for _, value := range s.Enum {
		if value.Tag != "!!null" {
			sh.enum = append(sh.enum, jsonLine(&value))
		}
	}
	if s.Default.Kind != 0 {
		sh.deflt = jsonLine(&s.Default)
	}
	for _, part := range d.partsOf(s) {
		sh.add(d.shape(part))
	}
	if s.Not != nil {
		sh.without = append(sh.without, s.Not.Required...)
	}
	if len(sh.properties) == 0 {
		sh.variants = d.variantsOf(s)
	}
	return sh
}

// partsOf gives the parts of which every value has all, and the alternative of which it is when there is but one that
// says anything.
func (d *document) partsOf(s *schema) []*schema {
	parts := slices.Clone(s.AllOf)
	for _, alternatives := range [][]*schema{s.AnyOf, s.OneOf} {
		if said := saying(alternatives); len(said) == 1 {
			parts = append(parts, said[0])
		}
	}
	return parts
}

// variantsOf gives the names of the alternatives. Those of a schema that has fields of its own are conditions on them, which
// its description tells.
func (d *document) variantsOf(s *schema) (names []string) {
	for _, alternative := range saying(append(slices.Clone(s.AnyOf), s.OneOf...)) {
		if alternative.Ref != "" {
			name, _ := d.schemaOf(alternative)
			names = append(names, name)
		}
	}
	return names
}

func saying(all []*schema) (said []*schema) {
	for _, s := range all {
		if !s.saysNothing() {
			said = append(said, s)
		}
	}
	return said
}

// add takes over what is not said yet.
func (sh *shape) add(part shape) {
	sh.name = first(sh.name, part.name)
	sh.description = first(sh.description, part.description)
	sh.format = first(sh.format, part.format)
	sh.pattern = first(sh.pattern, part.pattern)
	sh.deflt = first(sh.deflt, part.deflt)
	if len(sh.types) == 0 {
		sh.types = part.types
	}
	if len(sh.enum) == 0 {
		sh.enum = part.enum
	}
	if len(sh.limits) == 0 {
		sh.limits = part.limits
	}
	if sh.items == nil {
		sh.items = part.items
	}
	for _, p := range part.properties {
		if _, there := sh.properties.find(p.Name); !there {
			sh.properties = append(slices.Clip(sh.properties), p)
		}
	}
	sh.required = append(slices.Clip(sh.required), part.required...)
	sh.without = append(sh.without, part.without...)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// limits writes how long or large a value may be.
func limits(s *schema) (all []string) {
	for _, l := range []struct {
		least, most *int64
		one, many   string
	}{
		{s.MinLength, s.MaxLength, " character", " characters"},
		{s.MinItems, s.MaxItems, " item", " items"},
		{s.Minimum, s.Maximum, "", ""},
	} {
		unit := l.many
		if l.most != nil && *l.most == 1 || l.most == nil && l.least != nil && *l.least == 1 {
			unit = l.one
		}
		switch {
		case l.least != nil && l.most != nil && *l.least == *l.most:
			all = append(all, fmt.Sprintf("exactly %d%s", *l.least, unit))
		case l.least != nil && l.most != nil:
			all = append(all, fmt.Sprintf("%d to %d%s", *l.least, *l.most, unit))
		case l.most != nil:
			all = append(all, fmt.Sprintf("up to %d%s", *l.most, unit))
		case l.least != nil:
			all = append(all, fmt.Sprintf("at least %d%s", *l.least, unit))
		}
	}
	return all
}
