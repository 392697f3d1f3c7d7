package schema

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A flattener turns a schema document into one without references.
type flattener struct {
	root  *Node
	trail []string // references being inlined, to see a cycle
	size  int

	relaxed *relaxation // nil: what is not understood is an error

	marks bool // there is an unevaluatedProperties or unevaluatedItems: what allows all marks what it has judged
	alone bool // nothing beside a reference counts, as in the drafts up to 7
}

// newFlattener prepares for the schema document root.
func newFlattener(root *Node) *flattener {
	draft := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(root.At("$schema").Str(), "https://"), "http://"), "#")
	return &flattener{root: root, marks: root.names("unevaluatedProperties", "unevaluatedItems"), alone: strings.HasPrefix(draft, "json-schema.org/draft-0")}
}

// names reports whether a mapping in n has one of some keys.
func (n *Node) names(keys ...string) bool {
	for i, kid := range n.Kids {
		if n.is('{') && slices.Contains(keys, n.Keys[i]) || kid.names(keys...) {
			return true
		}
	}
	return false
}

// maxSchema bounds the size of a schema after inlining, in values.
const maxSchema = 20_000

// flatten returns a copy of the schema n.
func (f *flattener) flatten(n *Node, depth int) (*Node, error) {
	if f.relaxed.tooDeep() {
		return anything(), nil
	}
	if f.size++; f.size > maxSchema || depth > maxDepth {
		return nil, errTooBig
	}
	switch n.Kind {
	case 't':
		if n.Yes {
			return anything(), nil
		}
		out := object()
		out.Set("not", anything())
		return out, nil
	case '{':
	default:
		if f.relaxed != nil {
			if n.is('n') || n.is('[') && len(n.Kids) == 0 {
				return anything(), nil
			}
			return f.relaxed.unknownType("it is not checked: %s is no schema", shown(n)), nil
		}
		return nil, fmt.Errorf("the schema has %s where a schema belongs", n)
	}
	if n.At("nullable").Equals("true") {
		out, err := f.flatten(n.Without("nullable"), depth)
		return orNull(out), err
	}
	if ref := n.At("$ref"); ref != nil {
		return f.inline(n, ref, depth)
	}
	out, left := object(), f.relaxed.count()
	for i, key := range n.Keys {
		if err := f.add(out, key, n.Kids[i], depth); err != nil {
			return nil, err
		}
	}
	if f.relaxed != nil {
		f.relaxed.finish(n, out, left)
	}
	if len(out.Keys) == 0 {
		return anything(), nil
	}
	return out, nil
}

// add adds one keyword to a flat schema.
func (f *flattener) add(out *Node, key string, v *Node, depth int) (err error) {
	left := f.relaxed.count()
	if f.relaxed != nil {
		if v = f.relaxed.value(key, v); v == nil {
			return nil
		}
	}
	var kid *Node
	f.relaxed.at(key, func() { kid, err = f.keyword(key, v, depth) })
	switch {
	case err != nil && f.relaxed != nil && !errors.Is(err, errTooBig):
		f.relaxed.note("%s is left out: %v", key, err)
		return nil
	case err != nil || kid == nil:
		return err
	case f.relaxed == nil:
		out.Set(key, kid)
		return nil
	}
	if key == "patternProperties" && kid.is('{') {
		kid = f.relaxed.patterns(kid)
	}
	f.relaxed.keyword(out, key, kid, left)
	return nil
}

// orNull returns a flat schema that accepts null, too: what OpenAPI 3.0 means by nullable.
func orNull(n *Node) *Node {
	null := &Node{Kind: 'n'}
	t, plain := n.At("type"), n != nil
	for _, key := range []string{"const", "not", "allOf", "anyOf", "oneOf", "if"} {
		plain = plain && n.At(key) == nil
	}
	switch {
	case !plain && n != nil:
		out, either := object(), &Node{Kind: '[', Kids: []*Node{n, object()}}
		either.Kids[1].Set("type", text("null"))
		if d := n.At("description"); d != nil {
			out.Set("description", d)
		}
		out.Set("anyOf", either)
		return out
	case n == nil:
		return nil
	case t.is('"') && t.Text != "null":
		n.Set("type", &Node{Kind: '[', Kids: []*Node{t, text("null")}})
	case t.is('[') && !slices.Contains(t.words(), "null"):
		n.Set("type", &Node{Kind: '[', Kids: append(slices.Clone(t.Kids), text("null"))})
	}
	if e := n.At("enum"); e.is('[') && !slices.ContainsFunc(e.Kids, func(k *Node) bool { return k.is('n') }) {
		n.Set("enum", &Node{Kind: '[', Kids: append(slices.Clone(e.Kids), null)})
	}
	return n
}

