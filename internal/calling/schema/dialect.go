package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Dialect is the subset of JSON Schema that a server accepts. It never changes and is safe for
// concurrent use.
type Dialect struct {
	Name string
	// Keywords may go out. type, description, properties, required, items,
	// enum and anyOf are understood by everybody.
	Keywords []string
	// Formats are the values of format that mean something there.
	Formats []string
	// Anchored means that a pattern must cover the whole string.
	Anchored bool
	// Integers means that minimum and maximum apply to integers only.
	Integers bool
	// Object means that the root is an object, not a choice between several.
	Object bool
	// Strict means that every object lists all its properties as required and has no others.
	// Optional ones may then be null, and an object whose properties are not known beforehand is
	// written as JSON in a string.
	Strict bool
}

// The dialects. Common is for tools anywhere but at Ollama; Grammar is for schemas that Ollama and
// llama.cpp turn into a grammar.
var (
	Common = &Dialect{Name: "common", Object: true,
		Keywords: append(slices.Clip(boundKeys), "additionalProperties", "pattern", "format", "default"),
		Formats:  []string{"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}}
	Ollama  = &Dialect{Name: "ollama", Object: true}
	Grammar = &Dialect{Name: "grammar", Anchored: true, Integers: true,
		Keywords: []string{"additionalProperties", "pattern", "format", "const", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"},
		Formats:  []string{"date-time", "date", "time", "uuid"}}
	Strict = &Dialect{Name: "strict", Object: true, Strict: true,
		Keywords: []string{"additionalProperties", "pattern", "format", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"},
		Formats:  []string{"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}}

	boundKeys = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"}
	everyone  = []string{"type", "description", "properties", "required", "items", "enum", "anyOf"}
)

// Says reports whether a keyword may go out in d.
func (d *Dialect) Says(keyword string) bool {
	return slices.Contains(everyone, keyword) || slices.Contains(d.Keywords, keyword)
}

// Down translates full into the dialect d. Equal schemas give equal bytes. An empty schema counts
// as an object without properties.
func (d *Dialect) Down(full json.RawMessage) (json.RawMessage, error) {
	if len(full) == 0 {
		full = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	n, err := parseNode(full)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	return d.down(n, true).Append(nil), nil
}

// down translates one schema. A schema that is not an object restricts nothing: the tool itself
// refuses a property whose schema is false.
func (d *Dialect) down(n *Node, root bool) *Node {
	if n.Kind != '{' {
		n = newObject()
	}
	n, words := merge(n)
	out := newObject()
	for i, key := range n.Keys {
		words = append(words, d.keyword(out, n, key, n.Kids[i], root)...)
	}
	if r := n.At("required"); r != nil && len(r.Kids) > 0 {
		out.Set("required", r)
	}
	addType(out)
	about := n.At("description").Str()
	if d.Strict {
		out, words = d.close(out, n, words)
	}
	if root && d.Object {
		if !out.At("type").Equals(`"object"`) {
			out.Set("type", quoted("object"))
		}
		if out.At("properties") == nil {
			out.Set("properties", newObject())
		}
	}
	if len(words) > 0 {
		about = strings.TrimSpace(about + " (" + strings.Join(words, ", ") + ")")
	}
	if about == "" && len(out.Keys) == 0 {
		about = "Any JSON value."
	}
	if about != "" {
		out.Set("description", quoted(about))
	}
	return out
}

// keyword sets one keyword of n in out. If d cannot express it, it is returned in words, for the
// description.
func (d *Dialect) keyword(out, n *Node, key string, v *Node, root bool) (words []string) {
	says := d.Says(key)
	switch key {
	case "description", "required", "$schema", "$id", "id", "$comment", "$defs", "definitions", "title", "deprecated", "readOnly", "writeOnly":
		return nil
	case "properties":
		props := newObject()
		for j, name := range v.Keys {
			if v.Kids[j].At("deprecated").Equals("true") && !requires(n, name) {
				continue // it is accepted, and not offered
			}
			props.Set(name, d.down(v.Kids[j], false))
		}
		out.Set(key, props)
		return nil
	case "items":
		out.Set(key, d.down(v, false))
		return nil
	case "anyOf", "oneOf":
		if root && d.Object || out.At("anyOf") != nil {
			return choice(v)
		}
		list := array()
		for _, kid := range v.Kids {
			list.Kids = append(list.Kids, d.down(kid, false))
		}
		out.Set("anyOf", list)
		return nil
	case "const":
		if !says {
			list := array()
			list.Kids = []*Node{v}
			key, v = "enum", list
		}
		out.Set(key, v)
		return nil
	case "additionalProperties":
		switch {
		case !says, v.Equals("true"):
		case v.Kind == '{' && len(v.Keys) > 0:
			out.Set(key, d.down(v, false))
		case v.Equals("false"):
			out.Set(key, v)
		}
		return nil
	case "pattern":
		p := v.Str()
		says = says && (!d.Anchored || strings.HasPrefix(p, "^") && strings.HasSuffix(p, "$"))
		words = []string{"matching " + p}
	case "format":
		says = says && slices.Contains(d.Formats, v.Str())
		words = []string{"format " + v.Str()}
	case "minimum", "maximum":
		says = says && (!d.Integers || n.At("type").Equals(`"integer"`))
	}
	if says {
		out.Set(key, v)
		return nil
	}
	if words == nil {
		words = []string{say(key, v)}
	}
	return words
}

// typed adds the type that the values of an enum have.
func addType(n *Node) {
	values := n.At("enum")
	if c := n.At("const"); c != nil {
		values = array()
		values.Kids = []*Node{c}
	}
	if values == nil || n.At("type") != nil {
		return
	}
	var names []string
	for _, v := range values.Kids {
		if t := typeName(v); !slices.Contains(names, t) {
			names = append(names, t)
		}
	}
	n.Set("type", typeNode(names))
}

func typeNode(names []string) *Node {
	if len(names) == 1 {
		return quoted(names[0])
	}
	list := array()
	for _, name := range names {
		list.Kids = append(list.Kids, quoted(name))
	}
	return list
}

// merge moves the demands of an allOf into the schema around it, and returns
// conflicting ones as prose.
func merge(n *Node) (*Node, []string) {
	all := n.At("allOf")
	if all == nil {
		return n, nil
	}
	out := newObject()
	var words []string
	for i, key := range n.Keys {
		if key != "allOf" {
			out.Set(key, n.Kids[i])
		}
	}
	for _, part := range all.Kids {
		part, more := merge(part)
		words = append(words, more...)
		for i, key := range part.Keys {
			v, had := part.Kids[i], out.At(key)
			switch {
			case had == nil:
				out.Set(key, v)
			case key == "properties":
				both := newObject()
				for j, name := range had.Keys {
					both.Set(name, had.Kids[j])
				}
				for j, name := range v.Keys {
					if both.At(name) == nil {
						both.Set(name, v.Kids[j])
					} else {
						words = append(words, name+" also satisfies "+string(v.Kids[j].Append(nil)))
					}
				}
				out.Set(key, both)
			case key == "required":
				both := array()
				both.Kids = slices.Clone(had.Kids)
				for _, name := range v.Kids {
					if !slices.ContainsFunc(both.Kids, func(h *Node) bool { return h.Text == name.Text }) {
						both.Kids = append(both.Kids, name)
					}
				}
				out.Set(key, both)
			case key == "description":
				out.Set(key, quoted(strings.TrimSpace(had.Str()+" "+v.Str())))
			case string(had.Append(nil)) != string(v.Append(nil)):
				words = append(words, say(key, v))
			}
		}
	}
	return out, words
}

// choice describes the alternatives of a root that must be an object.
func choice(v *Node) []string {
	var forms []string
	for _, kid := range v.Kids {
		if names := kid.At("required"); names != nil && len(kid.Keys) == 1 {
			var list []string
			for _, name := range names.Kids {
				list = append(list, name.Str())
			}
			forms = append(forms, strings.Join(list, " and "))
			continue
		}
		forms = append(forms, string(kid.Append(nil)))
	}
	return []string{"one of these: " + strings.Join(forms, "; ")}
}

// say describes a keyword in words.
func say(key string, v *Node) string {
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
	case key == "not" && v.At("description").Str() != "":
		return v.At("description").Str() // in words already
	case key == "uniqueItems":
		return "no item twice"
	case words == "":
		words = key
	}
	return words + " " + string(v.Append(nil))
}
