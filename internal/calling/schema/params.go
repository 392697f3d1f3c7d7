package schema

import (
	"fmt"
	"slices"
	"strings"
)

// A Param describes a property of a schema in prompts and messages.
type Param struct {
	Name, Description string
	Type              string // as in "integer 1 to 9"
	Required          bool
	Deprecated        bool // it is accepted, and not offered to models
}

func (s *Schema) Params() []Param {
	if s.Err() != nil {
		return nil
	}
	props := s.root.At("properties")
	if props == nil {
		return nil
	}
	required := s.root.At("required").words()
	var out []Param
	for i, name := range props.Keys {
		p := Param{Name: name, Type: typeWords(props.Kids[i]), Required: slices.Contains(required, name)}
		if d := props.Kids[i].At("description"); d.is('"') {
			p.Description = d.Text
		}
		p.Deprecated = !p.Required && props.Kids[i].At("deprecated").is('t') && props.Kids[i].At("deprecated").Yes
		out = append(out, p)
	}
	return out
}

// Offered returns the properties that models are offered.
func (s *Schema) Offered() []Param {
	return slices.DeleteFunc(s.Params(), func(p Param) bool { return p.Deprecated })
}

// Signature lists the properties on one line: path (string), n (integer, optional).
func (s *Schema) Signature() string {
	var parts []string
	for _, p := range s.Offered() {
		kind := p.Type
		if !p.Required {
			kind += ", optional"
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", p.Name, kind))
	}
	if parts == nil {
		return "{}, no properties"
	}
	return "an object with " + strings.Join(parts, ", ")
}

// typeWords describes in a few words the values that a schema accepts.
func typeWords(n *Node) string {
	if e := n.At("enum"); e.is('[') {
		var values []string
		for _, v := range e.Kids {
			values = append(values, v.String())
		}
		return "one of " + strings.Join(values, ", ")
	}
	if c := n.At("const"); c != nil {
		return "always " + c.String()
	}
	for _, choice := range []string{"anyOf", "oneOf"} {
		if forms := n.At(choice); forms.is('[') {
			var words []string
			for _, form := range forms.Kids {
				if w := typeWords(form); !slices.Contains(words, w) {
					words = append(words, w)
				}
			}
			return strings.Join(words, " or ")
		}
	}
	t := n.At("type")
	if t.is('[') {
		return strings.Join(t.words(), " or ")
	}
	if !t.is('"') {
		return "any JSON value"
	}
	switch t.Text {
	case "array":
		if items := n.At("items"); items.is('{') {
			return "array of " + typeWords(items)
		}
	case "object":
		props, required := n.At("properties"), n.At("required").words()
		if props == nil || len(props.Keys) == 0 {
			return "object"
		}
		var parts []string
		for i, name := range props.Keys {
			mark := ""
			if !slices.Contains(required, name) {
				mark = "?"
			}
			parts = append(parts, name+mark+": "+typeWords(props.Kids[i]))
		}
		return "object {" + strings.Join(parts, ", ") + "}"
	}
	return t.Text + bounds(n)
}

func bounds(n *Node) string {
	lo, hi := n.At("minimum"), n.At("maximum")
	switch {
	case lo != nil && hi != nil:
		return fmt.Sprintf(" %s to %s", lo, hi)
	case lo != nil:
		return fmt.Sprintf(" from %s", lo)
	case hi != nil:
		return fmt.Sprintf(" up to %s", hi)
	}
	return ""
}
