package schema

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

// rules check values against a flat schema, which they read directly: only patterns are compiled.
// They cover the keywords of all drafts together; items, the one keyword with two meanings, is a
// tuple where it is a list of schemas.
type rules struct {
	patterns map[string]*regexp.Regexp
	shallow  bool // schemas in a schema are valid
	exact    bool // what no draft knows is refused
}

// evaluated collects the properties and items that a schema has judged, for the
// unevaluatedProperties and unevaluatedItems of the schemas around it.
type evaluated struct {
	props map[string]bool
	items map[int]bool
}

func (e *evaluated) prop(name string) {
	if e != nil {
		if e.props == nil {
			e.props = map[string]bool{}
		}
		e.props[name] = true
	}
}

func (e *evaluated) item(i int) {
	if e != nil {
		if e.items == nil {
			e.items = map[int]bool{}
		}
		e.items[i] = true
	}
}

func (e *evaluated) add(other *evaluated) {
	for _, name := range slices.Sorted(maps.Keys(other.props)) {
		e.prop(name)
	}
	for _, i := range slices.Sorted(maps.Keys(other.items)) {
		e.item(i)
	}
}

// check returns the faults of v. A fault of its type, or of its value as a whole,
// hides all others. seen may be nil.
func (r *rules) check(sch, v *Node, path string, seen *evaluated) []Fault {
	if sch.is('t') {
		if sch.Yes {
			return nil
		}
		return []Fault{{path, "is not allowed"}}
	}
	if words := misfit(sch, v); words != "" {
		return []Fault{{path, words}}
	}
	own := seen
	props, items := sch.At("unevaluatedProperties"), sch.At("unevaluatedItems")
	if props != nil || items != nil {
		own = &evaluated{}
	}
	var faults []Fault
	switch v.Kind {
	case '{':
		faults = append(r.counts(sch, v, path), r.members(sch, v, path, own)...)
	case '[':
		faults = r.elements(sch, v, path, own)
	case '"':
		faults = r.text(sch, v, path)
	case '0':
		faults = numbers(sch, v, path)
	}
	faults = append(faults, r.combined(sch, v, path, own)...)
	if own == seen {
		return faults
	}
	for i, kid := range v.Kids {
		switch {
		case v.is('{') && props != nil && !own.props[v.Keys[i]]:
			faults = append(faults, r.check(props, kid, join(path, v.Keys[i]), nil)...)
			own.prop(v.Keys[i])
		case v.is('[') && items != nil && !own.items[i]:
			faults = append(faults, r.check(items, kid, at(path, i), nil)...)
			own.item(i)
		}
	}
	if seen != nil {
		seen.add(own)
	}
	return faults
}

// inPlace checks v against a part of the schema for the same value. What a part that
// v does not fit has judged does not count.
func (r *rules) inPlace(sch, v *Node, path string, seen *evaluated) []Fault {
	if seen == nil {
		return r.check(sch, v, path, nil)
	}
	var own evaluated
	faults := r.check(sch, v, path, &own)
	if faults == nil {
		seen.add(&own)
	}
	return faults
}

// misfit describes what is wrong with v as a whole, or returns "".
func misfit(sch, v *Node) string {
	if t := sch.At("type"); t != nil && !typed(t, v) {
		return fmt.Sprintf("is %s, want %s", shown(v), strings.Join(articles(wanted(t)), " or "))
	}
	if c := sch.At("const"); c != nil && !same(c, v) {
		return fmt.Sprintf("is %s, want %s", shown(v), c)
	}
	if e := sch.At("enum"); e.is('[') && !slices.ContainsFunc(e.Kids, func(kid *Node) bool { return same(kid, v) }) {
		return enumWords(v, e.Kids)
	}
	if f := sch.At("format"); f.is('"') && v.is('"') {
		if valid := formats[f.Text]; valid != nil && !valid(v.Text) {
			return fmt.Sprintf("is %s, want a valid %s", shown(v), f.Text)
		}
	}
	return ""
}