// anything returns the schema that accepts everything. An empty object or true would be
// equivalent, but some encoders turn the first into the second, and the second breaks others.
func anything() *Node {
	n := object()
	n.Set("description", text("Any JSON value."))
	return n
}

// keyword returns the replacement of a keyword, or nil to drop it.
func (f *flattener) keyword(key string, v *Node, depth int) (*Node, error) {
	switch key {
	case "$schema", "$comment", "$defs", "definitions", "$anchor", "$vocabulary":
		return nil, nil
	case "$id", "id":
		if v.is('"') {
			return nil, nil
		}
	case "$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor":
		return nil, fmt.Errorf("the schema uses %s, which is not supported; write the type out", key)
	case "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems":
		if v.is('t') && !v.Yes {
			return v, nil
		}
		if all := v.is('t') || v.is('{') && len(v.Keys) == 0; all && f.marks {
			return anything(), nil
		} else if all {
			return nil, nil // allowed is what it is without
		}
		return f.flatten(v, depth+1)
	case "items", "not", "if", "then", "else", "contains", "propertyNames", "contentSchema":
		if v.is('[') {
			return f.each(v, depth)
		}
		return f.flatten(v, depth+1)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		if v.is('[') {
			return f.each(v, depth)
		}
	case "properties", "patternProperties", "dependentSchemas", "dependencies":
		if v.is('{') {
			return f.each(v, depth)
		}
	}
	f.size += v.count()
	return v, nil
}

// each flattens the values of an object or array of schemas.
func (f *flattener) each(v *Node, depth int) (*Node, error) {
	out := &Node{Kind: v.Kind, Keys: v.Keys}
	for i, kid := range v.Kids {
		if kid.is('[') && (f.relaxed == nil || len(kid.Kids) > 0) { // dependencies: a list of names
			out.Kids = append(out.Kids, kid)
			continue
		}
		key := strconv.Itoa(i)
		if v.is('{') {
			key = v.Keys[i]
		}
		var flat *Node
		var err error
		f.relaxed.at(key, func() { flat, err = f.flatten(kid, depth+1) })
		if err != nil {
			return nil, err
		}
		out.Kids = append(out.Kids, flat)
	}
	return out, nil
}

// inline replaces a reference by its target. A keyword beside the reference overrides the target's
// if it only describes, and otherwise applies in addition.
func (f *flattener) inline(n, ref *Node, depth int) (*Node, error) {
	if !ref.is('"') && f.relaxed != nil {
		return f.relaxed.unknownType("it is not checked: its $ref is %s", shown(ref)), nil
	}
	if !ref.is('"') {
		return nil, fmt.Errorf("the schema has a $ref that is not a string: %s", ref)
	}
	levels := 0
	for _, open := range f.trail {
		if open != ref.Text {
			continue
		}
		if levels++; f.relaxed != nil && levels <= f.relaxed.levels {
			continue
		}
		if f.relaxed != nil {
			return f.relaxed.nested(ref.Text), nil
		}
		return nil, fmt.Errorf("the schema is recursive through $ref %q; models cannot be given such a type, bound its depth", ref.Text)
	}
	target, err := f.resolve(ref.Text)
	if err != nil && f.relaxed != nil {
		return f.relaxed.unknownType("it is not checked: %v", err), nil
	}
	if err != nil {
		return nil, err
	}
	f.trail = append(f.trail, ref.Text)
	out, err := f.flatten(target, depth+1)
	f.trail = f.trail[:len(f.trail)-1]
	if err != nil {
		return nil, err
	}
	rest, describes := object(), true
	for i, key := range n.Keys {
		switch key {
		case "$ref":
			continue
		case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly":
		case "$defs", "definitions", "$schema", "$comment", "$id", "id":
			continue
		default:
			if f.alone {
				continue
			}
			describes = false
		}
		rest.Set(key, n.Kids[i])
	}
	if describes {
		for i, key := range rest.Keys {
			out.Set(key, rest.Kids[i])
		}
		return out, nil
	}
	both, err := f.flatten(rest, depth+1)
	if err != nil {
		return nil, err
	}
	all := both.At("allOf")
	if all == nil {
		all = &Node{Kind: '['}
	}
	all.Kids = append(all.Kids, out)
	both.Set("allOf", all)
	return both, nil
}

