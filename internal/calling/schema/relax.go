package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A relaxation records what it leaves out of a third party's schema.
type relaxation struct {
	where  []string // the keys that lead to what is looked at
	left   []string
	total  int // how often something was left out
	levels int // how deep a type may be nested in itself
}

// Limits on writing out a type that is nested in itself: mostLevels bounds the depth, and
// roomForLevels the size in bytes.
const (
	mostLevels    = 3
	roomForLevels = 8 << 10
)

// Relax is like [Compile] and [Schema.ForArguments], for a schema by a third party: it omits
// keywords that it does not understand, so that the result accepts more than it should, never
// less. left describes each of them in a line, as do the descriptions in the schema.
func Relax(raw json.RawMessage) (s *Schema, left []string, err error) {
	for levels := mostLevels; levels >= 0; levels-- {
		root, faults := parse(raw)
		if faults != nil {
			return nil, nil, fmt.Errorf("the schema %s", FaultText(faults))
		}
		r := &relaxation{levels: levels}
		if s, err = r.compile(root); err == nil && len(s.raw) <= max(roomForLevels, 2*len(raw)) {
			return s, r.left, nil
		}
		left = r.left
	}
	return s, left, err
}

func (r *relaxation) compile(root *Node) (*Schema, error) {
	if root.is('n') || root.is('[') && len(root.Kids) == 0 {
		root = object()
	}
	f := newFlattener(root)
	f.relaxed = r
	clean, err := f.flatten(root, 0)
	if err != nil {
		return nil, err
	}
	if t := clean.At("type"); t.is('[') {
		for _, name := range t.words() {
			if name == "object" {
				clean.Set("type", text(name))
			}
		}
	}
	s, err := build(clean)
	if err != nil {
		return nil, err
	}
	return s.ForArguments()
}

// note records an omission.
func (r *relaxation) note(format string, args ...any) {
	var path []string
	for i, key := range r.where {
		if key != "properties" || i > 0 && r.where[i-1] == "properties" {
			path = append(path, key)
		}
	}
	said := fmt.Sprintf(format, args...)
	if len(path) > 0 {
		said = strings.Join(path, ".") + ": " + said
	}
	r.total++
	if !slices.Contains(r.left, said) && len(r.left) < mostLeft {
		r.left = append(r.left, said)
	}
}

// mostLeft bounds the lines about a schema.
const mostLeft = 20

// at calls f with key added to the current path.
func (r *relaxation) at(key string, f func()) {
	if r != nil {
		r.where = append(r.where, key)
		defer func() { r.where = r.where[:len(r.where)-1] }()
	}
	f()
}

// count returns the number of things left out so far.
func (r *relaxation) count() int {
	if r == nil {
		return 0
	}
	return r.total
}

// value returns the value of a keyword as its author meant it, or nil if it has no effect: null,
// and [] where a language has one empty value for both lists and objects.
func (r *relaxation) value(key string, v *Node) *Node {
	switch key {
	case "const", "default", "enum", "examples", "example":
		return v
	case "properties", "patternProperties", "dependentSchemas":
		if v.is('[') && len(v.Kids) == 0 {
			return object()
		}
	case "additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems", "not", "if", "then", "else", "contains", "propertyNames", "contentSchema":
		if v.is('[') && len(v.Kids) == 0 {
			return nil
		}
	case "type": // some write STRING
		if v.is('"') {
			v = text(strings.ToLower(v.Text))
		}
	}
	if v.is('n') {
		return nil
	}
	return v
}

// keyword returns the value of a keyword that is understood, or nil for one that is left out. left
// is the number of omissions before those below it.
func (r *relaxation) keyword(out *Node, key string, kid *Node, left int) {
	below := r.count() > left // it accepts more than it says
	err := (&rules{}).relaxedKeyword(key, kid)
	switch {
	case err != nil && key == "pattern" && kid.is('"'):
		r.note("the pattern %s is not checked", kid.Text)
		addDescription(out, "It must match the pattern "+kid.Text+".")
	case err != nil:
		r.note("%s is left out: %v", key, err)
	case below && key == "oneOf" && out.At("anyOf") == nil:
		out.Set("anyOf", kid)
	case below && (key == "oneOf" || key == "not" || key == "if" || key == "contains"):
		r.note("%s is left out", key)
	case key == "description" && out.At(key) != nil: // of a pattern
		kid = text(kid.Text + " " + out.At(key).Text)
		fallthrough
	default:
		out.Set(key, kid)
	}
}

// addDescription adds to the description of a schema.
func addDescription(n *Node, words string) {
	if d := n.At("description"); d.is('"') && d.Text != "" {
		words = d.Text + " " + words
	}
	n.Set("description", text(words))
}

// finish removes keywords that would make the schema stricter than intended because of the
// omissions.
func (r *relaxation) finish(n, out *Node, left int) {
	drop := func(key string) {
		for i, k := range out.Keys {
			if k == key {
				out.Keys, out.Kids = append(out.Keys[:i:i], out.Keys[i+1:]...), append(out.Kids[:i:i], out.Kids[i+1:]...)
				return
			}
		}
	}
	if n.At("if") != nil && out.At("if") == nil {
		drop("then")
		drop("else")
	}
	if was, is := n.At("patternProperties"), out.At("patternProperties"); was.is('{') && (!is.is('{') || len(is.Keys) < len(was.Keys)) {
		drop("additionalProperties")
		drop("unevaluatedProperties")
	}
	if r.count() > left { // what the rest judges may be more than it seems
		drop("unevaluatedProperties")
		drop("unevaluatedItems")
	}
	if n.At("contains") != nil && out.At("contains") == nil {
		drop("minContains")
		drop("maxContains")
	}
}

// patterns takes the properties out whose pattern is not understood.
func (r *relaxation) patterns(v *Node) *Node {
	out := object()
	for i, p := range v.Keys {
		if _, err := compilePattern(p); err != nil {
			r.note("properties whose names match the pattern %s are not checked", p)
			continue
		}
		out.Set(p, v.Kids[i])
	}
	return out
}

// unknownType notes why a type cannot be written out and returns a schema that accepts anything.
func (r *relaxation) unknownType(format string, args ...any) *Node {
	r.note(format, args...)
	return anything()
}

// nested returns the schema that replaces a recursive type where writing it out stops.
func (r *relaxation) nested(ref string) *Node {
	where := r.where
	r.where = nil
	r.note("%s is nested in itself: what is deeper is not checked", ref)
	r.where = where
	n := object()
	n.Set("description", text("As "+ref+" again."))
	return n
}

var errTooBig = errors.New("the schema is too big once its $refs are inlined; simplify it")
