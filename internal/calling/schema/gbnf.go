package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Callable is a tool as a grammar knows it.
type Callable struct {
	Name  string
	Input json.RawMessage // its schema, "" for no arguments
}

// The tags around a call in an answer that is text otherwise.
const opened, closed = "<tool_call>", "</tool_call>"

// TextOrCall returns a grammar for an answer that is any text followed by calls of the tools:
// after the tag that begins a call, the grammar admits only a valid call. A JSON Schema cannot
// express that. Without tools it is "".
func TextOrCall(list []Callable) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	g := newGrammar()
	var calls []string
	for i, c := range list {
		input := c.Input
		if len(input) == 0 {
			input = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
		}
		args, err := g.schema(fmt.Sprintf("args%d", i), input)
		if err != nil {
			return "", fmt.Errorf("tool %s: %w", c.Name, err)
		}
		name, err := json.Marshal(c.Name)
		if err != nil {
			return "", err
		}
		calls = append(calls, g.rule(fmt.Sprintf("call%d", i), literal(`{"name": `+string(name)+`, "arguments": `)+" "+args+` "}"`))
	}
	g.rules["calls"] = "line? ( " + strings.Join(calls, " | ") + " ) line? " + literal(closed) + " line? ( " + literal(opened) + " calls )?"
	g.rules["line"] = `"\n"`
	// One rule for each length of the tag's beginning that was just written.
	for i := range len(opened) {
		again := `"<" text1`
		var out []string
		if i == 0 {
			out = []string{`[^<] text0`, again}
		} else {
			next := fmt.Sprintf("text%d", i+1)
			if i == len(opened)-1 {
				next = "calls"
			}
			out = []string{fmt.Sprintf("[^<%c] text0", opened[i]), again, literal(opened[i:i+1]) + " " + next}
		}
		g.rules[fmt.Sprintf("text%d", i)] = "( " + strings.Join(out, " | ") + " )?"
	}
	g.rules["root"] = "text0"
	return g.String(), nil
}

// A grammar is a set of named rules of llama.cpp's GBNF. Equal schemas share one rule. It is never
// narrower than its schemas: each valid value has a spelling in it, with keys in the schema's
// order and numbers of 19 digits at most. Where it cannot express a keyword it is wider, so that
// the full schema still has to judge: most bounds of numbers, uniqueness, conditions, negation,
// patterns beyond regular languages or with a second bound, and unique keys where keys are free.
// The same schema always gives the same text.
type grammar struct {
	rules map[string]string
	named map[string]string // by text
}

func newGrammar() *grammar {
	return &grammar{named: map[string]string{}, rules: map[string]string{
		"string":  `"\"" char* "\""`,
		"char":    `[^"\\\x00-\x1F\x7F] | "\\" ( ["\\/bfnrt] | "u" ( [0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex ) )`,
		"hex":     `[0-9a-fA-F]`,
		"natural": `"0" | [1-9] [0-9]{0,18}`,
		"integer": `"-"? natural`,
		"number":  `integer ( "." [0-9]{1,18} )? ( [eE] [-+]? "1"? [0-9]{1,2} )?`,
		"boolean": `"true" | "false"`,
		"null":    `"null"`,
		"any":     `object | array | string | number | boolean | null`,
		"object":  `"{" ws ( pair ( "," ws pair )* )? "}" ws`,
		"pair":    `string ":" ws any`,
		"array":   `"[" ws ( any ( "," ws any )* )? "]" ws`,
		"ws":      `[ \n]{0,2}`,
	}}
}

// String lists the rules, the root first.
func (g *grammar) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "root ::= %s\n", g.rules["root"])
	for _, name := range slices.Sorted(maps.Keys(g.rules)) {
		if name != "root" {
			fmt.Fprintf(&b, "%s ::= %s\n", name, g.rules[name])
		}
	}
	return b.String()
}

// rule names a text, by the name that it has already if there is one.
func (g *grammar) rule(name, text string) string {
	if had, ok := g.named[text]; ok {
		return had
	}
	for base, i := name, 1; g.rules[name] != ""; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	g.rules[name], g.named[text] = text, name
	return name
}

func (g *grammar) schema(name string, full json.RawMessage) (string, error) {
	n, err := parseNode(full)
	if err != nil {
		return "", fmt.Errorf("the schema cannot be read: %w", err)
	}
	return g.of(name, n), nil
}

// literal quotes text for a grammar.
func literal(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}

