package apidocs

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A line of an example is at most this long before it is broken.
const exampleWidth = 72

// jsonOf writes a YAML value as JSON, its members in the order in which they are written.
func jsonOf(n *yaml.Node) string {
	var b strings.Builder
	writeJSON(&b, n, 0)
	return b.String()
}

// writeJSON writes a value on one line where it fits, and else indents its parts.
func writeJSON(b *strings.Builder, n *yaml.Node, indent int) {
	line := jsonLine(n)
	n = resolved(n)
	if n.Kind == yaml.ScalarNode || len(n.Content) == 0 || indent > 0 && len(line)+2*indent <= exampleWidth {
		b.WriteString(line)
		return
	}
	open, shut, step := "{", "}", 2
	if n.Kind == yaml.SequenceNode {
		open, shut, step = "[", "]", 1
	}
	b.WriteString(open)
	for i := 0; i < len(n.Content); i += step {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n" + strings.Repeat("  ", indent+1))
		if step == 2 {
			b.WriteString(quoted(n.Content[i].Value) + ": ")
		}
		writeJSON(b, n.Content[i+step-1], indent+1)
	}
	b.WriteString("\n" + strings.Repeat("  ", indent) + shut)
}

// jsonLine writes a value on one line.
func jsonLine(n *yaml.Node) string {
	n = resolved(n)
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, quoted(n.Content[i].Value)+": "+jsonLine(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, jsonLine(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	switch n.Tag {
	case "!!int", "!!float", "!!bool", "!!null":
		if json.Valid([]byte(n.Value)) {
			return n.Value
		}
	}
	return quoted(n.Value)
}

// quoted writes a JSON string as people write it: html/template does the escaping that HTML needs.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// resolved follows an alias.
func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// textAt gives a member of a mapping that is a text; empty when there is none.
func textAt(n *yaml.Node, name string) string {
	n = resolved(n)
	if n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return resolved(n.Content[i+1]).Value
		}
	}
	return ""
}
