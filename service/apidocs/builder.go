package apidocs

import "strings"

// builder makes what the pages show of a document.
type builder struct {
	doc     *document
	callers map[string][]*operation
	inline  map[string]string // the address on the API page of what is shown where a call uses it, by the name of its schema
	used    []use             // types that were linked to, and so need a place of their own

	answering bool // fields are those of an answer
}

type use struct {
	name      string
	answering bool
}

func newBuilder(d *document) *builder {
	b := &builder{doc: d, callers: callersOf(d), inline: map[string]string{}}
	for _, o := range d.operations {
		if o.Body != nil {
			b.showsInline(o.Body.Content, "#"+o.ID+"-request")
		}
		for _, r := range o.Responses {
			if succeeds(r.Name) {
				b.showsInline(d.response(r.Value).Content, "#"+o.ID+"-"+r.Name)
			}
		}
	}
	return b
}

func succeeds(status string) bool { return strings.HasPrefix(status, "2") }

func (b *builder) showsInline(content ordered[*media], address string) {
	for _, c := range content {
		if c.Value.Schema == nil || c.Value.Schema.Ref == "" {
			continue
		}
		if name, _ := b.doc.schemaOf(c.Value.Schema); b.inline[name] == "" {
			b.inline[name] = address
		}
	}
}

// linkTo gives the address of a type on the API page.
func (b *builder) linkTo(name string) string {
	if address := b.inline[name]; address != "" {
		return address
	}
	b.used = append(b.used, use{name, b.answering})
	return "#type-" + name
}

// text takes a description apart in which code is code.
func (b *builder) text(s string) []block { return textOf(s, func(string) string { return "" }) }

// textOnProblems takes a description apart in which the code of a problem leads to its page. folder is where the pages of
// problems are, as seen from the page of the text.
func (b *builder) textOnProblems(s, folder string) []block {
	return textOf(s, func(code string) string {
		if _, ok := b.doc.Problems.find(code); ok {
			return folder + code
		}
		return ""
	})
}
