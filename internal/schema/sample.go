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
	raw := json.RawMessage(n.appendTo(nil))
	if s.Validate(raw) != nil {
		return nil
	}
	return raw
}

// sample makes a value for a schema; name is the property it is for.
func sample(n *node, name string) *node {
	if v := n.at("default"); v != nil {
		return v
	}
	for _, list := range []string{"examples", "enum"} {
		if v := n.at(list); v.is('[') && len(v.kids) > 0 {
			return v.kids[0]
		}
	}
	if v := n.at("const"); v != nil {
		return v
	}
	for _, forms := range []string{"anyOf", "oneOf", "allOf"} {
		if v := n.at(forms); v.is('[') && len(v.kids) > 0 && n.at("type") == nil {
			return sample(v.kids[0], name)
		}
	}
	kind := ""
	switch t := n.at("type"); {
	case t.is('"'):
		kind = t.text
	case t.is('['):
		if words := t.words(); words != nil {
			kind = words[0]
		}
	}
	switch kind {
	case "object":
		out := object()
		props := n.at("properties")
		for _, required := range n.at("required").words() {
			p := props.at(required)
			if p == nil {
				p = anything()
			}
			out.set(required, sample(p, required))
		}
		return out
	case "array":
		out := &node{kind: '['}
		items := n.at("items")
		if items == nil {
			items = anything()
		}
		for range max(1, min(whole(n.at("minItems")), 16)) {
			out.kids = append(out.kids, sample(items, name))
		}
		return out
	case "integer", "number":
		return sampleNumber(n)
	case "boolean":
		return &node{kind: 't', yes: true}
	case "null":
		return &node{kind: 'n'}
	}
	return sampleText(n, name)
}

func sampleNumber(n *node) *node {
	for _, bound := range []string{"minimum", "maximum"} {
		if v := n.at(bound); v.is('0') {
			return v
		}
	}
	if v := n.at("exclusiveMinimum"); v.is('0') {
		return &node{kind: '0', text: strconv.Itoa(whole(v) + 1)}
	}
	if v := n.at("multipleOf"); v.is('0') {
		return v
	}
	return &node{kind: '0', text: "1"}
}

func sampleText(n *node, name string) *node {
	if f := n.at("format"); f.is('"') {
		switch f.text {
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
	if least := whole(n.at("minLength")); least > len(s) && least <= 4096 {
		s += strings.Repeat("x", least-len(s))
	}
	if v := n.at("maxLength"); v != nil && whole(v) < len(s) {
		s = s[:max(0, whole(v))]
	}
	return text(s)
}

// whole reads a count, 0 if there is none.
func whole(n *node) int {
	if !n.is('0') {
		return 0
	}
	i, err := strconv.Atoi(n.text)
	if err != nil {
		return 0
	}
	return i
}