// of returns the rule for the values of a schema.
func (g *grammar) of(name string, n *Node) string {
	if n.Kind != '{' {
		return "any"
	}
	n, _ = merge(n)
	if values := n.At("enum"); values != nil && len(values.Kids) > 0 {
		var fit, all []string
		for _, v := range values.Kids {
			text := literal(string(v.Append(nil)))
			if all = append(all, text); grammarAllows(n, v) {
				fit = append(fit, text)
			}
		}
		if len(fit) == 0 {
			fit = all
		}
		return g.rule(name, strings.Join(fit, " | "))
	}
	if c := n.At("const"); c != nil {
		return g.rule(name, literal(string(c.Append(nil))))
	}
	if forms := forms(n); len(forms) > 0 {
		var out []string
		for i, f := range forms {
			if never(f) {
				continue
			}
			out = append(out, g.of(fmt.Sprintf("%s-%d", name, i), mergeAlternative(n, f)))
		}
		if len(out) > 0 {
			return g.rule(name, strings.Join(out, " | "))
		}
	}
	kinds := n.Types()
	if len(kinds) == 0 {
		// Keywords of one type let values of all others through.
		if !slices.ContainsFunc(n.Keys, func(key string) bool { return slices.Contains(judging, key) }) {
			return "any"
		}
		kinds = []string{"object", "array", "string", "number", "boolean", "null"}
	}
	var out []string
	for _, kind := range kinds {
		as := name
		if len(kinds) > 1 {
			as += "-" + kind
		}
		out = append(out, g.kind(as, kind, n))
	}
	if len(out) == 1 {
		return out[0]
	}
	return g.rule(name, strings.Join(out, " | "))
}

// judging are the keywords that a grammar can express for values of one type.
var judging = []string{"properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties", "propertyNames",
	"items", "prefixItems", "minItems", "maxItems", "minLength", "maxLength", "pattern", "format", "minimum"}

// mergeAlternative merges a schema with one of its alternatives (anyOf, oneOf).
func mergeAlternative(n, form *Node) *Node {
	all := array()
	all.Kids = []*Node{n.Without("anyOf").Without("oneOf").Without("description"), form}
	out := newObject()
	out.Set("allOf", all)
	merged, _ := merge(out)
	return merged
}

func (g *grammar) kind(name, kind string, n *Node) string {
	switch kind {
	case "object":
		return g.object(name, n)
	case "array":
		return g.array(name, n)
	case "string":
		least, most := max(count(n, "minLength"), 0), count(n, "maxLength")
		expr := n.At("pattern").Str()
		if expr == "" {
			expr = formatPatterns[n.At("format").Str()]
		}
		if expr != "" {
			if rule, ok := g.pattern(name, expr, least, most); ok {
				return rule
			}
		}
		if least > 0 || most >= 0 {
			return g.rule(name, `"\"" char`+quantifier(least, most)+` "\""`)
		}
	case "integer":
		return g.integer(name, n)
	case "number", "boolean", "null":
	default:
		return "any"
	}
	return kind
}

const listed = 64 // integers of a range that are written out

func (g *grammar) integer(name string, n *Node) string {
	least, low := countOf(n, "minimum")
	most, high := countOf(n, "maximum")
	switch {
	case low && high && most-least >= 0 && most-least < listed:
		var out []string
		for i := least; i <= most; i++ {
			out = append(out, literal(strconv.Itoa(i)))
		}
		return g.rule(name, strings.Join(out, " | "))
	case low && least > 0:
		return g.rule(name, "[1-9] [0-9]{0,18}") // the rest is for validation
	case low && least == 0:
		return "natural"
	}
	return "integer"
}

// array writes the items that have a schema by their place, then the others.
func (g *grammar) array(name string, n *Node) string {
	least, most := max(count(n, "minItems"), 0), count(n, "maxItems")
	first, rest := n.At("prefixItems"), n.At("items")
	if rest != nil && rest.Kind == '[' { // as drafts before 2020 have it
		first, rest = rest, n.At("additionalItems")
	}
	var places []string
	if first != nil {
		for i, item := range first.Kids {
			if never(item) {
				most = i
				break
			}
			places = append(places, g.of(fmt.Sprintf("%s-%d", name, i), item))
		}
	}
	if rest != nil && never(rest) && (most < 0 || most > len(places)) {
		most = len(places)
	}
	if most == 0 {
		return g.rule(name, `"[" ws "]" ws`)
	}
	// From the last item to the first: after is the text that may follow an item.
	item, after := "any", ""
	if most < 0 || most > len(places) {
		if rest != nil {
			item = g.of(name+"-item", rest)
		}
		more := -1
		if most >= 0 {
			more = most - max(len(places), 1)
		}
		after = fmt.Sprintf(`( "," ws %s )%s`, item, quantifier(max(least-max(len(places), 1), 0), more))
	} else {
		places = places[:most]
	}
	for i := len(places) - 1; i > 0; i-- {
		after = strings.TrimSpace(`"," ws ` + places[i] + " " + after)
		if i >= least {
			after = "( " + after + " )?"
		}
	}
	if len(places) > 0 {
		item = places[0]
	}
	list := strings.TrimSpace(item + " " + after)
	if least == 0 {
		list = "( " + list + " )?"
	}
	return g.rule(name, `"[" ws `+list+` "]" ws`)
}

// quantifier renders a repetition count as a GBNF quantifier; a negative most means no upper bound.
func quantifier(least, most int) string {
	switch {
	case least > mostRepeated:
		return fmt.Sprintf("{%d,}", mostRepeated)
	case most > mostRepeated:
		return quantifier(least, -1)
	case most < 0 && least == 0:
		return "*"
	case most < 0:
		return fmt.Sprintf("{%d,}", least)
	}
	return fmt.Sprintf("{%d,%d}", least, max(most, least))
}

