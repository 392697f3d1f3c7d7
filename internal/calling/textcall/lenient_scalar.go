package textcall

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func (p *lenient) plain() (*value, error) {
	switch c := p.s[p.i]; {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array(']')
	case c == '(':
		// (1) is the value itself in Python, (1,) and (1, 2) are tuples.
		from := p.i
		v, err := p.array(')')
		p.fixes |= fixTuple
		if err == nil && len(v.Kids) == 1 && !strings.HasSuffix(strings.TrimRight(p.s[from:p.i-1], " \t\r\n"), ",") {
			return v.Kids[0], nil
		}
		return v, err
	case c == '"' || c == '\'':
		s, err := p.str()
		return &value{Kind: '"', Text: s}, err
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return p.number()
	}
	word := p.s[p.i:][:identifier(p.s[p.i:])]
	if p.i+len(word) == len(p.s) && word != "" && partOfLiteral(word) {
		p.i = len(p.s)
		if v := literal(word); v != nil && p.depth == 1 {
			return p.known(word, v)
		}
		return nil, errEnd
	}
	if v := literal(word); v != nil {
		p.i += len(word)
		return p.known(word, v)
	}
	return nil, p.wrong()
}

func (p *lenient) known(word string, v *value) (*value, error) {
	if word != "true" && word != "false" && word != "null" {
		p.fixes |= fixLiteral
	}
	return v, nil
}

func literal(word string) *value {
	switch word {
	case "true", "True":
		return &value{Kind: 't', Yes: true}
	case "false", "False":
		return &value{Kind: 't'}
	case "null", "None":
		return &value{Kind: 'n'}
	}
	return nil
}

func partOfLiteral(word string) bool {
	return slices.ContainsFunc([]string{"true", "True", "false", "False", "null", "None"}, func(l string) bool { return strings.HasPrefix(l, word) })
}

// identifier returns the length of the name at the start of s.
func identifier(s string) int {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 && (c >= '0' && c <= '9')) {
			return i
		}
	}
	return len(s)
}

// str reads a string in either kind of quotes, or in three of them as Python
// has it.
func (p *lenient) str() (string, error) {
	quote := p.s[p.i : p.i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(p.s[p.i:], triple) {
		quote = triple
	}
	if quote != `"` {
		p.fixes |= fixQuotes
	}
	p.i += len(quote)
	var b strings.Builder
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == quote[0] && strings.HasPrefix(p.s[p.i:], quote):
			p.i += len(quote)
			return b.String(), nil
		case c == '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
			continue
		case c < ' ':
			p.fixes |= fixControl
		}
		b.WriteByte(c)
		p.i++
	}
	return b.String(), errEnd
}

func (p *lenient) escape(b *strings.Builder) error {
	if p.i+1 >= len(p.s) {
		p.i = len(p.s)
		return errEnd
	}
	c := p.s[p.i+1]
	if n := strings.IndexByte(`"\/bfnrt`, c); n >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[n])
		p.i += 2
		return nil
	}
	if c == 'u' {
		r, ok := hex4(p.s[p.i+2:])
		if !ok && len(p.s)-p.i < 6 {
			p.i = len(p.s)
			return errEnd
		}
		if ok {
			p.i += 6
			if utf16.IsSurrogate(r) {
				low, ok := rune(0), false
				if strings.HasPrefix(p.s[p.i:], `\u`) {
					low, ok = hex4(p.s[p.i+2:])
				}
				if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
					p.i += 6
				}
			}
			b.WriteRune(r)
			return nil
		}
	}
	// A regular expression or a path that was not escaped for JSON.
	p.fixes |= fixEscape
	if c != '\'' {
		b.WriteByte('\\')
	}
	p.i++
	if c == '\'' {
		b.WriteByte(c)
		p.i++
	}
	return nil
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	return rune(n), err == nil && s[0] != '+'
}

func (p *lenient) number() (*value, error) {
	n := 0
	for p.i+n < len(p.s) && strings.IndexByte("+-.eE0123456789", p.s[p.i+n]) >= 0 {
		n++
	}
	word := p.s[p.i : p.i+n]
	if p.i+n == len(p.s) && p.depth > 1 {
		p.i += n
		return nil, errEnd // more digits may have followed
	}
	if !isNumber(word) {
		fixed := strings.TrimPrefix(word, "+")
		if strings.HasPrefix(fixed, ".") {
			fixed = "0" + fixed
		}
		fixed = strings.TrimSuffix(fixed, ".")
		if !isNumber(fixed) {
			return nil, p.wrong()
		}
		p.fixes |= fixNumber
		word = fixed
	}
	p.i += n
	return &value{Kind: '0', Text: word}, nil
}

// isNumber reports whether s is a number of JSON.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}
