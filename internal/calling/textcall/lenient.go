package textcall

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/pkg/llm"
)

var (
	errEnd  = errors.New("they end in the middle")
	errDeep = errors.New("they are nested too deeply")
)

const maxDepth = 64

// A value is JSON that keeps the order of keys and the spelling of numbers. Raw is the text of a
// valid value as it was written.
type value = schema.Node

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
		case strings.HasPrefix(rest, `\n`) || strings.HasPrefix(rest, `\r`) || strings.HasPrefix(rest, `\t`): // spelled out between values
			p.i += 2
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
		v.Raw = p.s[from:p.i]
	}
	p.fixes |= before
	return v, err
}

func (p *lenient) object() (*value, error) {
	v := &value{Kind: '{'}
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
			if len(v.Keys) > 0 {
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
			v.Keys, v.Kids = append(v.Keys, key), append(v.Kids, kid)
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
	v := &value{Kind: '['}
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
			if len(v.Kids) > 0 {
				p.fixes |= fixComma
			}
			return v, nil
		}
		kid, err := p.value()
		if kid != nil {
			v.Kids = append(v.Kids, kid)
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

// Arguments reads the arguments of a call that are not quite JSON, such as those with
// single quotes or a comma too many. It reports false unless raw is a whole object.
func Arguments(raw string) (args []byte, note string, ok bool) {
	v, fixed, err := parseLenient(strings.TrimSpace(raw))
	if err != nil || v.Kind != '{' {
		return nil, "", false
	}
	if fixed != 0 {
		note = "the arguments of a tool call were not quite JSON; repaired: " + fixed.String()
	}
	return v.Append(nil), note, true
}

// Whose reads raw as the arguments of a call whose name was lost on the way.
// It reports false unless raw is a whole object and one offered tool alone
// takes its keys.
func Whose(raw string, offered []llm.ToolSpec) (call llm.Call, note string, ok bool) {
	k := newKit(Options{Offered: offered})
	v, _, err := parseLenient(strings.TrimSpace(raw))
	if err != nil || v.Kind != '{' || len(v.Keys) == 0 {
		return call, "", false
	}
	for _, t := range offered {
		s := k.shape(t.Name)
		fits := true
		for _, key := range v.Keys {
			_, known := s.Properties[key]
			fits = fits && known
		}
		for _, key := range s.Required {
			fits = fits && slices.Contains(v.Keys, key)
		}
		if !fits {
			continue
		}
		if ok {
			return llm.Call{}, "", false
		}
		call, ok = llm.Call{Name: t.Name, Args: v.Append(nil)}, true
	}
	if ok {
		_, note, _ = Arguments(raw)
	}
	return call, note, ok
}