// count returns the value of a keyword that counts, or -1.
func count(n *Node, key string) int {
	if v, ok := countOf(n, key); ok && v >= 0 {
		return v
	}
	return -1
}

// allows reports whether a value has one of the types of n.
func grammarAllows(n *Node, v *Node) bool {
	kinds, kind := n.Types(), typeName(v)
	return len(kinds) == 0 || slices.Contains(kinds, kind) || slices.Contains(kinds, "number") && kind == "integer" || slices.Contains(kinds, "integer") && kind == "number"
}

// never reports whether nothing satisfies a schema.
func never(n *Node) bool {
	if n.Equals("false") {
		return true
	}
	no := n.At("not")
	return no.Equals("true") || no != nil && no.Kind == '{' && len(no.Without("description").Keys) == 0
}

func countOf(n *Node, key string) (int, bool) {
	v := n.At(key)
	if v == nil || v.Kind != '0' {
		return 0, false
	}
	i, err := strconv.Atoi(v.Text)
	return i, err == nil
}

// object writes the properties in the schema's order, those that are not
// required or not, and then others, where the schema lets them be.
func (g *grammar) object(name string, n *Node) string {
	props, must := newObject(), map[string]bool{}
	if known := n.At("properties"); known != nil {
		for i, key := range known.Keys {
			if !never(known.Kids[i]) {
				props.Set(key, known.Kids[i])
			}
		}
	}
	if required := n.At("required"); required != nil {
		for _, k := range required.Kids {
			key := k.Str()
			if must[key] = true; props.At(key) == nil {
				props.Set(key, other(n, key))
			}
		}
	}
	least, most := max(count(n, "minProperties"), 0), count(n, "maxProperties")
	other := g.others(name, n, props.Keys)
	if len(props.Keys) == 0 {
		switch {
		case other == "" || most == 0:
			return g.rule(name, `"{" ws "}" ws`)
		case other == "pair" && least == 0 && most < 0:
			return "object"
		case most > 0:
			most--
		}
		list := other + ` ( "," ws ` + other + ` )` + quantifier(max(least-1, 0), most)
		if least == 0 {
			list = "( " + list + " )?"
		}
		return g.rule(name, `"{" ws `+list+` "}" ws`)
	}
	// From the last property to the first: next continues after a property, first does so when
	// none was written.
	next, first := `""`, `""`
	if other != "" {
		next = `( "," ws ` + other + ` )*`
		first = "( " + other + ` ( "," ws ` + other + " )* )?"
	}
	for i := len(props.Keys) - 1; i >= 0; i-- {
		key := props.Keys[i]
		as := fmt.Sprintf("%s-%d", name, i)
		pair := literal(quoted(key).String()+":") + " ws " + g.of(as, props.Kids[i])
		tail := g.rule(as+"-next", next)
		if must[key] {
			first = pair + " " + tail
			next = `"," ws ` + pair + " " + tail
			continue
		}
		first = pair + " " + tail + " | " + g.rule(as+"-first", first)
		next = `"," ws ` + pair + " " + tail + " | " + tail
	}
	return g.rule(name, `"{" ws `+g.rule(name+"-body", first)+` "}" ws`)
}

// other returns the schema of a property that is not listed.
func other(n *Node, key string) *Node {
	if patterns := n.At("patternProperties"); patterns != nil {
		for i, expr := range patterns.Keys {
			if re, err := regexp.Compile(expr); err == nil && re.MatchString(key) {
				return patterns.Kids[i]
			}
		}
	}
	if more := n.At("additionalProperties"); more != nil && more.Kind == '{' {
		return more
	}
	return newObject()
}

// others returns the rule for properties that are not listed, or "" if none are allowed.
func (g *grammar) others(name string, n *Node, known []string) string {
	var out []string
	if patterns := n.At("patternProperties"); patterns != nil {
		for i, expr := range patterns.Keys {
			if never(patterns.Kids[i]) {
				continue
			}
			key, ok := g.pattern(fmt.Sprintf("%s-key%d", name, i), expr, 0, -1)
			if !ok {
				key = g.freeKey(name, known)
			}
			out = append(out, key+` ":" ws `+g.of(fmt.Sprintf("%s-value%d", name, i), patterns.Kids[i]))
		}
	}
	if more := n.At("additionalProperties"); more == nil || !never(more) {
		key, value := g.freeKey(name, known), "any"
		if names := n.At("propertyNames"); names != nil && names.Kind == '{' {
			text := names.Without("type")
			text.Set("type", quoted("string"))
			key = g.of(name+"-names", text)
		}
		if more != nil {
			value = g.of(name+"-value", more)
		}
		if key == "string" && value == "any" && len(out) == 0 {
			return "pair"
		}
		out = append(out, key+` ":" ws `+value)
	}
	if len(out) == 0 {
		return ""
	}
	return g.rule(name+"-pair", strings.Join(out, " | "))
}

// freeKey returns the rule for a key other than the known ones.
func (g *grammar) freeKey(name string, known []string) string {
	if len(known) == 0 {
		return "string"
	}
	return g.otherKey(name+"-key", known)
}
