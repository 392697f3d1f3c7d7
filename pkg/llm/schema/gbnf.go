package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Callable is a tool as a grammar knows it.
type Callable struct {
	Name  string
	Input json.RawMessage // its schema, "" for no arguments
}

// GBNF gives a grammar of llama.cpp's kind for the JSON values of a schema.
// Whatever it derives has the right types, properties, constants and lengths;
// patterns, formats, most bounds of numbers, and that no key comes twice where
// keys are free, it cannot say, so that the full schema still has to judge. The same schema always gives the same text.
func GBNF(full json.RawMessage) (string, error) {
	g := newGrammar()
	rule, err := g.schema("value", full)
	if err != nil {
		return "", err
	}
	g.rules["root"] = rule
	return g.String(), nil
}

// The tags around a call in an answer that is text otherwise.
const opened, closed = "<tool_call>", "</tool_call>"

// TextOrCall gives a grammar for an answer that is any text, with calls of the
// tools behind it: once the text has the tag that begins a call, what follows
// is a valid one. A JSON Schema cannot say that. Without tools it is "".
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

// A grammar is a set of named rules. What is the same is one rule.
type grammar struct {
	rules map[string]string
	named map[string]string // by text
}

func newGrammar() *grammar {
	g := &grammar{rules: map[string]string{}, named: map[string]string{}}
	for name, text := range map[string]string{
		"string":  `"\"" char* "\""`,
		"char":    `[^"\\\x00-\x1F\x7F] | "\\" ( ["\\/bfnrt] | "u" ( [0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex ) )`,
		"hex":     `[0-9a-fA-F]`,
		"natural": `"0" | [1-9] [0-9]{0,15}`,
		"integer": `"-"? natural`,
		"number":  `integer ( "." [0-9]{1,16} )? ( [eE] [-+]? [0-9]{1,2} )?`,
		"boolean": `"true" | "false"`,
		"null":    `"null"`,
		"any":     `object | array | string | number | boolean | null`,
		"object":  `"{" ws ( pair ( "," ws pair )* )? "}" ws`,
		"pair":    `string ":" ws any`,
		"array":   `"[" ws ( any ( "," ws any )* )? "]" ws`,
		"ws":      `[ \n]{0,2}`,
	} {
		g.rules[name] = text
	}
	return g
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
	small, err := Grammar.Down(full)
	if err != nil {
		return "", err
	}
	n, err := parse(small)
	if err != nil {
		return "", err
	}
	return g.of(name, n), nil
}

// literal is text as a grammar writes it.
func literal(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}

// of is the rule for the values of a schema.
func (g *grammar) of(name string, n *node) string {
	if values := n.at("enum"); values != nil {
		var out []string
		for _, v := range values.kids {
			out = append(out, literal(string(v.appendTo(nil))))
		}
		return g.rule(name, strings.Join(out, " | "))
	}
	if c := n.at("const"); c != nil {
		return g.rule(name, literal(string(c.appendTo(nil))))
	}
	if forms := n.forms(); len(forms) > 0 {
		var out []string
		for i, f := range forms {
			out = append(out, g.of(fmt.Sprintf("%s-%d", name, i), both(n, f)))
		}
		return g.rule(name, strings.Join(out, " | "))
	}
	kinds := n.types()
	if len(kinds) == 0 {
		switch {
		case n.at("properties") != nil:
			kinds = []string{"object"}
		case n.at("items") != nil:
			kinds = []string{"array"}
		default:
			return "any"
		}
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

// both is what satisfies a schema and one of its alternatives.
func both(n, form *node) *node {
	all := array()
	all.kids = []*node{n.without("anyOf").without("oneOf").without("description"), form}
	out := object()
	out.set("allOf", all)
	merged, _ := merge(out)
	return merged
}

func (g *grammar) kind(name, kind string, n *node) string {
	switch kind {
	case "object":
		return g.object(name, n)
	case "array":
		return g.array(name, n)
	case "string":
		least, most := count(n, "minLength"), count(n, "maxLength")
		if least > 0 || most >= 0 {
			return g.rule(name, `"\"" char`+times(max(least, 0), most)+` "\""`)
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

func (g *grammar) integer(name string, n *node) string {
	least, low := whole(n, "minimum")
	most, high := whole(n, "maximum")
	switch {
	case low && high && most-least >= 0 && most-least < listed:
		var out []string
		for i := least; i <= most; i++ {
			out = append(out, literal(strconv.Itoa(i)))
		}
		return g.rule(name, strings.Join(out, " | "))
	case low && least > 0:
		return g.rule(name, "[1-9] [0-9]{0,15}") // the rest is for validation
	case low && least == 0:
		return "natural"
	}
	return "integer"
}

func (g *grammar) array(name string, n *node) string {
	item, least, most := "any", count(n, "minItems"), count(n, "maxItems")
	if items := n.at("items"); items != nil {
		item = g.of(name+"-item", items)
	}
	if most == 0 {
		return g.rule(name, `"[" ws "]" ws`)
	}
	more := most
	if more > 0 {
		more--
	}
	list := fmt.Sprintf(`%s ( "," ws %s )%s`, item, item, times(max(least-1, 0), more))
	if least <= 0 {
		list = "( " + list + " )?"
	}
	return g.rule(name, `"[" ws `+list+` "]" ws`)
}

// object writes the properties in the schema's order, those that are not
// required or not.
func (g *grammar) object(name string, n *node) string {
	props, required := n.at("properties"), n.at("required")
	if props == nil || len(props.keys) == 0 {
		more := n.at("additionalProperties")
		switch {
		case more.is("false"):
			return g.rule(name, `"{" ws "}" ws`)
		case more != nil && more.kind == '{':
			pair := g.rule(name+"-pair", `string ":" ws `+g.of(name+"-value", more))
			return g.rule(name, `"{" ws ( `+pair+` ( "," ws `+pair+` )* )? "}" ws`)
		}
		return "object"
	}
	// From the last to the first: what may follow when something was written
	// before, and when nothing was.
	next, first := `""`, `""`
	for i := len(props.keys) - 1; i >= 0; i-- {
		key := props.keys[i]
		as := fmt.Sprintf("%s-%d", name, i)
		pair := literal(quoted(key).text+":") + " ws " + g.of(as, props.kids[i])
		must := required != nil && slices.ContainsFunc(required.kids, func(k *node) bool { return k.string() == key })
		tail := g.rule(as+"-next", next)
		if must {
			first = pair + " " + tail
			next = `"," ws ` + pair + " " + tail
			continue
		}
		first = pair + " " + tail + " | " + g.rule(as+"-first", first)
		next = `"," ws ` + pair + " " + tail + " | " + tail
	}
	return g.rule(name, `"{" ws `+g.rule(name+"-body", first)+` "}" ws`)
}

// times is how often something may be repeated; most below zero is no bound.
func times(least, most int) string {
	switch {
	case most < 0 && least == 0:
		return "*"
	case most < 0:
		return fmt.Sprintf("{%d,}", least)
	}
	return fmt.Sprintf("{%d,%d}", least, max(most, least))
}

// count is the value of a keyword that counts, -1 without one.
func count(n *node, key string) int {
	if v, ok := whole(n, key); ok && v >= 0 {
		return v
	}
	return -1
}

func whole(n *node, key string) (int, bool) {
	v := n.at(key)
	if v == nil {
		return 0, false
	}
	i, err := strconv.Atoi(v.text)
	return i, err == nil
}
