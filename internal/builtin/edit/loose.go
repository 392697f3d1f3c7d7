package edit

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	udiff "github.com/aymanbagabas/go-udiff"
)

// What the loose rules found, in words for the model.
const (
	ruleBlank   matchRule = "without the blank lines around it"
	ruleNumbers matchRule = "without its line numbers"
	ruleEscapes matchRule = "with one level of escapes undone, as in new"
	rulePunct   matchRule = "with other quotation marks, dashes or blanks"
)

// A place is a location of an edit, and the text to put there.
type place struct {
	span textSpan
	put  string
	how  matchRule
}

// loose finds old where no rule of [findText] does. Each of its rules wants one
// place only, and keeps of the file whatever the change from old to
// replacement does not touch.
func loose(text, old, replacement string) (place, bool) {
	for _, rule := range []func(text, old, replacement string) (place, bool){unpadded, unindentedFirst, unnumbered, unescaped, folded} {
		if p, ok := rule(text, old, replacement); ok {
			return p, true
		}
	}
	return place{}, false
}

// strict returns the place that the rules of Match find, if there is exactly one.
func strict(text, old, replacement string, how matchRule) (place, bool) {
	spans, by := findText(text, old)
	if len(spans) != 1 || by == ruleExact && (inWord(text, spans[0]) || doubles(text, spans[0], old, replacement)) {
		return place{}, false
	}
	put, ok := fit(text, spans[0], old, replacement, by)
	return place{spans[0], put, how}, ok
}

// unpadded leaves out the blank lines at both ends.
func unpadded(text, old, replacement string) (place, bool) {
	bare := unpad(old)
	if bare == old || bare == "" {
		return place{}, false
	}
	return strict(text, bare, unpad(replacement), ruleBlank)
}

func unpad(s string) string {
	ls := split(s)
	for len(ls) > 0 && trim(ls[0].s) == "" {
		ls = ls[1:]
	}
	for len(ls) > 0 && trim(ls[len(ls)-1].s) == "" {
		ls = ls[:len(ls)-1]
	}
	return closed(texts(ls), len(ls) > 0 && ls[len(ls)-1].nl)
}

// unindentedFirst finds lines whose first line alone was quoted without its indentation,
// as happens where a text begins.
func unindentedFirst(text, old, replacement string) (place, bool) {
	ls, want, with := split(text), split(old), texts(split(replacement))
	if len(want) < 2 || len(with) == 0 || lead(want[0].s) != "" || lead(with[0]) != "" {
		return place{}, false
	}
	spans := byLine(ls, want, ruleTrailing, func(a, b string) bool { return trimRight(a) == trimRight(b) || b == want[0].s && trim(a) == trim(b) })
	if len(spans) != 1 {
		return place{}, false
	}
	s := spans[0]
	got := texts(split(text[s.Start:s.End]))
	quoted := texts(want)
	for i := range got[1:] {
		if trimRight(got[i+1]) != trimRight(quoted[i+1]) {
			return place{}, false // the first line again, further down
		}
	}
	quoted[0], with[0] = lead(got[0])+quoted[0], lead(got[0])+with[0]
	put := graft(got, quoted, with, nil)
	return place{s, closed(put, strings.HasSuffix(text[s.Start:s.End], "\n")), ruleIndent}, true
}

var numberedLine = lazyregexp.New(`^\s*(\d+)(\t|[:|] ?)(.*)$`)

// unnumbered takes off the line numbers that read_file shows. The numbers must
// be those of the place; new must have them on each line or on none.
func unnumbered(text, old, replacement string) (place, bool) {
	bare, first, ok := unnumber(old, true)
	if !ok {
		return place{}, false
	}
	with, _, all := unnumber(replacement, false)
	if !all {
		if numberedLine.MatchString(replacement) || strings.Contains(replacement, "\n") && anyNumbered(replacement) {
			return place{}, false
		}
		with = replacement
	}
	p, ok := strict(text, bare, with, ruleNumbers)
	if !ok || strings.Count(text[:p.span.Start], "\n")+1 != first {
		return place{}, false
	}
	return p, true
}