// resolve returns the target of a JSON pointer within the document.
func (f *flattener) resolve(ref string) (*Node, error) {
	pointer, local := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(pointer)
	if !local || err != nil || pointer != "" && pointer[0] != '/' {
		return nil, fmt.Errorf("the schema refers to %q; only references within the document (#/$defs/…) are understood", ref)
	}
	if n := f.root.pointer(pointer); n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("the schema refers to %q, which is not there", ref)
}

// pointer follows a JSON pointer, "" for n itself.
func (n *Node) pointer(p string) *Node {
	if p == "" {
		return n
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, part := range strings.Split(p[1:], "/") {
		if n.is('[') {
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(n.Kids) {
				return nil
			}
			n = n.Kids[i]
			continue
		}
		if n = n.At(unescape.Replace(part)); n == nil {
			return nil
		}
	}
	return n
}

// count returns the number of values in n.
func (n *Node) count() int {
	total := 1
	for _, kid := range n.Kids {
		total += kid.count()
	}
	return total
}

// formats are the formats that are checked; others are not rules.
var formats = map[string]func(string) bool{
	"date-time":             isDateTime,
	"date":                  func(s string) bool { return parses(time.DateOnly, s) },
	"time":                  func(s string) bool { return isDateTime("2000-12-31T" + s) },
	"duration":              func(s string) bool { return duration.MatchString(s) && s != "P" && !strings.HasSuffix(s, "T") },
	"email":                 isEmail,
	"hostname":              isHostname,
	"ipv4":                  func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() },
	"ipv6":                  func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() && a.Zone() == "" },
	"uri":                   isURI,
	"iri":                   isURI,
	"uri-reference":         isReference,
	"iri-reference":         isReference,
	"uri-template":          template.MatchString,
	"uuid":                  uuid.MatchString,
	"json-pointer":          pointer.MatchString,
	"relative-json-pointer": relative.MatchString,
	"regex":                 isPattern,
}

var (
	duration = lazyregexp.New(`^P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?)$`)
	hostname = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)
	local    = lazyregexp.New("^([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*|\"[^\"\\\\]*\")$")
	template = lazyregexp.New(`^([^{}]|\{[^{}]+\})*$`)
	uuid     = lazyregexp.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	pointer  = lazyregexp.New(`^(/([^~/]|~[01])*)*$`)
	relative = lazyregexp.New(`^(0|[1-9]\d*)(#|(/([^~/]|~[01])*)*)$`)
)

func parses(layout, s string) bool {
	_, err := time.Parse(layout, s)
	return err == nil && !strings.Contains(s, ",")
}

// isDateTime reports whether s is a time of RFC 3339, which may be a leap second.
func isDateTime(s string) bool {
	s = strings.ToUpper(s)
	if len(s) > 19 && s[16:19] == ":60" {
		t, err := time.Parse(time.RFC3339, s[:16]+":59"+s[19:])
		return err == nil && t.UTC().Hour() == 23 && t.UTC().Minute() == 59
	}
	return parses(time.RFC3339, s)
}

func isEmail(s string) bool {
	i := strings.LastIndexByte(s, '@')
	if i < 1 || i > 64 || !local.MatchString(s[:i]) {
		return false
	}
	host, ok := strings.CutPrefix(s[i+1:], "[")
	if !ok {
		return isHostname(host)
	}
	_, err := netip.ParseAddr(strings.TrimPrefix(strings.TrimSuffix(host, "]"), "IPv6:"))
	return err == nil && strings.HasSuffix(host, "]")
}

func isHostname(s string) bool { return len(s) <= 253 && hostname.MatchString(s) }

func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && !strings.Contains(s, `\`)
}

func isReference(s string) bool {
	_, err := url.Parse(s)
	return err == nil && !strings.Contains(s, `\`)
}
