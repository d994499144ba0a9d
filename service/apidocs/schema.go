package apidocs

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// schema is a JSON schema, as far as the description of the API uses them.
type schema struct {
	Ref         string           `yaml:"$ref"`
	Description string           `yaml:"description"`
	Type        typeNames        `yaml:"type"`
	Format      string           `yaml:"format"`
	Pattern     string           `yaml:"pattern"`
	Enum        []yaml.Node      `yaml:"enum"`
	Default     yaml.Node        `yaml:"default"`
	MinLength   *int64           `yaml:"minLength"`
	MaxLength   *int64           `yaml:"maxLength"`
	Minimum     *int64           `yaml:"minimum"`
	Maximum     *int64           `yaml:"maximum"`
	MinItems    *int64           `yaml:"minItems"`
	MaxItems    *int64           `yaml:"maxItems"`
	Properties  ordered[*schema] `yaml:"properties"`
	Required    []string         `yaml:"required"`
	Items       *schema          `yaml:"items"`
	AllOf       []*schema        `yaml:"allOf"`
	AnyOf       []*schema        `yaml:"anyOf"`
	OneOf       []*schema        `yaml:"oneOf"`
	Not         *schema          `yaml:"not"`
}

// typeNames are one name or several. That null is allowed is not kept: for every optional field of a request it is the
// same as leaving it out.
type typeNames []string

// UnmarshalYAML reads a name, or a sequence of names.
func (t *typeNames) UnmarshalYAML(node *yaml.Node) error {
	names := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode {
		names = node.Content
	}
	for _, n := range names {
		if n.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a type must be a name", n.Line)
		}
		if n.Value != "null" {
			*t = append(*t, n.Value)
		}
	}
	return nil
}

// parts are the schemas that s is put together from, its fields and items apart.
func (s *schema) parts() (all []*schema) {
	all = append(append(append(all, s.AllOf...), s.AnyOf...), s.OneOf...)
	return all
}

// saysNothing tells the schema that everything fits.
func (s *schema) saysNothing() bool {
	return s.Ref == "" && len(s.Type) == 0 && len(s.Enum) == 0 && len(s.Properties) == 0 && len(s.Required) == 0 &&
		s.Items == nil && s.Not == nil && s.Pattern == "" && len(s.parts()) == 0
}
