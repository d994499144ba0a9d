package apidocs

import "go.yaml.in/yaml/v3"

// examples gives those of a content, each with its title.
func (m *media) examples() (all []exampleView) {
	if m.Example.Kind != 0 {
		all = append(all, exampleView{Text: exampleText(&m.Example)})
	}
	for _, e := range m.Examples {
		title := e.Value.Summary
		if title == "" && len(m.Examples) > 1 {
			title = e.Name
		}
		all = append(all, exampleView{Title: title, Text: exampleText(&e.Value.Value)})
	}
	return all
}

// exampleText writes an example as JSON; one that is a text is of another kind, and stands as it is.
func exampleText(n *yaml.Node) string {
	if n = resolved(n); n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return jsonOf(n)
}
