// Package schema says one full JSON Schema in the words that a server
// understands.
//
//	small, err := schema.Ollama.Down(full)
//
// Servers decode schemas into types of their own and lose, misread or refuse
// what these do not know. So what a [Dialect] cannot say becomes words of a
// description, which the model reads. What comes back is brought into the
// full schema's form by [Raise]; whether it is valid, the full schema alone
// decides, and that is done by whoever asked.
//
// Schemas come without references: pkg/tools inlines them.
package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Dialect is what a server takes of JSON Schema. It never changes and is
// safe for concurrent use.
type Dialect struct {
	Name string
	// Keywords may go out. type, description, properties, required, items,
	// enum and anyOf are understood by everybody.
	Keywords []string
	// Formats are the values of format that mean something there.
	Formats []string
	// Anchored says that a pattern must cover the whole string.
	Anchored bool
	// Integers says that minimum and maximum hold for integers only.
	Integers bool
	// Object says that the root is an object, and no choice between some.
	Object bool
	// Strict says that every object lists all its properties as required and
	// has no others. What is optional may then be null, and an object whose
	// properties are not known beforehand is written as JSON in a string.
	Strict bool
}

// The dialects there are. Common is for tools anywhere but at Ollama; Grammar
// is for what Ollama and llama.cpp make a grammar of.
var (
	Common = &Dialect{Name: "common", Object: true,
		Keywords: append(slices.Clip(bounds), "additionalProperties", "pattern", "format", "default"),
		Formats:  []string{"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}}
	Ollama  = &Dialect{Name: "ollama", Object: true}
	Grammar = &Dialect{Name: "grammar", Anchored: true, Integers: true,
		Keywords: []string{"additionalProperties", "pattern", "format", "const", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"},
		Formats:  []string{"date-time", "date", "time", "uuid"}}
	Strict = &Dialect{Name: "strict", Object: true, Strict: true,
		Keywords: []string{"additionalProperties", "pattern", "format", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"},
		Formats:  []string{"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}}

	bounds   = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"}
	everyone = []string{"type", "description", "properties", "required", "items", "enum", "anyOf"}
)

// Says reports whether a keyword may go out in d.
func (d *Dialect) Says(keyword string) bool {
	return slices.Contains(everyone, keyword) || slices.Contains(d.Keywords, keyword)
}

// Down gives full in the words of d. The same schema always gives the same
// bytes. An empty schema is that of an object without properties.
func (d *Dialect) Down(full json.RawMessage) (json.RawMessage, error) {
	if len(full) == 0 {
		full = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	n, err := parse(full)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	return d.down(n, true).appendTo(nil), nil
}

// down is one schema. What is no object restricts nothing: a property that
// is false is one the tool will refuse.
func (d *Dialect) down(n *node, root bool) *node {
	if n.kind != '{' {
		n = object()
	}
	n, words := merge(n)
	out := object()
	for i, key := range n.keys {
		words = append(words, d.keyword(out, n, key, n.kids[i], root)...)
	}
	if r := n.at("required"); r != nil && len(r.kids) > 0 {
		out.set("required", r)
	}
	typed(out)
	about := n.at("description").string()
	if d.Strict {
		out, words = d.close(out, n, words)
	}
	if root && d.Object {
		if !out.at("type").is(`"object"`) {
			out.set("type", quoted("object"))
		}
		if out.at("properties") == nil {
			out.set("properties", object())
		}
	}
	if len(words) > 0 {
		about = strings.TrimSpace(about + " (" + strings.Join(words, ", ") + ")")
	}
	if about == "" && len(out.keys) == 0 {
		about = "Any JSON value."
	}
	if about != "" {
		out.set("description", quoted(about))
	}
	return out
}

// keyword sets one keyword of n in out. What d cannot say comes back in words,
// for the description.
func (d *Dialect) keyword(out, n *node, key string, v *node, root bool) (words []string) {
	says := d.Says(key)
	switch key {
	case "description", "required", "$schema", "$id", "id", "$comment", "$defs", "definitions", "title", "deprecated", "readOnly", "writeOnly":
		return nil
	case "properties":
		props := object()
		for j, name := range v.keys {
			if v.kids[j].at("deprecated").is("true") && !n.requires(name) {
				continue // it is accepted, and not offered
			}
			props.set(name, d.down(v.kids[j], false))
		}
		out.set(key, props)
		return nil
	case "items":
		out.set(key, d.down(v, false))
		return nil
	case "anyOf", "oneOf":
		if root && d.Object || out.at("anyOf") != nil {
			return choice(v)
		}
		list := array()
		for _, kid := range v.kids {
			list.kids = append(list.kids, d.down(kid, false))
		}
		out.set("anyOf", list)
		return nil
	case "const":
		if !says {
			list := array()
			list.kids = []*node{v}
			key, v = "enum", list
		}
		out.set(key, v)
		return nil
	case "additionalProperties":
		switch {
		case !says, v.is("true"):
		case v.kind == '{' && len(v.keys) > 0:
			out.set(key, d.down(v, false))
		case v.is("false"):
			out.set(key, v)
		}
		return nil
	case "pattern":
		p := v.string()
		says = says && (!d.Anchored || strings.HasPrefix(p, "^") && strings.HasSuffix(p, "$"))
		words = []string{"matching " + p}
	case "format":
		says = says && slices.Contains(d.Formats, v.string())
		words = []string{"format " + v.string()}
	case "minimum", "maximum":
		says = says && (!d.Integers || n.at("type").is(`"integer"`))
	}
	if says {
		out.set(key, v)
		return nil
	}
	if words == nil {
		words = []string{say(key, v)}
	}
	return words
}

// typed adds the type that the values of an enum have.
func typed(n *node) {
	values := n.at("enum")
	if c := n.at("const"); c != nil {
		values = array()
		values.kids = []*node{c}
	}
	if values == nil || n.at("type") != nil {
		return
	}
	var names []string
	for _, v := range values.kids {
		if t := v.typeName(); !slices.Contains(names, t) {
			names = append(names, t)
		}
	}
	n.set("type", typeNode(names))
}

func typeNode(names []string) *node {
	if len(names) == 1 {
		return quoted(names[0])
	}
	list := array()
	for _, name := range names {
		list.kids = append(list.kids, quoted(name))
	}
	return list
}

// merge moves the demands of an allOf into the schema around it, and returns
// conflicting ones as prose.
func merge(n *node) (*node, []string) {
	all := n.at("allOf")
	if all == nil {
		return n, nil
	}
	out := object()
	var words []string
	for i, key := range n.keys {
		if key != "allOf" {
			out.set(key, n.kids[i])
		}
	}
	for _, part := range all.kids {
		part, more := merge(part)
		words = append(words, more...)
		for i, key := range part.keys {
			v, had := part.kids[i], out.at(key)
			switch {
			case had == nil:
				out.set(key, v)
			case key == "properties":
				both := object()
				for j, name := range had.keys {
					both.set(name, had.kids[j])
				}
				for j, name := range v.keys {
					if both.at(name) == nil {
						both.set(name, v.kids[j])
					} else {
						words = append(words, name+" also satisfies "+string(v.kids[j].appendTo(nil)))
					}
				}
				out.set(key, both)
			case key == "required":
				both := array()
				both.kids = slices.Clone(had.kids)
				for _, name := range v.kids {
					if !slices.ContainsFunc(both.kids, func(h *node) bool { return h.text == name.text }) {
						both.kids = append(both.kids, name)
					}
				}
				out.set(key, both)
			case key == "description":
				out.set(key, quoted(strings.TrimSpace(had.string()+" "+v.string())))
			case string(had.appendTo(nil)) != string(v.appendTo(nil)):
				words = append(words, say(key, v))
			}
		}
	}
	return out, words
}

// choice describes the alternatives of a root that must be an object.
func choice(v *node) []string {
	var forms []string
	for _, kid := range v.kids {
		if names := kid.at("required"); names != nil && len(kid.keys) == 1 {
			var list []string
			for _, name := range names.kids {
				list = append(list, name.string())
			}
			forms = append(forms, strings.Join(list, " and "))
			continue
		}
		forms = append(forms, string(kid.appendTo(nil)))
	}
	return []string{"one of these: " + strings.Join(forms, "; ")}
}

// say puts a keyword into words.
func say(key string, v *node) string {
	words := map[string]string{
		"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most", "exclusiveMaximum": "less than",
		"minLength": "characters at least", "maxLength": "characters at most",
		"minItems": "items at least", "maxItems": "items at most", "multipleOf": "a multiple of",
		"minProperties": "properties at least", "maxProperties": "properties at most",
		"default": "default", "not": "but nothing that satisfies", "examples": "for example",
		"contains": "one of the items satisfies", "propertyNames": "the names of properties satisfy",
		"prefixItems": "the first items satisfy in turn", "patternProperties": "properties by the form of their name",
	}[key]
	switch {
	case key == "not" && v.at("description").string() != "":
		return v.at("description").string() // in words already
	case key == "uniqueItems":
		return "no item twice"
	case words == "":
		words = key
	}
	return words + " " + string(v.appendTo(nil))
}
