package textcall

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/jsontext"
)

var (
	errEnd  = errors.New("they end in the middle")
	errDeep = errors.New("they are nested too deeply")
)

const maxDepth = 64

// A value is JSON that keeps the order of keys and the spelling of numbers.
type value struct {
	kind byte // '{' '[' '"' '0' 't' 'n'
	keys []string
	kids []*value
	text string // a string's value, a number's spelling
	yes  bool
	raw  string // as written, if that is valid JSON
}

// json is v as valid JSON: what was valid stays byte for byte.
func (v *value) json() json.RawMessage { return json.RawMessage(v.append(nil)) }

func (v *value) append(b []byte) []byte {
	if v.raw != "" {
		return append(b, v.raw...)
	}
	switch v.kind {
	case '{':
		b = append(b, '{')
		for i, k := range v.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.kids[i].append(append(append(b, jsontext.Quote(k)...), ':'))
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, kid := range v.kids {
			if i > 0 {
				b = append(b, ',')
			}
			b = kid.append(b)
		}
		return append(b, ']')
	case '"':
		return append(b, jsontext.Quote(v.text)...)
	case '0':
		return append(b, v.text...)
	case 't':
		return strconv.AppendBool(b, v.yes)
	}
	return append(b, "null"...)
}

// A lenient parser reads one value of JSON as models write it: trailing
// commas, single quotes, comments, raw line ends, Python's literals, keys
// without quotes. It completes nothing: where the text stops too early the
// error is errEnd.
type lenient struct {
	s     string
	i     int
	depth int
	fixes fixes
}

// fixes are the kinds of repairs made.
type fixes uint

const (
	fixComma fixes = 1 << iota
	fixQuotes
	fixComment
	fixControl
	fixLiteral
	fixKey
	fixEscape
	fixNumber
	fixSpace
	fixTuple
	fixBetween
)

var fixNames = []string{"a trailing comma", "single quotes", "a comment", "raw line ends in a string", "Python's literals",
	"keys without quotes", "wrong escapes", "the spelling of a number", "white space", "a tuple", "a missing comma between objects"}

func (f fixes) String() string {
	var out []string
	for i, name := range fixNames {
		if f&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// parseLenient reads s as one value with nothing behind it but space.
func parseLenient(s string) (*value, fixes, error) {
	p := &lenient{s: s}
	v, err := p.value()
	if err == nil {
		if err = p.space(); err == nil && p.i < len(s) {
			err = p.wrong()
		}
	}
	return v, p.fixes, err
}

func (p *lenient) wrong() error {
	if p.i >= len(p.s) {
		return errEnd
	}
	near := p.s[p.i:]
	if len(near) > 24 {
		near = near[:24]
	}
	return errors.New("at byte " + strconv.Itoa(p.i+1) + ", near " + strconv.Quote(strings.ToValidUTF8(near, "")) + ", they are not JSON")
}

// space skips white space and comments.
func (p *lenient) space() error {
	for p.i < len(p.s) {
		rest := p.s[p.i:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.i++
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) && !strings.ContainsRune("\u200b\u200c\u200d\u2060\ufeff", r) {
				return nil
			}
			p.i += n
			p.fixes |= fixSpace
		case strings.HasPrefix(rest, "//"):
			p.fixes |= fixComment
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				p.i = len(p.s)
				return nil
			}
			p.i += n
		case strings.HasPrefix(rest, "/*"):
			p.fixes |= fixComment
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				p.i = len(p.s)
				return errEnd
			}
			p.i += n + 4
		default:
			return nil
		}
	}
	return nil
}

func (p *lenient) value() (*value, error) {
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.i >= len(p.s) {
		return nil, errEnd
	}
	if p.depth++; p.depth > maxDepth {
		return nil, errDeep
	}
	defer func() { p.depth-- }()
	// Repairs are counted anew, to know whether this value had any.
	before, from := p.fixes, p.i
	p.fixes = 0
	v, err := p.plain()
	if err == nil && p.fixes == 0 {
		v.raw = p.s[from:p.i]
	}
	p.fixes |= before
	return v, err
}

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
		if err == nil && len(v.kids) == 1 && !strings.HasSuffix(strings.TrimRight(p.s[from:p.i-1], " \t\r\n"), ",") {
			return v.kids[0], nil
		}
		return v, err
	case c == '"' || c == '\'':
		s, err := p.str()
		return &value{kind: '"', text: s}, err
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
		return &value{kind: 't', yes: true}
	case "false", "False":
		return &value{kind: 't'}
	case "null", "None":
		return &value{kind: 'n'}
	}
	return nil
}

func partOfLiteral(word string) bool {
	for _, l := range []string{"true", "True", "false", "False", "null", "None"} {
		if strings.HasPrefix(l, word) {
			return true
		}
	}
	return false
}

// identifier is the length of the name at the start of s.
func identifier(s string) int {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 && (c >= '0' && c <= '9')) {
			return i
		}
	}
	return len(s)
}

func (p *lenient) object() (*value, error) {
	v := &value{kind: '{'}
	p.i++
	for {
		if err := p.space(); err != nil {
			return nil, err
		}
		if p.i >= len(p.s) {
			return v, errEnd
		}
		c := p.s[p.i]
		if c == '}' {
			p.i++
			if len(v.keys) > 0 {
				p.fixes |= fixComma
			}
			return v, nil
		}
		var key string
		if c == '"' || c == '\'' {
			var err error
			if key, err = p.str(); err != nil {
				return v, err
			}
		} else {
			n := identifier(p.s[p.i:])
			if n == 0 {
				return v, p.wrong()
			}
			key = p.s[p.i : p.i+n]
			p.i += n
			p.fixes |= fixKey
		}
		if err := p.space(); err != nil {
			return v, err
		}
		if p.i >= len(p.s) || p.s[p.i] != ':' {
			return v, p.wrong()
		}
		p.i++
		kid, err := p.value()
		if kid != nil {
			v.keys, v.kids = append(v.keys, key), append(v.kids, kid)
		}
		if err != nil {
			return v, err
		}
		done, err := p.next('}')
		if done || err != nil {
			return v, err
		}
	}
}

// array reads up to the closing bracket. What it has when it fails is
// returned with the error.
func (p *lenient) array(end byte) (*value, error) {
	v := &value{kind: '['}
	p.i++
	for {
		if err := p.space(); err != nil {
			return v, err
		}
		if p.i >= len(p.s) {
			return v, errEnd
		}
		if p.s[p.i] == end {
			p.i++
			if len(v.kids) > 0 {
				p.fixes |= fixComma
			}
			return v, nil
		}
		kid, err := p.value()
		if kid != nil {
			v.kids = append(v.kids, kid)
		}
		if err != nil {
			return v, err
		}
		done, err := p.next(end)
		if done || err != nil {
			return v, err
		}
	}
}

// next takes a comma, or the end, which it reports.
func (p *lenient) next(end byte) (bool, error) {
	if err := p.space(); err != nil {
		return false, err
	}
	if p.i < len(p.s) && (p.s[p.i] == ',' || p.s[p.i] == end) {
		p.i++
		return p.s[p.i-1] == end, nil
	}
	if end == ']' && strings.HasPrefix(p.s[p.i:], "{") && strings.HasSuffix(strings.TrimRight(p.s[:p.i], " \t\r\n"), "}") {
		p.fixes |= fixBetween
		return false, nil
	}
	return false, p.wrong()
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
	return &value{kind: '0', text: word}, nil
}

// isNumber reports whether s is a number of JSON.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}