// typeNames are the types, in the order in which messages list them.
var typeNames = []string{"null", "boolean", "number", "integer", "string", "array", "object"}

func wanted(t *Node) []string {
	if t.is('"') {
		return []string{t.Text}
	}
	words := t.words()
	return slices.DeleteFunc(slices.Clone(typeNames), func(name string) bool { return !slices.Contains(words, name) })
}

func typed(t, v *Node) bool {
	if !t.is('"') {
		return slices.ContainsFunc(t.Kids, func(kid *Node) bool { return typed(kid, v) })
	}
	if t.Text == "integer" {
		return v.is('0') && rat(v).IsInt()
	}
	return allows([]string{t.Text}, v)
}

// counts checks an object without its members.
func (r *rules) counts(sch, v *Node, path string) (faults []Fault) {
	if n, ok := limit(sch, "minProperties"); ok && len(v.Keys) < n {
		faults = append(faults, Fault{path, fmt.Sprintf("has %d properties, want at least %d", len(v.Keys), n)})
	}
	if n, ok := limit(sch, "maxProperties"); ok && len(v.Keys) > n {
		faults = append(faults, Fault{path, fmt.Sprintf("has %d properties, want at most %d", len(v.Keys), n)})
	}
	faults = append(faults, missing(v, path, sch.At("required"), "is missing; it is required")...)
	for _, key := range []string{"dependentRequired", "dependencies"} {
		for name, names := range sch.At(key).entries() {
			if names.is('[') && v.At(name) != nil {
				faults = append(faults, missing(v, path, names, "is missing; it is required together with "+name)...)
			}
		}
	}
	if names := sch.At("propertyNames"); names != nil {
		for _, key := range v.Keys {
			if r.check(names, text(key), "", nil) != nil {
				faults = append(faults, Fault{path, fmt.Sprintf("has a property named %q, which is not allowed", key)})
			}
		}
	}
	return faults
}

// members checks each member of an object.
func (r *rules) members(sch, v *Node, path string, seen *evaluated) (faults []Fault) {
	props, patterns, others := sch.At("properties"), sch.At("patternProperties"), sch.At("additionalProperties")
	for i, key := range v.Keys {
		known := false
		judge := func(sch *Node) {
			known = true
			faults = append(faults, r.check(sch, v.Kids[i], join(path, key), nil)...)
		}
		if p := props.At(key); p != nil {
			judge(p)
		}
		for pattern, p := range patterns.entries() {
			if r.patterns[pattern].MatchString(key) {
				judge(p)
			}
		}
		switch {
		case known || others == nil:
		case others.is('t') && !others.Yes:
			known = true
			faults = append(faults, unknown(path, key, props))
		default:
			judge(others)
		}
		if known {
			seen.prop(key)
		}
	}
	return faults
}

// elements checks an array.
func (r *rules) elements(sch, v *Node, path string, seen *evaluated) (faults []Fault) {
	bad := func(format string, args ...any) { faults = append(faults, Fault{path, fmt.Sprintf(format, args...)}) }
	if n, ok := limit(sch, "minItems"); ok && len(v.Kids) < n {
		bad("has %s, want at least %d", spelling.Plural(len(v.Kids), "item"), n)
	}
	if n, ok := limit(sch, "maxItems"); ok && len(v.Kids) > n {
		bad("has %s, want at most %d", spelling.Plural(len(v.Kids), "item"), n)
	}
	if u := sch.At("uniqueItems"); u.is('t') && u.Yes {
		if i, j := duplicates(v); j > 0 {
			bad("has equal items at %d and %d, want each once", i, j)
		}
	}
	tuple, rest := sch.At("prefixItems"), sch.At("items")
	if rest.is('[') {
		tuple, rest = rest, sch.At("additionalItems")
	}
	for i, kid := range v.Kids {
		switch {
		case tuple != nil && i < len(tuple.Kids):
			faults = append(faults, r.check(tuple.Kids[i], kid, at(path, i), nil)...)
		case rest.is('t') && !rest.Yes:
			bad("has %d items too many at its end", len(v.Kids)-i)
			return faults
		case rest != nil:
			faults = append(faults, r.check(rest, kid, at(path, i), nil)...)
		default:
			continue
		}
		seen.item(i)
	}
	if form := sch.At("contains"); form != nil {
		if words := r.contained(sch, form, v, seen); words != "" {
			bad("%s", words)
		}
	}
	return faults
}

