package schema

import (
	"fmt"
	"regexp"
	"strings"
)

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
