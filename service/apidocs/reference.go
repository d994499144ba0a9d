package apidocs

import (
	"net/url"
	"slices"
	"strings"
)

// reference is what the API page shows.
type reference struct {
	Intro   []block
	Tokens  []block // how to authenticate
	Groups  []group
	Types   []typeView
	Usual   []headerView // headers of most answers
	Unusual []headerView
}

// group is the calls of one kind.
type group struct {
	ID, Title string
	Calls     []callView
}

type callView struct {
	ID, Method, Path, Summary string
	Scopes                    []string
	Open                      bool // needs no token
	Description               []block
	Line                      string // an example of the request line
	Parameters                []field
	Request                   *contentView
	Answers                   []answerView
	Refusals                  []refusalView
}

// contentView is a body of a request or an answer.
type contentView struct {
	ID          string
	MediaType   string
	Description []block
	Fields      []field
	Examples    []exampleView
}

type exampleView struct{ Title, Text string }

type answerView struct {
	contentView
	Status  string
	Text    []block
	Headers []headerView // but the usual ones
}

type refusalView struct {
	Status   string
	Text     []block
	Problems []problemLink
	Headers  []headerView
}

type problemLink struct{ Code, Title, Href string }

type typeView struct {
	ID, Name    string
	Description []block
	Fields      []field
}

// reference makes the API page.
func (b *builder) reference() reference {
	r := reference{Intro: b.text(b.doc.Info.Description)}
	for _, s := range b.doc.Components.SecuritySchemes {
		r.Tokens = append(r.Tokens, b.text(s.Value.Description)...)
	}
	usual, unusual := b.headers()
	r.Usual, r.Unusual = usual, unusual
	for _, t := range b.doc.Tags {
		g := group{ID: "calls-" + t.Name, Title: strings.TrimSuffix(t.Description, ".")}
		for _, o := range b.doc.operations {
			if o.Tags[0] == t.Name {
				g.Calls = append(g.Calls, b.call(o, unusual))
			}
		}
		r.Groups = append(r.Groups, g)
	}
	r.Types = b.types()
	return r
}

func (b *builder) call(o *operation, unusual []headerView) callView {
	c := callView{ID: o.ID, Method: o.method, Path: o.path, Summary: o.Summary, Description: b.textOnProblems(o.Description, "problems/"), Line: b.line(o)}
	c.Scopes, c.Open = b.doc.scopes(o)
	for _, p := range o.Parameters {
		c.Parameters = append(c.Parameters, b.parameter(o, b.doc.parameter(p)))
	}
	if o.Body != nil {
		request := b.content(o.ID+"-request", o.Body.Content)
		c.Request = &request
	}
	for _, r := range o.Responses {
		response := b.doc.response(r.Value)
		text := b.textOnProblems(response.Description, "problems/")
		headers := own(response, unusual)
		if succeeds(r.Name) {
			b.answering = true
			c.Answers = append(c.Answers, answerView{contentView: b.content(o.ID+"-"+r.Name, response.Content), Status: r.Name, Text: text, Headers: headers})
			b.answering = false
			continue
		}
		c.Refusals = append(c.Refusals, refusalView{Status: r.Name, Text: text, Problems: b.problemsOf(response, "problems/"), Headers: headers})
	}
	return c
}

func (b *builder) parameter(o *operation, p *parameter) field {
	f := b.field(b.doc.shape(p.Schema), o.ID+"."+p.In, p.Name)
	f.Description, f.Need = b.text(p.Description), b.need(p.Required)
	return f
}

// line gives the first line of a request, with what is exemplified of its parameters.
func (b *builder) line(o *operation) string {
	path, query := o.path, []string{}
	for _, ref := range o.Parameters {
		switch p := b.doc.parameter(ref); {
		case p.Example.Kind == 0:
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(p.Example.Value))
		default:
			query = append(query, p.Name+"="+url.QueryEscape(p.Example.Value))
		}
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	return o.method + " " + path
}

// content makes the view of a body. The description has one kind of content for each.
func (b *builder) content(id string, content ordered[*media]) contentView {
	v := contentView{ID: id}
	for _, c := range content {
		v.MediaType = c.Name
		v.Examples = append(v.Examples, c.Value.examples()...)
		if s := c.Value.Schema; s != nil {
			if sh := b.doc.shape(s); len(sh.properties) > 0 {
				v.Description = b.text(sh.description)
			}
			v.Fields = append(v.Fields, b.fields(s, id, "")...)
		}
	}
	return v
}

func (b *builder) problemsOf(r *response, folder string) (all []problemLink) {
	for _, c := range r.Content {
		for _, code := range b.doc.codes(c.Value.Schema) {
			p, _ := b.doc.Problems.find(code)
			all = append(all, problemLink{Code: code, Title: p.Title, Href: folder + code})
		}
	}
	return all
}

// types shows the types that were linked to, and those that these link to, in the order of the description.
func (b *builder) types() (all []typeView) {
	views := map[string]typeView{}
	for len(b.used) > 0 {
		name := b.used[0].name
		b.answering = b.used[0].answering
		b.used = b.used[1:]
		if _, shown := views[name]; shown {
			continue
		}
		s, _ := b.doc.Components.Schemas.find(name)
		id := "type-" + name
		views[name] = typeView{ID: id, Name: name, Description: b.text(b.doc.shape(s).description), Fields: b.fields(s, id, "")}
	}
	b.answering = false
	for _, s := range b.doc.Components.Schemas {
		if v, shown := views[s.Name]; shown {
			all = append(all, v)
		}
	}
	return all
}

func own(r *response, unusual []headerView) (all []headerView) {
	for _, v := range unusual {
		if slices.ContainsFunc(r.Headers, func(h entry[*header]) bool { return h.Value.Ref == v.ref }) {
			all = append(all, v)
		}
	}
	return all
}
