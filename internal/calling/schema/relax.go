package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

// A relaxation records what it leaves out of a third party's schema.
type relaxation struct {
	where  []string // the keys that lead to what is looked at
	left   []string
	total  int // how often something was left out
	levels int // how deep a type may be nested in itself
	deep   int // how many keys may lead to a schema
	brief  int // the bytes that each description may have; 0 for all
}

// Limits on writing out a schema: mostLevels bounds how deep a type is written out that is nested
// in itself, roomForLevels the bytes that this may add, and mostRelaxed the bytes of the whole.
const (
	mostLevels    = 3
	roomForLevels = 8 << 10
	mostRelaxed   = 32 << 10
)

// depths lists the depths to which a schema is written out, one after the other until it fits.
var depths = []int{maxDepth - 4, maxDepth / 2, 12, 6, 4, 2, 0}

// Relax is like [Compile] and [Schema.ForArguments], for a schema by a third party: it omits
// keywords that it does not understand, and what is too deep or too long, so that the result
// accepts more than it should, never less. left describes each of them in a line, as do the
// descriptions in the schema.
func Relax(raw json.RawMessage) (s *Schema, left []string, err error) {
	var tries []relaxation
	for levels := mostLevels; levels >= 0; levels-- {
		tries = append(tries, relaxation{levels: levels, deep: depths[0]})
	}
	tries = append(tries, relaxation{deep: depths[0], brief: 100})
	for _, deep := range depths {
		tries = append(tries, relaxation{deep: deep, brief: 20})
	}
	for _, r := range tries {
		root, faults := Parse(raw, maxParsed)
		if faults != nil {
			return nil, nil, fmt.Errorf("the schema %s", FaultText(faults))
		}
		if s, err = r.compile(root); err != nil || len(s.raw) > min(max(roomForLevels, 2*len(raw)), mostRelaxed) {
			continue
		}
		if _, faults := parse(s.raw); faults == nil {
			return s, r.left, nil
		}
	}
	return nil, nil, cmp.Or(err, errTooBig)
}

// maxParsed bounds the nesting of a third party's schema; a deeper one is not read.
const maxParsed = 10 * maxDepth

func (r *relaxation) compile(root *Node) (*Schema, error) {
	switch {
	case root.is('n') || root.is('[') && len(root.Kids) == 0:
		root = object()
	case root.is('t') && !root.Yes:
		r.note("it is not checked: its schema allows nothing")
		root = object()
	}
	if r.brief > 0 {
		r.note("descriptions are shortened, since the schema is long")
	}
	f := newFlattener(root)
	f.relaxed = r
	clean, err := f.flatten(root, 0)
	if err != nil {
		return nil, err
	}
	if t := clean.At("type"); t != nil && !t.Equals(`"object"`) {
		if !slices.Contains(t.words(), "object") {
			r.note("it is not checked: arguments are an object, and its type is %s", t)
			clean = object()
		}
		clean.Set("type", text("object"))
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
	case key == "enum" && kid.is('[') && len(kid.Kids) == 0:
		r.note("enum is left out: it lists nothing")
	case err != nil && key == "pattern" && kid.is('"'):
		r.note("the pattern %s is not checked", kid.Text)
		addDescription(out, "It must match the pattern "+kid.Text+".")
	case err != nil:
		r.note("%s is left out: %v", key, err)
	case below && key == "oneOf" && out.At("anyOf") == nil:
		out.Set("anyOf", kid)
	case below && (key == "oneOf" || key == "not" || key == "if" || key == "contains"):
		r.note("%s is left out", key)
	case r.brief > 0 && (key == "title" || key == "examples" || key == "default"):
	case key == "description":
		if r.brief > 0 {
			kid = text(spelling.Clip(kid.Text, r.brief))
		}
		if d := out.At(key); d != nil { // of a pattern
			kid = text(kid.Text + " " + d.Text)
		}
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

// tooDeep reports whether what is looked at is too deep to be written out, and notes it.
func (r *relaxation) tooDeep() bool {
	if r == nil || len(r.where) <= r.deep {
		return false
	}
	where := r.where
	r.where = where[:min(len(where), 2)] // one line for each property
	r.note("it is too deep or too long: not all of it is checked")
	r.where = where
	return true
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
