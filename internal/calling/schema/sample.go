package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Sample returns small arguments that satisfy s: the required properties,
// filled from defaults, examples and enums where there are any. It returns nil
// if it finds none, as for a pattern it cannot guess.
func (s *Schema) Sample() json.RawMessage {
	if s.Err() != nil {
		return nil
	}
	n := sample(s.root, "")
	raw := json.RawMessage(n.Append(nil))
	if s.Validate(raw) != nil {
		return nil
	}
	return raw
}

// sample makes a value for a schema; name is the property it is for.
func sample(n *Node, name string) *Node {
	if v := n.At("default"); v != nil {
		return v
	}
	for _, list := range []string{"examples", "enum"} {
		if v := n.At(list); v.is('[') && len(v.Kids) > 0 {
			return v.Kids[0]
		}
	}
	if v := n.At("const"); v != nil {
		return v
	}
	for _, forms := range []string{"anyOf", "oneOf", "allOf"} {
		if v := n.At(forms); v.is('[') && len(v.Kids) > 0 && n.At("type") == nil {
			return sample(v.Kids[0], name)
		}
	}
	kind := ""
	switch t := n.At("type"); {
	case t.is('"'):
		kind = t.Text
	case t.is('['):
		if words := t.words(); words != nil {
			kind = words[0]
		}
	}
	switch kind {
	case "object":
		out := object()
		props := n.At("properties")
		for _, required := range n.At("required").words() {
			p := props.At(required)
			if p == nil {
				p = anything()
			}
			out.Set(required, sample(p, required))
		}
		return out
	case "array":
		out := &Node{Kind: '['}
		items := n.At("items")
		if items == nil {
			items = anything()
		}
		for range max(1, min(whole(n.At("minItems")), 16)) {
			out.Kids = append(out.Kids, sample(items, name))
		}
		return out
	case "integer", "number":
		return sampleNumber(n)
	case "boolean":
		return &Node{Kind: 't', Yes: true}
	case "null":
		return &Node{Kind: 'n'}
	}
	return sampleText(n, name)
}

func sampleNumber(n *Node) *Node {
	for _, bound := range []string{"minimum", "maximum"} {
		if v := n.At(bound); v.is('0') {
			return v
		}
	}
	if v := n.At("exclusiveMinimum"); v.is('0') {
		return &Node{Kind: '0', Text: strconv.Itoa(whole(v) + 1)}
	}
	if v := n.At("multipleOf"); v.is('0') {
		return v
	}
	return &Node{Kind: '0', Text: "1"}
}

func sampleText(n *Node, name string) *Node {
	if f := n.At("format"); f.is('"') {
		switch f.Text {
		case "date-time":
			return text("2026-01-02T15:04:05Z")
		case "date":
			return text("2026-01-02")
		case "uri":
			return text("https://example.com/")
		case "email":
			return text("someone@example.com")
		}
	}
	s := "text"
	if name != "" {
		s = name
	}
	if least := whole(n.At("minLength")); least > len(s) && least <= 4096 {
		s += strings.Repeat("x", least-len(s))
	}
	if v := n.At("maxLength"); v != nil && whole(v) < len(s) {
		s = s[:max(0, whole(v))]
	}
	return text(s)
}

// whole reads a count, 0 if there is none.
func whole(n *Node) int {
	if !n.is('0') {
		return 0
	}
	i, err := strconv.Atoi(n.Text)
	if err != nil {
		return 0
	}
	return i
}
