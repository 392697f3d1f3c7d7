package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// compilePattern compiles an ECMA 262 pattern, the syntax of JSON Schema, as far as package regexp
// supports it: look-around and back references are errors.
func compilePattern(p string) (*regexp.Regexp, error) {
	if strings.HasPrefix(p, "/^") || delimited.MatchString(p) {
		return nil, fmt.Errorf("error parsing regexp: it has the delimiters of a program: `%s`", p)
	}
	t := translator{rest: p}
	if err := t.all(); err != nil {
		return nil, fmt.Errorf("error parsing regexp: %w: `%s`", err, p)
	}
	return regexp.Compile(t.out.String())
}

// delimited matches a pattern with delimiters and perhaps flags that is anchored at its end: as a
// pattern it would match nothing.
var delimited = lazyregexp.New(`^/.*[^\\]\$/[dgimsuvy]*$`)

// looks are look-ahead and look-behind, which only tests of syntax may pass over.
var looks = strings.NewReplacer("(?=", "(?:", "(?!", "(?:", "(?<=", "(?:", "(?<!", "(?:")

// isPattern reports whether p is a pattern of ECMA 262, also one that [compilePattern] refuses for
// what package regexp lacks.
func isPattern(p string) bool {
	if _, err := regexp.Compile(p); err == nil {
		return true
	}
	_, err := compilePattern(looks.Replace(p))
	var syntaxError *syntax.Error
	return err == nil || errors.Is(err, errBackReference) || errors.As(err, &syntaxError) && syntaxError.Code == syntax.ErrInvalidRepeatSize
}

// A translator writes a pattern of ECMA 262 as one of regexp.
type translator struct {
	rest string
	out  strings.Builder
}

var errBackReference = errors.New("back references are not supported")

func (t *translator) all() error {
	class := false // inside of [ ]
	for t.rest != "" {
		c := t.rest[0]
		switch {
		case c == '\\':
			if err := t.escape(class); err != nil {
				return err
			}
			continue
		case class && (strings.HasPrefix(t.rest, "--[") || strings.HasPrefix(t.rest, "&&[")):
			return errors.New("operations on sets of characters are not supported")
		case c == '[' && class:
			t.out.WriteByte('\\') // regexp has names of classes there
		case c == '[':
			class = true
			if strings.HasPrefix(t.rest, "[]") { // no character
				t.take(2, `[^\x00-\x{10FFFF}]`)
				class = false
				continue
			}
			if strings.HasPrefix(t.rest, "[^]") { // any
				t.take(3, `[\x00-\x{10FFFF}]`)
				class = false
				continue
			}
		case c == ']':
			class = false
		}
		t.out.WriteByte(c)
		t.rest = t.rest[1:]
	}
	return nil
}

// take reads n bytes and writes as for them.
func (t *translator) take(n int, as string) {
	t.rest = t.rest[n:]
	t.out.WriteString(as)
}

// escape translates an escape sequence; the backslash has been read.
func (t *translator) escape(class bool) error {
	if len(t.rest) == 1 {
		return errors.New("trailing backslash at end of expression")
	}
	c := t.rest[1]
	take := t.take
	switch {
	case c == 'u':
		if r, n := codePoint(t.rest[2:]); n > 0 {
			take(2+n, fmt.Sprintf(`\x{%x}`, r))
			return nil
		}
		take(2, "u")
	case c == '0' && (len(t.rest) == 2 || t.rest[2] < '0' || t.rest[2] > '9'):
		take(2, `\x00`)
	case c >= '0' && c <= '9' || c == 'k':
		return errBackReference
	case c == 'p' || c == 'P':
		name, _, closed := strings.Cut(strings.TrimPrefix(t.rest[2:], "{"), "}")
		kind, value, pair := strings.Cut(name, "=")
		if pair = pair && closed; pair && slices.Contains([]string{"Script", "sc", "General_Category", "gc"}, kind) {
			take(len(`\p{}`)+len(name), `\`+string(c)+`{`+value+`}`)
			return nil
		}
		take(2, t.rest[:2])
	case c == 'b' && class:
		take(2, `\x08`)
	case c == 'c' && len(t.rest) > 2 && isLetter(t.rest[2]):
		take(3, fmt.Sprintf(`\x%02x`, t.rest[2]%32))
	case strings.IndexByte("dDwWsSbBnrtfvx", c) >= 0, !isLetter(c):
		take(2, t.rest[:2])
	default:
		take(2, string(c)) // which regexp may give a meaning
	}
	return nil
}

func isLetter(c byte) bool { return c|32 >= 'a' && c|32 <= 'z' }

// codePoint reads the code point of a \u escape and returns its length; 0 if there is none.
func codePoint(s string) (r rune, n int) {
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		digits, _, closed := strings.Cut(inner, "}")
		v, err := strconv.ParseUint(digits, 16, 21)
		if !closed || err != nil {
			return 0, 0
		}
		return rune(v), len(digits) + 2
	}
	four := func(s string) (rune, bool) {
		if len(s) < 4 {
			return 0, false
		}
		v, err := strconv.ParseUint(s[:4], 16, 16)
		return rune(v), err == nil
	}
	r, ok := four(s)
	if !ok {
		return 0, 0
	}
	if rest, isPair := strings.CutPrefix(s[4:], `\u`); isPair && utf16.IsSurrogate(r) {
		if low, ok := four(rest); ok {
			if whole := utf16.DecodeRune(r, low); whole != '\ufffd' {
				return whole, 10
			}
		}
	}
	return r, 4
}
