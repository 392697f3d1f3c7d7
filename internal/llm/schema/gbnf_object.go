package schema

import (
	"fmt"
	"regexp"
	"strings"
)

// object writes the properties in the schema's order, those that are not
// required or not, and then others, where the schema lets them be.
func (g *grammar) object(name string, n *node) string {
	props, must := object(), map[string]bool{}
	if known := n.at("properties"); known != nil {
		for i, key := range known.keys {
			if !known.kids[i].never() {
				props.set(key, known.kids[i])
			}
		}
	}
	if required := n.at("required"); required != nil {
		for _, k := range required.kids {
			key := k.string()
			if must[key] = true; props.at(key) == nil {
				props.set(key, n.other(key))
			}
		}
	}
	least, most := max(count(n, "minProperties"), 0), count(n, "maxProperties")
	other := g.others(name, n, props.keys)
	if len(props.keys) == 0 {
		switch {
		case other == "" || most == 0:
			return g.rule(name, `"{" ws "}" ws`)
		case other == "pair" && least == 0 && most < 0:
			return "object"
		case most > 0:
			most--
		}
		list := other + ` ( "," ws ` + other + ` )` + times(max(least-1, 0), most)
		if least == 0 {
			list = "( " + list + " )?"
		}
		return g.rule(name, `"{" ws `+list+` "}" ws`)
	}
	// From the last to the first: what may follow when something was written
	// before, and when nothing was.
	next, first := `""`, `""`
	if other != "" {
		next = `( "," ws ` + other + ` )*`
		first = "( " + other + ` ( "," ws ` + other + " )* )?"
	}
	for i := len(props.keys) - 1; i >= 0; i-- {
		key := props.keys[i]
		as := fmt.Sprintf("%s-%d", name, i)
		pair := literal(quoted(key).text+":") + " ws " + g.of(as, props.kids[i])
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

// other is the schema of a property that is not listed.
func (n *node) other(key string) *node {
	if patterns := n.at("patternProperties"); patterns != nil {
		for i, expr := range patterns.keys {
			if re, err := regexp.Compile(expr); err == nil && re.MatchString(key) {
				return patterns.kids[i]
			}
		}
	}
	if more := n.at("additionalProperties"); more != nil && more.kind == '{' {
		return more
	}
	return object()
}

// others is the rule of a property that is not listed, "" if there may be
// none.
func (g *grammar) others(name string, n *node, known []string) string {
	var out []string
	if patterns := n.at("patternProperties"); patterns != nil {
		for i, expr := range patterns.keys {
			if patterns.kids[i].never() {
				continue
			}
			key, ok := g.pattern(fmt.Sprintf("%s-key%d", name, i), expr, 0, -1)
			if !ok {
				key = g.freeKey(name, known)
			}
			out = append(out, key+` ":" ws `+g.of(fmt.Sprintf("%s-value%d", name, i), patterns.kids[i]))
		}
	}
	if more := n.at("additionalProperties"); more == nil || !more.never() {
		key, value := g.freeKey(name, known), "any"
		if names := n.at("propertyNames"); names != nil && names.kind == '{' {
			text := names.without("type")
			text.set("type", quoted("string"))
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

// freeKey is a key that is none of those that are known.
func (g *grammar) freeKey(name string, known []string) string {
	if len(known) == 0 {
		return "string"
	}
	return g.otherKey(name+"-key", known)
}
