package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

// asText describes to the model how to write an object whose properties are not known.
const asText = "written as JSON in a string"

// close brings a schema into the strict form.
func (d *Dialect) close(n, full *Node, words []string) (*Node, []string) {
	names := n.Types()
	if len(n.Keys) == 0 {
		// A strict schema cannot express "anything".
		n.Set("type", typeNode([]string{"string", "number", "boolean", "null"}))
		return n, append(words, "an object or array is "+asText)
	}
	if !slices.Contains(names, "object") && n.At("properties") == nil {
		if slices.Contains(names, "array") && n.At("items") == nil {
			n.Set("items", d.down(newObject(), false))
		}
		return n, words
	}
	props := n.At("properties")
	if props == nil || len(props.Keys) == 0 && !n.At("additionalProperties").Equals("false") {
		out := newObject()
		if slices.Contains(names, "null") {
			out.Set("type", typeNode([]string{"string", "null"}))
		} else {
			out.Set("type", quoted("string"))
		}
		if more := n.At("additionalProperties"); more != nil && more.Kind == '{' {
			words = append(words, "each value satisfies "+string(more.Append(nil)))
		}
		return out, append(words, "an object, "+asText)
	}
	all := array()
	for i, name := range props.Keys {
		all.Kids = append(all.Kids, quoted(name))
		if !requires(full, name) {
			props.Kids[i] = nullable(props.Kids[i])
		}
	}
	if n.At("type") == nil {
		n.Set("type", quoted("object"))
	}
	n.Set("required", all)
	n.Set("additionalProperties", &Node{Kind: 't'})
	return n, words
}

// Closes reports whether the root of full has an equivalent strict schema: an object whose
// properties are listed. A map, a choice between objects and an object that may be anything have
// none.
func Closes(full json.RawMessage) bool {
	n, err := parseNode(full)
	if err != nil {
		return len(full) == 0
	}
	n, _ = merge(n)
	return closes(n) && n.At("type").Equals(`"object"`) && len(forms(n)) == 0
}

func closes(n *Node) bool {
	more, props := n.At("additionalProperties"), n.At("properties")
	if more != nil && more.Kind == '{' && !never(more) || n.At("patternProperties") != nil && !more.Equals("false") {
		return false
	}
	return more != nil && !more.Equals("true") || props != nil && len(props.Keys) > 0
}

// loses reports whether the strict form of a schema, which lists all
// properties, leaves out some that it lets be by another rule.
func loses(n *Node) bool {
	if n.Kind != '{' && n.Kind != '[' {
		return false
	}
	if props := n.At("properties"); props != nil && props.Kind == '{' && len(props.Keys) > 0 && (!closes(n) || n.At("patternProperties") != nil) {
		return true
	}
	return slices.ContainsFunc(n.Kids, loses)
}

// nullable lets null through as well.
func nullable(n *Node) *Node {
	if n.At("const") != nil {
		// Nothing can be added to a constant, but to an enum.
		list := array()
		list.Kids = []*Node{n.At("const")}
		n = n.Without("const")
		n.Set("enum", list)
	}
	if forms := n.At("anyOf"); forms != nil {
		if !slices.ContainsFunc(forms.Kids, func(k *Node) bool { return slices.Contains(k.Types(), "null") }) {
			null := newObject()
			null.Set("type", quoted("null"))
			forms.Kids = append(forms.Kids, null)
		}
	}
	if names := n.Types(); len(names) > 0 && !slices.Contains(names, "null") {
		n.Set("type", typeNode(append(names, "null")))
	}
	if values := n.At("enum"); values != nil && !slices.ContainsFunc(values.Kids, func(k *Node) bool { return k.Equals("null") }) {
		more := array()
		more.Kids = append(slices.Clone(values.Kids), &Node{Kind: 'n'})
		n.Set("enum", more)
	}
	return n
}

// Raise brings a value that was written for a strict form of full into the form of full: a
// property that is null, is not required and must not be null is left out; an object written into
// a string is taken out of it. Everything else is copied byte for byte, and an unreadable value is
// returned unchanged: Raise does not judge values.
func Raise(full, value json.RawMessage) json.RawMessage {
	s, err := parseNode(full)
	if err != nil {
		return value
	}
	v, err := parseNode(value)
	if err != nil {
		return value
	}
	raised, changed := raise(s, v)
	if !changed {
		return value
	}
	return raised.Append(nil)
}

func raise(s, v *Node) (*Node, bool) {
	if s.Kind != '{' {
		return v, false
	}
	s, _ = merge(s)
	names, changed := s.Types(), false
	if v.Kind == '"' && len(names) > 0 && !slices.Contains(names, "string") &&
		(slices.Contains(names, "object") || slices.Contains(names, "array")) {
		inner, err := parseNode(json.RawMessage(strings.TrimSpace(v.Str())))
		if err == nil && slices.Contains(names, typeName(inner)) {
			v, changed = inner, true
		}
	}
	switch v.Kind {
	case '{':
		props := s.At("properties")
		out := newObject()
		for i, name := range v.Keys {
			kid := v.Kids[i]
			p := props.At(name)
			if p == nil {
				out.Set(name, kid)
				continue
			}
			if kid.Equals("null") && !requires(s, name) && !takesNull(p) {
				changed = true
				continue
			}
			k, c := raise(p, kid)
			changed = changed || c
			out.Set(name, k)
		}
		if forms := forms(s); len(forms) > 0 && props == nil {
			k, c := raise(matchingAlternative(forms, out), out)
			return k, changed || c
		}
		return out, changed
	case '[':
		items := s.At("items")
		if items == nil {
			return v, changed
		}
		out := array()
		for _, kid := range v.Kids {
			k, c := raise(items, kid)
			changed = changed || c
			out.Kids = append(out.Kids, k)
		}
		return out, changed
	}
	return v, changed
}

// matchingAlternative returns the alternative whose constants an object has, or else the one that
// knows most of its properties.
func matchingAlternative(forms []*Node, v *Node) *Node {
	best, most := forms[0], -1
	for _, f := range forms {
		props, known := f.At("properties"), 0
		if props == nil {
			continue
		}
		for i, name := range v.Keys {
			p := props.At(name)
			if p == nil {
				continue
			}
			known++
			if c := p.At("const"); c != nil {
				known += 100
				if k := v.Kids[i]; c.Kind != k.Kind || c.Text != k.Text || c.Yes != k.Yes {
					known -= 1000
				}
			}
		}
		if known > most {
			best, most = f, known
		}
	}
	return best
}

// requires reports whether an object must have the property.
func requires(n *Node, name string) bool {
	required := n.At("required")
	return required != nil && slices.ContainsFunc(required.Kids, func(k *Node) bool { return k.Str() == name })
}

func forms(n *Node) []*Node {
	for _, key := range []string{"anyOf", "oneOf"} {
		if f := n.At(key); f != nil {
			return f.Kids
		}
	}
	return nil
}

// takesNull reports whether a schema lets null through.
func takesNull(n *Node) bool {
	if n.Kind != '{' {
		return n.Equals("true")
	}
	if e := n.At("enum"); e != nil {
		return slices.ContainsFunc(e.Kids, func(k *Node) bool { return k.Equals("null") })
	}
	if c := n.At("const"); c != nil {
		return c.Equals("null")
	}
	if names := n.Types(); len(names) > 0 {
		return slices.Contains(names, "null")
	}
	if forms := forms(n); forms != nil {
		return slices.ContainsFunc(forms, takesNull)
	}
	return n.At("allOf") == nil && n.At("not") == nil
}
