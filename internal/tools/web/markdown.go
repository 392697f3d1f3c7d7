package web

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/internal/lazyregexp"
)

var (
	inline    = lazyregexp.New(`\]\(\s*(?:<([^<>\n]+)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)?))(?:\s+(?:"[^"\n]*"|'[^'\n]*'|\([^)\n]*\)))?\s*\)`)
	reference = lazyregexp.New(`^ {0,3}\[[^\]\n]+\]:\s*(?:<([^<>\n]+)>|(\S+))`)
	bare      = lazyregexp.New(`https?://[^\s<>"'\x60|\\^{}]+`)
	tagged    = lazyregexp.New(`(?i)\b(?:href|src)\s*=\s*["']([^"'\n]+)["']`)
	span      = lazyregexp.New("`+[^`\n]*`+")
)

// maxAddress bounds the addresses that are looked at, in bytes. The bound is
// here and not in the expressions: a counted repetition of a thousand is
// compiled into a thousand copies.
const maxAddress = 1000

// markdownLinks finds where the links of a Markdown text lead: inline ones,
// references, addresses as they are, and those of HTML; not those in code, nor any
// longer than maxAddress.
func markdownLinks(text string) []string {
	var out []string
	open := ""
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		m := marks(l)
		switch {
		case open != "":
			if m != "" && strings.TrimSpace(l) == m && len(m) >= len(open) && m[0] == open[0] {
				open = ""
			}
			continue
		case m != "":
			open = m
			continue
		}
		l = span.ReplaceAllString(l, "")
		take := func(re *lazyregexp.Regexp) {
			for _, f := range re.FindAllStringSubmatch(l, 1000) {
				for _, s := range f[1:] {
					if s != "" && len(s) <= maxAddress {
						out = append(out, s)
					}
				}
			}
			l = re.ReplaceAllString(l, " ")
		}
		take(inline)
		take(reference)
		take(tagged)
		for _, s := range bare.FindAllString(l, 1000) {
			if len(s) <= maxAddress {
				out = append(out, trimAddress(s))
			}
		}
	}
	return out
}

// trimAddress takes away what ends a sentence rather than an address.
func trimAddress(s string) string {
	for s != "" {
		last := s[len(s)-1]
		switch {
		case strings.IndexByte(".,;:!?*_~", last) >= 0:
		case last == ')' && strings.Count(s, ")") > strings.Count(s, "("):
		case last == ']' && strings.Count(s, "]") > strings.Count(s, "["):
		default:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

var heading = lazyregexp.New(`^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$`)

// headings are the anchors that forges and site generators make of headings.
func headings(text string) []string {
	var out []string
	seen := map[string]int{}
	open := ""
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		if m := marks(l); m != "" {
			if open == "" {
				open = m
			} else if m[0] == open[0] && len(m) >= len(open) {
				open = ""
			}
			continue
		}
		f := heading.FindStringSubmatch(l)
		if open != "" || f == nil {
			continue
		}
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, f[1])
		if n := seen[slug]; n > 0 {
			out = append(out, fmt.Sprintf("%s-%d", slug, n))
		} else {
			out = append(out, slug)
		}
		seen[slug]++
	}
	return out
}
