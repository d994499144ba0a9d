package apidocs

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// document is what the pages show of openapi.yaml; what is not here is not shown.
type document struct {
	OpenAPI string `yaml:"openapi"`
	Info    struct {
		Description string `yaml:"description"`
	} `yaml:"info"`
	Tags       []tag             `yaml:"tags"`
	Security   []requirement     `yaml:"security"`
	Paths      ordered[pathItem] `yaml:"paths"`
	Components components        `yaml:"components"`
	Problems   ordered[*problem] `yaml:"x-problems"`
	operations []*operation      // all, in their order
}

type tag struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

// requirement names a way to authenticate, with the scopes that a call needs.
type requirement map[string][]string

type components struct {
	Schemas         ordered[*schema]    `yaml:"schemas"`
	Responses       ordered[*response]  `yaml:"responses"`
	Parameters      ordered[*parameter] `yaml:"parameters"`
	Headers         ordered[*header]    `yaml:"headers"`
	SecuritySchemes ordered[struct {
		Description string `yaml:"description"`
	}] `yaml:"securitySchemes"`
}

type pathItem struct {
	Get    *operation `yaml:"get"`
	Put    *operation `yaml:"put"`
	Post   *operation `yaml:"post"`
	Delete *operation `yaml:"delete"`
	Patch  *operation `yaml:"patch"`
}

type operation struct {
	ID          string             `yaml:"operationId"`
	Tags        []string           `yaml:"tags"`
	Summary     string             `yaml:"summary"`
	Description string             `yaml:"description"`
	Parameters  []*parameter       `yaml:"parameters"`
	Body        *requestBody       `yaml:"requestBody"`
	Responses   ordered[*response] `yaml:"responses"`
	Security    *[]requirement     `yaml:"security"`

	method, path string
}

type parameter struct {
	Ref         string    `yaml:"$ref"`
	Name        string    `yaml:"name"`
	In          string    `yaml:"in"`
	Required    bool      `yaml:"required"`
	Description string    `yaml:"description"`
	Schema      *schema   `yaml:"schema"`
	Example     yaml.Node `yaml:"example"`
}

type requestBody struct {
	Content ordered[*media] `yaml:"content"`
}

type response struct {
	Ref         string           `yaml:"$ref"`
	Description string           `yaml:"description"`
	Headers     ordered[*header] `yaml:"headers"`
	Content     ordered[*media]  `yaml:"content"`
}

type header struct {
	Ref         string  `yaml:"$ref"`
	Description string  `yaml:"description"`
	Schema      *schema `yaml:"schema"`
}

type media struct {
	Schema   *schema           `yaml:"schema"`
	Example  yaml.Node         `yaml:"example"`
	Examples ordered[*example] `yaml:"examples"`
}

type example struct {
	Summary string    `yaml:"summary"`
	Value   yaml.Node `yaml:"value"`
}

// problem is what x-problems says of a code.
type problem struct {
	Status   int    `yaml:"status"`
	Title    string `yaml:"title"`
	Advice   string `yaml:"advice"`
	Meaning  string `yaml:"meaning"`
	Action   string `yaml:"action"`
	Operator string `yaml:"operator"`

	example *yaml.Node
}

// parse reads a document and checks that the pages can be made of it.
func parse(openapi []byte) (*document, error) {
	var d document
	if err := yaml.Unmarshal(openapi, &d); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	for _, p := range d.Paths {
		for _, m := range p.Value.methods() {
			m.operation.method, m.operation.path = m.name, p.Name
			d.operations = append(d.operations, m.operation)
		}
	}
	if err := d.verify(); err != nil {
		return nil, fmt.Errorf("openapi.yaml:\n%w", err)
	}
	return &d, nil
}

type method struct {
	name      string
	operation *operation
}

func (p pathItem) methods() (all []method) {
	for _, m := range []method{{"GET", p.Get}, {"PUT", p.Put}, {"POST", p.Post}, {"DELETE", p.Delete}, {"PATCH", p.Patch}} {
		if m.operation != nil {
			all = append(all, m)
		}
	}
	return all
}

// scopes gives what a token needs for a call; open says that it needs no token.
func (d *document) scopes(o *operation) (scopes []string, open bool) {
	all := d.Security
	if o.Security != nil {
		all = *o.Security
	}
	for _, r := range all {
		for _, s := range r {
			scopes = append(scopes, s...)
		}
	}
	return scopes, len(all) == 0
}

// eachAnswer visits every answer that is described, each once.
func (d *document) eachAnswer(visit func(where string, r *response)) {
	for _, o := range d.operations {
		for _, r := range o.Responses {
			if r.Value.Ref == "" {
				visit(o.method+" "+o.path+" "+r.Name, r.Value)
			}
		}
	}
	for _, r := range d.Components.Responses {
		visit("components.responses."+r.Name, r.Value)
	}
}