func anyNumbered(s string) bool {
	for l := range strings.SplitSeq(s, "\n") {
		if gutter.MatchString(l) {
			return true
		}
	}
	return false
}

func unnumber(s string, consecutive bool) (bare string, first int, ok bool) {
	ls := split(s)
	for i, l := range ls {
		m := numberedLine.FindStringSubmatch(l.s)
		if m == nil {
			return "", 0, false
		}
		n, err := strconv.Atoi(m[1])
		if i == 0 {
			first = n
		}
		if err != nil || consecutive && n != first+i {
			return "", 0, false
		}
		ls[i].s = m[3]
	}
	return closed(texts(ls), len(ls) > 0 && ls[len(ls)-1].nl), first, len(ls) > 0
}

// unescaped undoes one level of escapes: arguments that were encoded twice.
// Old must be such a text throughout, and so must new unless it has no
// backslash at all. A line of new that then ends inside a quotation was not
// encoded twice.
func unescaped(text, old, replacement string) (place, bool) {
	if strings.HasSuffix(old, "\n") && strings.HasSuffix(replacement, "\n") { // of the form around it
		old, replacement = strings.TrimSuffix(old, "\n"), strings.TrimSuffix(replacement, "\n")
	}
	bare, ok := unescape(old)
	if !ok {
		return place{}, false
	}
	with := replacement
	if strings.Contains(replacement, `\`) {
		if with, ok = unescape(replacement); !ok {
			return place{}, false
		}
	}
	for l := range strings.SplitSeq(with, "\n") {
		for _, q := range []string{`"`, `'`} {
			if strings.Count(l, q)%2 != 0 && !strings.Contains(text, trim(l)) {
				return place{}, false
			}
		}
	}
	return strict(text, bare, with, ruleEscapes)
}

func unescape(s string) (string, bool) {
	if strings.ContainsAny(s, "\n\t") || !strings.Contains(s, `\`) {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			return "", false
		case c != '\\':
			b.WriteByte(c)
			continue
		case i+1 == len(s):
			return "", false
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
		case '\\', '"', '\'', '/':
			b.WriteByte(s[i])
		default:
			return "", false
		}
	}
	return b.String(), true
}

// foldRune makes one spelling of punctuation that models write in ASCII.
func foldRune(r rune) rune {
	switch r {
	case '\u2018', '\u2019', '\u201a', '\u201b', '\u2032':
		return '\''
	case '\u201c', '\u201d', '\u201e', '\u201f', '\u2033':
		return '"'
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
		return '-'
	case '\u00a0', '\u2002', '\u2003', '\u2007', '\u2009', '\u202f', '\u3000':
		return ' '
	}
	return r
}

func fold(s string) string { return strings.Map(foldRune, s) }

// folded finds old whatever quotation marks, dashes and blanks either has. A
// character of old that new keeps stays the file's.
func folded(text, old, replacement string) (place, bool) {
	if !utf8.ValidString(text) || !utf8.ValidString(old) {
		return place{}, false
	}
	ft, fo := fold(text), fold(old)
	if ft == text && fo == old {
		return place{}, false
	}
	spans := exact(ft, fo)
	if len(spans) != 1 || inWord(ft, spans[0]) {
		return place{}, false
	}
	from := utf8.RuneCountInString(ft[:spans[0].Start])
	start := byteAt(text, from)
	end := start + byteAt(text[start:], utf8.RuneCountInString(fo))
	got := []rune(text[start:end])
	var b strings.Builder
	at := 0
	for _, e := range udiff.Strings(old, replacement) {
		i, j := utf8.RuneCountInString(old[:e.Start]), utf8.RuneCountInString(old[:e.End])
		b.WriteString(string(got[at:i]))
		b.WriteString(e.New)
		at = j
	}
	b.WriteString(string(got[at:]))
	return place{textSpan{start, end}, b.String(), rulePunct}, true
}

// byteAt returns the offset of rune n of s.
func byteAt(s string, n int) int {
	at := 0
	for ; n > 0; n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}
