package schema

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// formatPatterns are patterns for the values of format that a grammar can express. They accept the
// same values as the validator, down to the length of February.
var formatPatterns = map[string]string{
	"date":      "^(?:" + fullDate + ")$",
	"time":      "^(?:" + fullTime + ")$",
	"date-time": "^(?:" + fullDate + ")[Tt](?:" + fullTime + ")$",
	"uuid":      "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
	"ipv4":      `^(?:` + octet + `\.){3}` + octet + `$`,
}

const (
	day31    = `(?:0[1-9]|[12]\d|3[01])`
	leapYear = `(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)`
	fullDate = `\d{4}-(?:(?:0[13578]|1[02])-` + day31 + `|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))|` + leapYear + `-02-29`
	fullTime = `(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)|23:59:60(?:\.\d+)?[Zz]`
	octet    = `(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
)

// pattern returns the rule of the JSON strings whose value matches a regular expression, as the
// validator understands it. It reports false if a grammar cannot express a part of the expression,
// such as a word boundary: any string must then do. Each value has at least one spelling in the
// rule.
func (g *grammar) pattern(name, expr string, least, most int) (string, bool) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return "", false
	}
	branches := []*syntax.Regexp{uncaptured(re)}
	if branches[0].Op == syntax.OpAlternate {
		branches = branches[0].Sub
	}
	var out []string
	for _, b := range branches {
		items := []*syntax.Regexp{uncaptured(b)}
		if items[0].Op == syntax.OpConcat {
			items = items[0].Sub
		}
		start, end := len(items) > 0 && items[0].Op == syntax.OpBeginText, false
		if start {
			items = items[1:]
		}
		if n := len(items) - 1; n >= 0 && items[n].Op == syntax.OpEndText {
			items, end = items[:n], true
		}
		parts := []string{`"\""`}
		if !start {
			parts = append(parts, "char*")
		}
		if len(items) == 1 && start && end {
			items = []*syntax.Regexp{bounded(items[0], least, most)}
		}
		for _, item := range items {
			part, ok := term(item, 1)
			if !ok {
				return "", false
			}
			parts = append(parts, part)
		}
		if !end {
			parts = append(parts, "char*")
		}
		out = append(out, strings.Join(append(parts, `"\""`), " "))
	}
	return g.rule(name, strings.Join(out, " | ")), true
}

// mostRepeated bounds how often something may be repeated by count: servers
// write each repetition out and refuse grammars that grow too large.
const mostRepeated = 2000

func uncaptured(re *syntax.Regexp) *syntax.Regexp {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	return re
}

// bounded adds the bounds of a string's length to re if re repeats one character.
func bounded(re *syntax.Regexp, least, most int) *syntax.Regexp {
	re = uncaptured(re)
	low, high := 0, -1
	switch re.Op {
	case syntax.OpStar:
	case syntax.OpPlus:
		low = 1
	case syntax.OpRepeat:
		low, high = re.Min, re.Max
	default:
		return re
	}
	if op := uncaptured(re.Sub[0]).Op; op != syntax.OpCharClass && op != syntax.OpAnyChar && op != syntax.OpAnyCharNotNL {
		return re
	}
	if low = max(low, least); most >= 0 && (high < 0 || most < high) {
		high = most
	}
	if high >= 0 && high < low {
		return re // nothing satisfies both
	}
	return &syntax.Regexp{Op: syntax.OpRepeat, Min: low, Max: high, Sub: re.Sub}
}

// term renders one part of a regular expression as GBNF for text inside a JSON string. often is
// the number of times that the enclosing counted repetitions copy it.
func term(re *syntax.Regexp, often int) (string, bool) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return `""`, true
	case syntax.OpLiteral:
		var out []string
		plain := ""
		for _, r := range re.Rune {
			if re.Flags&syntax.FoldCase == 0 || unicode.SimpleFold(r) == r {
				plain += spelled(r)
				continue
			}
			if plain != "" {
				out, plain = append(out, literal(plain)), ""
			}
			folds := []rune{r, r}
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				folds = append(folds, f, f)
			}
			out = append(out, class(folds))
		}
		if plain != "" {
			out = append(out, literal(plain))
		}
		return strings.Join(out, " "), true
	case syntax.OpCharClass:
		return class(re.Rune), len(re.Rune) > 0
	case syntax.OpAnyChar:
		return "char", true
	case syntax.OpAnyCharNotNL:
		return class([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}), true
	case syntax.OpCapture:
		return term(re.Sub[0], often)
	case syntax.OpConcat, syntax.OpAlternate:
		var out []string
		for _, sub := range re.Sub {
			part, ok := term(sub, often)
			if !ok {
				return "", false
			}
			out = append(out, part)
		}
		if re.Op == syntax.OpConcat {
			return strings.Join(out, " "), true
		}
		return "( " + strings.Join(out, " | ") + " )", true
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		low, high := 0, -1
		switch re.Op {
		case syntax.OpPlus:
			low = 1
		case syntax.OpQuest:
			high = 1
		case syntax.OpRepeat:
			low, high = re.Min, re.Max
		}
		if high < 0 && matchesEmpty(re.Sub[0]) {
			return "", false // servers take an empty repetition without end for a recursion
		}
		if often *= max(1, low, high); often > mostRepeated {
			return "", false
		}
		part, ok := term(re.Sub[0], often)
		return "( " + part + " )" + quantifier(low, high), ok
	}
	return "", false
}

// matchesEmpty reports whether re matches the empty text.
func matchesEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpPlus, syntax.OpCapture:
		return matchesEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || matchesEmpty(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !matchesEmpty(sub) {
				return false
			}
		}
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, matchesEmpty)
	}
	return true
}

// spelled renders a character as in a JSON string.
func spelled(r rune) string {
	switch r {
	case '"', '\\':
		return `\` + string(r)
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if r < ' ' || r == 0x7f {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}

// class renders a set of characters, given as pairs of first and last, for text inside a JSON
// string: most as they are, some after a backslash.
func class(ranges []rune) string {
	has := func(r rune) bool {
		for i := 0; i < len(ranges); i += 2 {
			if r >= ranges[i] && r <= ranges[i+1] {
				return true
			}
		}
		return false
	}
	var plain strings.Builder
	var out []string
	for i := 0; i < len(ranges); i += 2 {
		from := max(ranges[i], ' ')
		for _, hole := range []rune{'"', '\\', 0x7f, utf8.MaxRune + 1} {
			if to := min(ranges[i+1], hole-1); from <= to {
				plain.WriteString(inClass(from))
				if to > from {
					plain.WriteString("-" + inClass(to))
				}
			}
			from = max(from, hole+1)
		}
	}
	if plain.Len() > 0 {
		out = append(out, "["+plain.String()+"]")
	}
	for r := range rune(0x80) {
		if s := spelled(r); len(s) > 1 && has(r) {
			out = append(out, literal(s))
		}
	}
	switch len(out) {
	case 0:
		return `""`
	case 1:
		return out[0]
	}
	return "( " + strings.Join(out, " | ") + " )"
}

// inClass renders a character for the brackets of a grammar.
func inClass(r rune) string {
	switch {
	case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		return string(r)
	case r < 0x80:
		return fmt.Sprintf(`\x%02X`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04X`, r)
	}
	return fmt.Sprintf(`\U%08X`, r)
}

