package apidocs

import (
	"slices"
	"strings"
)

// field is a row of a table of fields.
type field struct {
	ID, Name    string
	Need        string // "required" of a request, "optional" in an answer, where the other is the rule
	Type        []typePart
	Limits      []string
	Values      []string // the only ones that there are
	Pattern     string
	Default     string
	Description []block
}

// typePart is a piece of a type's name, which may lead to the type.
type typePart struct{ Text, Href string }

// fields makes the rows of a schema's fields, those of its objects without a name included. above is what their names and
// addresses begin with.
func (b *builder) fields(s *schema, id, above string) (rows []field) {
	sh := b.doc.shape(s)
	for _, p := range sh.properties {
		name := above + p.Name
		child := b.doc.shape(p.Value)
		row := b.field(child, id, name)
		row.Need = b.need(slices.Contains(sh.required, p.Name))
		rows = append(rows, row)
		inner, brackets := child, ""
		var from = p.Value
		for inner.items != nil {
			from = inner.items
			inner, brackets = b.doc.shape(from), brackets+"[]"
		}
		if inner.name == "" && len(inner.properties) > 0 {
			rows = append(rows, b.fields(from, id, name+brackets+".")...)
		}
	}
	return rows
}

// need says what is not the rule: that a field of a request must be given, or that one of an answer may be absent.
func (b *builder) need(required bool) string {
	switch {
	case required && !b.answering:
		return "required"
	case !required && b.answering:
		return "optional"
	}
	return ""
}

func (b *builder) field(sh shape, id, name string) field {
	f := field{ID: id + "." + strings.ReplaceAll(name, "[]", ""), Name: name, Type: b.typeOf(sh), Limits: sh.limits, Values: sh.enum,
		Default: sh.deflt, Description: b.text(sh.description)}
	if sh.format == "" {
		f.Pattern = sh.pattern
	}
	return f
}

// typeOf names a type as people say it.
func (b *builder) typeOf(sh shape) []typePart {
	switch {
	case sh.items != nil:
		item := b.doc.shape(sh.items)
		if slices.Equal(item.limits, []string{"exactly 2 items"}) {
			return append([]typePart{{Text: "array of pairs of "}}, b.typeOf(b.doc.shape(item.items))...)
		}
		return append([]typePart{{Text: "array of "}}, b.typeOf(item)...)
	case sh.name != "":
		parts := []typePart{{Text: sh.name, Href: b.linkTo(sh.name)}}
		for _, field := range sh.without {
			parts = append(parts, typePart{Text: " without " + field})
		}
		return parts
	case len(sh.variants) > 0:
		return b.oneOf(sh.variants)
	case len(sh.properties) > 0:
		return []typePart{{Text: "object"}}
	case sh.format != "" && slices.Equal(sh.types, []string{"string"}):
		return []typePart{{Text: sh.format}}
	case len(sh.types) > 0:
		return []typePart{{Text: strings.Join(sh.types, " or ")}}
	}
	return []typePart{{Text: "any"}}
}

// oneOf names the alternatives; those that are problems together, by their codes.
func (b *builder) oneOf(names []string) (parts []typePart) {
	var codes []typePart
	for _, name := range names {
		s, _ := b.doc.Components.Schemas.find(name)
		if of := b.doc.codes(s); len(of) > 0 {
			for _, code := range of {
				codes = append(codes, typePart{Text: code, Href: "problems/" + code})
			}
			continue
		}
		parts = append(parts, typePart{Text: name, Href: b.linkTo(name)})
	}
	parts = joined(parts)
	if len(codes) > 0 {
		if len(parts) > 0 {
			parts = append(parts, typePart{Text: ", or a "})
		}
		parts = append(parts, typePart{Text: "Problem", Href: b.linkTo("Problem")}, typePart{Text: ": "})
		parts = append(parts, joined(codes)...)
	}
	return parts
}

func joined(parts []typePart) (all []typePart) {
	for i, p := range parts {
		if i > 0 {
			all = append(all, typePart{Text: ", "})
		}
		all = append(all, p)
	}
	return all
}
