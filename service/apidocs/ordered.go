package apidocs

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// ordered is a mapping of YAML in the order in which it is written, which is the order in which people read it.
type ordered[T any] []entry[T]

type entry[T any] struct {
	Name  string
	Value T
}

// UnmarshalYAML reads a mapping, and refuses a name that is there twice.
func (o *ordered[T]) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: this must be a mapping", node.Line)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		if _, twice := o.find(name.Value); twice {
			return fmt.Errorf("line %d: %s is there twice", name.Line, name.Value)
		}
		e := entry[T]{Name: name.Value}
		if err := value.Decode(&e.Value); err != nil {
			return err
		}
		*o = append(*o, e)
	}
	return nil
}

func (o ordered[T]) find(name string) (value T, ok bool) {
	for _, e := range o {
		if e.Name == name {
			return e.Value, true
		}
	}
	return value, false
}