// otherKey returns the rule for keys other than names, which have places and schemas of their own.
// Keys are spelled without \u, which could spell one of names.
func (g *grammar) otherKey(name string, names []string) string {
	g.rules["key-char"] = `[^"\\\x00-\x1F\x7F] | "\\" ["\\bfnrt]`
	type branch struct {
		ends bool
		next []rune
		kids map[rune]*branch
	}
	root := &branch{}
	for _, n := range names {
		at := root
		for _, r := range n {
			if at.kids == nil {
				at.kids = map[rune]*branch{}
			}
			if at.kids[r] == nil {
				at.next = append(at.next, r)
				at.kids[r] = &branch{}
			}
			at = at.kids[r]
		}
		at.ends = true
	}
	var rule func(as string, b *branch) string
	rule = func(as string, b *branch) string {
		if len(b.next) == 0 {
			return "key-char key-char*" // behind a whole name
		}
		var out []string
		plain, escapes := "", `"\bfnrt`
		for i, r := range b.next {
			s := spelled(r)
			kid := g.rule(fmt.Sprintf("%s-%d", as, i), rule(fmt.Sprintf("%s-%d", as, i), b.kids[r]))
			out = append(out, literal(s)+" "+kid)
			if len(s) == 2 && s[0] == '\\' {
				escapes = strings.ReplaceAll(escapes, s[1:], "")
			} else {
				plain += inClass(r)
			}
		}
		out = append(out, `[^"\\\x00-\x1F\x7F`+plain+`] key-char*`)
		if escapes != "" {
			var set string
			for _, r := range escapes {
				set += inClass(r)
			}
			out = append(out, `"\\" [`+set+`] key-char*`)
		}
		text := "( " + strings.Join(out, " | ") + " )"
		if !b.ends {
			text += "?"
		}
		return text
	}
	return g.rule(name, `"\"" `+rule(name, root)+` "\""`)
}