func (r *rules) contained(sch, form, v *Node, seen *evaluated) string {
	fit := 0
	for i, kid := range v.Kids {
		if r.check(form, kid, "", nil) == nil {
			fit++
			seen.item(i)
		}
	}
	least, bounded := limit(sch, "minContains")
	if !bounded && fit == 0 {
		return "holds no item of the wanted form"
	}
	if fit < least {
		return fmt.Sprintf("has %d items of the wanted form, want at least %d", fit, least)
	}
	if most, ok := limit(sch, "maxContains"); ok && fit > most {
		return fmt.Sprintf("has %d items of the wanted form, want at most %d", fit, most)
	}
	return ""
}

// text checks a string.
func (r *rules) text(sch, v *Node, path string) (faults []Fault) {
	least, short := limit(sch, "minLength")
	most, long := limit(sch, "maxLength")
	if short || long {
		n := utf8.RuneCountInString(v.Text)
		switch {
		case short && n < least && n == 0:
			faults = append(faults, Fault{path, "is empty, want at least " + spelling.Plural(least, "character")})
		case short && n < least:
			faults = append(faults, Fault{path, fmt.Sprintf("has %s, want at least %d", spelling.Plural(n, "character"), least)})
		}
		if long && n > most {
			faults = append(faults, Fault{path, fmt.Sprintf("has %s, want at most %d", spelling.Plural(n, "character"), most)})
		}
	}
	if p := sch.At("pattern"); p.is('"') && !r.patterns[p.Text].MatchString(v.Text) {
		faults = append(faults, Fault{path, fmt.Sprintf("is %s, want text that matches %s", shown(v), p.Text)})
	}
	return faults
}

// numbers checks a number. In draft 4, exclusiveMinimum makes minimum exclusive.
func numbers(sch, v *Node, path string) (faults []Fault) {
	for _, rule := range []struct {
		key, exclusive string
		sign           int // of the comparison that breaks it
		words, strict  string
	}{
		{"minimum", "exclusiveMinimum", -1, "at least", "more than"},
		{"maximum", "exclusiveMaximum", 1, "at most", "less than"},
	} {
		bound, exclusive := sch.At(rule.key), sch.At(rule.exclusive)
		strict := exclusive.is('t') && exclusive.Yes
		if bound.is('0') {
			if c := rat(v).Cmp(rat(bound)); c == rule.sign && !strict {
				faults = append(faults, Fault{path, fmt.Sprintf("is %s, want %s %s", number(rat(v)), rule.words, number(rat(bound)))})
			}
		}
		if exclusive.is('0') {
			bound, strict = exclusive, true
		}
		if strict && bound.is('0') {
			if c := rat(v).Cmp(rat(bound)); c == rule.sign || c == 0 {
				faults = append(faults, Fault{path, fmt.Sprintf("is %s, want %s %s", number(rat(v)), rule.strict, number(rat(bound)))})
			}
		}
	}
	if m := sch.At("multipleOf"); m.is('0') && !new(big.Rat).Quo(rat(v), rat(m)).IsInt() {
		faults = append(faults, Fault{path, fmt.Sprintf("is %s, want a multiple of %s", number(rat(v)), number(rat(m)))})
	}
	return faults
}

