package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

// asText is what stands for an object whose properties are not known.
const asText = "written as JSON in a string"

// close brings a schema into the strict form.
func (d *Dialect) close(n, full *node, words []string) (*node, []string) {
	names := n.types()
	if len(n.keys) == 0 {
		// A strict schema cannot say "anything".
		n.set("type", typeNode([]string{"string", "number", "boolean", "null"}))
		return n, append(words, "an object or array is "+asText)
	}
	if !slices.Contains(names, "object") && n.at("properties") == nil {
		if slices.Contains(names, "array") && n.at("items") == nil {
			n.set("items", d.down(object(), false))
		}
		return n, words
	}
	props := n.at("properties")
	if props == nil || len(props.keys) == 0 && !n.at("additionalProperties").is("false") {
		out := object()
		if slices.Contains(names, "null") {
			out.set("type", typeNode([]string{"string", "null"}))
		} else {
			out.set("type", quoted("string"))
		}
		if more := n.at("additionalProperties"); more != nil && more.kind == '{' {
			words = append(words, "each value satisfies "+string(more.appendTo(nil)))
		}
		return out, append(words, "an object, "+asText)
	}
	all := array()
	for i, name := range props.keys {
		all.kids = append(all.kids, quoted(name))
		if !full.requires(name) {
			props.kids[i] = nullable(props.kids[i])
		}
	}
	if n.at("type") == nil {
		n.set("type", quoted("object"))
	}
	n.set("required", all)
	n.set("additionalProperties", raw("false"))
	return n, words
}

// Closes reports whether the root of full can be a strict schema that says the
// same: an object whose properties are listed. A map, a choice between objects
// and an object that may be anything cannot.
func Closes(full json.RawMessage) bool {
	n, err := parse(full)
	if err != nil {
		return len(full) == 0
	}
	n, _ = merge(n)
	return n.closes() && n.at("type").is(`"object"`) && len(n.forms()) == 0
}

func (n *node) closes() bool {
	more, props := n.at("additionalProperties"), n.at("properties")
	if more != nil && more.kind == '{' && !more.never() || n.at("patternProperties") != nil && !more.is("false") {
		return false
	}
	return more != nil && !more.is("true") || props != nil && len(props.keys) > 0
}

// loses reports whether the strict form of a schema, which lists all
// properties, leaves out some that it lets be by another rule.
func (n *node) loses() bool {
	if n.kind != '{' && n.kind != '[' {
		return false
	}
	if props := n.at("properties"); props != nil && props.kind == '{' && len(props.keys) > 0 && (!n.closes() || n.at("patternProperties") != nil) {
		return true
	}
	return slices.ContainsFunc(n.kids, (*node).loses)
}

// nullable lets null through as well.
func nullable(n *node) *node {
	if n.at("const") != nil {
		// Nothing can be added to a constant, but to an enum.
		list := array()
		list.kids = []*node{n.at("const")}
		n = n.without("const")
		n.set("enum", list)
	}
	if forms := n.at("anyOf"); forms != nil {
		if !slices.ContainsFunc(forms.kids, func(k *node) bool { return slices.Contains(k.types(), "null") }) {
			null := object()
			null.set("type", quoted("null"))
			forms.kids = append(forms.kids, null)
		}
	}
	if names := n.types(); len(names) > 0 && !slices.Contains(names, "null") {
		n.set("type", typeNode(append(names, "null")))
	}
	if values := n.at("enum"); values != nil && !slices.ContainsFunc(values.kids, func(k *node) bool { return k.is("null") }) {
		more := array()
		more.kids = append(slices.Clone(values.kids), raw("null"))
		n.set("enum", more)
	}
	return n
}

// Raise brings a value that was written for a strict form of full into the
// form that full wants: a property that is null, need not be there and must
// not be null is left out; an object written into a string is taken out of
// it. All else stays byte for byte, and what cannot be read is returned as it
// is: judging it is not Raise's business.
func Raise(full, value json.RawMessage) json.RawMessage {
	s, err := parse(full)
	if err != nil {
		return value
	}
	v, err := parse(value)
	if err != nil {
		return value
	}
	raised, changed := raise(s, v)
	if !changed {
		return value
	}
	return raised.appendTo(nil)
}

func raise(s, v *node) (*node, bool) {
	if s.kind != '{' {
		return v, false
	}
	s, _ = merge(s)
	names, changed := s.types(), false
	if v.kind == '"' && len(names) > 0 && !slices.Contains(names, "string") &&
		(slices.Contains(names, "object") || slices.Contains(names, "array")) {
		inner, err := parse(json.RawMessage(strings.TrimSpace(v.string())))
		if err == nil && slices.Contains(names, inner.typeName()) {
			v, changed = inner, true
		}
	}
	switch v.kind {
	case '{':
		props := s.at("properties")
		out := object()
		for i, name := range v.keys {
			kid := v.kids[i]
			p := props.at(name)
			if p == nil {
				out.set(name, kid)
				continue
			}
			if kid.is("null") && !s.requires(name) && !p.takesNull() {
				changed = true
				continue
			}
			k, c := raise(p, kid)
			changed = changed || c
			out.set(name, k)
		}
		if forms := s.forms(); len(forms) > 0 && props == nil {
			k, c := raise(fitting(forms, out), out)
			return k, changed || c
		}
		return out, changed
	case '[':
		items := s.at("items")
		if items == nil {
			return v, changed
		}
		out := array()
		for _, kid := range v.kids {
			k, c := raise(items, kid)
			changed = changed || c
			out.kids = append(out.kids, k)
		}
		return out, changed
	}
	return v, changed
}

// fitting is the alternative whose constants an object has, else the one that
// knows most of its properties.
func fitting(forms []*node, v *node) *node {
	best, most := forms[0], -1
	for _, f := range forms {
		props, known := f.at("properties"), 0
		if props == nil {
			continue
		}
		for i, name := range v.keys {
			p := props.at(name)
			if p == nil {
				continue
			}
			known++
			if c := p.at("const"); c != nil {
				known += 100
				if c.text != v.kids[i].text {
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
func (n *node) requires(name string) bool {
	required := n.at("required")
	return required != nil && slices.ContainsFunc(required.kids, func(k *node) bool { return k.string() == name })
}

func (n *node) forms() []*node {
	for _, key := range []string{"anyOf", "oneOf"} {
		if f := n.at(key); f != nil {
			return f.kids
		}
	}
	return nil
}

// takesNull reports whether a schema lets null through.
func (n *node) takesNull() bool {
	if n.kind != '{' {
		return n.is("true")
	}
	if e := n.at("enum"); e != nil {
		return slices.ContainsFunc(e.kids, func(k *node) bool { return k.is("null") })
	}
	if c := n.at("const"); c != nil {
		return c.is("null")
	}
	if names := n.types(); len(names) > 0 {
		return slices.Contains(names, "null")
	}
	if forms := n.forms(); forms != nil {
		return slices.ContainsFunc(forms, (*node).takesNull)
	}
	return n.at("allOf") == nil && n.at("not") == nil
}