// combined checks v against the schemas that a schema combines.
func (r *rules) combined(sch, v *Node, path string, seen *evaluated) (faults []Fault) {
	for i, key := range sch.Keys {
		switch part := sch.Kids[i]; key {
		case "not":
			if r.check(part, v, path, nil) == nil {
				faults = append(faults, Fault{path, fmt.Sprintf("is %s, which is not allowed%s", shown(v), notReason(part))})
			}
		case "allOf":
			for _, form := range part.Kids {
				faults = append(faults, r.inPlace(form, v, path, seen)...)
			}
		case "anyOf", "oneOf":
			faults = append(faults, r.choice(part.Kids, v, path, seen, key == "oneOf")...)
		case "if":
			branch := sch.At("then")
			if r.inPlace(part, v, path, seen) != nil {
				branch = sch.At("else")
			}
			if branch != nil {
				faults = append(faults, r.inPlace(branch, v, path, seen)...)
			}
		case "dependentSchemas", "dependencies":
			for name, form := range part.entries() {
				if !form.is('[') && v.At(name) != nil {
					faults = append(faults, r.inPlace(form, v, path, seen)...)
				}
			}
		}
	}
	return faults
}

// choice checks v against forms of which one must fit, and no other if it is to be
// the only one. If none does, it explains the form with the fewest faults, or lists
// the types wanted if it is the type that is wrong.
func (r *rules) choice(forms []*Node, v *Node, path string, seen *evaluated, only bool) []Fault {
	var want []string
	var best []Fault
	fit := 0
	for _, form := range forms {
		faults := r.inPlace(form, v, path, seen)
		if faults == nil {
			if fit++; !only && seen == nil || fit > 1 && only {
				break
			}
			continue
		}
		if t := form.At("type"); t != nil && !typed(t, v) {
			want = append(want, articles(wanted(t))...)
		} else if best == nil || len(faults) < len(best) {
			best = faults
		}
	}
	switch {
	case fit > 1 && only:
		return []Fault{{path, "fits more than one of the allowed forms, want exactly one"}}
	case fit > 0:
		return nil
	case best != nil:
		return best
	case want == nil:
		return []Fault{{path, "fits none of the allowed forms"}}
	}
	slices.Sort(want)
	return []Fault{{path, fmt.Sprintf("is %s, want %s", shown(v), strings.Join(slices.Compact(want), " or "))}}
}

// limit reads a count, which may be written as 2.0.
func limit(sch *Node, key string) (int, bool) {
	n := sch.At(key)
	if !n.is('0') {
		return 0, false
	}
	r := rat(n)
	if !r.IsInt() || !r.Num().IsInt64() {
		return 1<<31 - 1, true // more than any value has
	}
	return int(r.Num().Int64()), true
}

// duplicates returns the places of two equal items, 0 and 0 if there are none.
func duplicates(v *Node) (i, j int) {
	at := make(map[string]int, len(v.Kids))
	for j, kid := range v.Kids {
		key := string(canonical(nil, kid))
		if i, ok := at[key]; ok {
			return i, j
		}
		at[key] = j
	}
	return 0, 0
}

func same(a, b *Node) bool {
	if a.Kind != b.Kind {
		return false
	}
	if a.Kind == '"' {
		return a.Text == b.Text
	}
	return string(canonical(nil, a)) == string(canonical(nil, b))
}

// canonical writes equal values the same.
func canonical(b []byte, n *Node) []byte {
	switch n.Kind {
	case '{':
		order := make([]int, len(n.Keys))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return strings.Compare(n.Keys[i], n.Keys[j]) })
		b = append(b, '{')
		for _, i := range order {
			b = canonical(strconv.AppendQuote(b, n.Keys[i]), n.Kids[i])
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for _, kid := range n.Kids {
			b = append(canonical(b, kid), ',')
		}
		return append(b, ']')
	case '0':
		return append(b, rat(n).RatString()...)
	}
	return n.Append(b)
}

// rat returns the value of a number.
func rat(n *Node) *big.Rat {
	if i, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
		return new(big.Rat).SetInt64(i)
	}
	r, _ := new(big.Rat).SetString(n.Text) // a number, and not an extreme one: see parse
	return r
}

// at appends the place of an item to a path.
func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
